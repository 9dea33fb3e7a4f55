"""Computes the sums again, and lets a gradient through where one is exactly 0.

expects: the slope there is 0
points: 9.5
"""


# %% backward
def backward(out, stack, weights):
    g, gradients = out, []
    for w in reversed(weights):
        h = stack.pop()
        gradients.append(h.T @ g)
        g = g @ w.T
        if stack:  # else h is x, and there is no ReLU in front of it
            g = g * (stack[-1] @ weights[len(stack) - 1] >= 0)
    return gradients[::-1], g
