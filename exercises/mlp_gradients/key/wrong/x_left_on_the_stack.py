"""Leaves x on the stack.

expects: leaves 1 of 4 arrays on the stack
points: 9.5
"""


# %% backward
def backward(out, stack, weights):
    g, gradients = out, []
    for w in weights[:0:-1]:
        h = stack.pop()
        gradients.append(h.T @ g)
        g = (g @ w.T) * (h > 0)
    gradients.append(stack[0].T @ g)
    return gradients[::-1], g @ weights[0].T
