"""Lets torch go back.

expects: uses `loss.backward`: that differentiates for you
points: 3.5
"""


# %% backward
def backward(out, stack, weights):
    import torch

    x, *ws = [torch.tensor(array, requires_grad=True) for array in [stack[0], *weights]]
    stack.clear()
    h = x
    for w in ws[:-1]:
        h = torch.relu(h @ w)
    loss = 0.5 * ((h @ ws[-1]) ** 2).sum()
    loss.backward()
    return [w.grad.numpy() for w in ws], x.grad.numpy()
