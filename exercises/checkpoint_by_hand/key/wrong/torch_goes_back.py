"""Lets torch go back through the whole network.

expects: runs no layer's own `backward`
points: 3.5
"""


# %% backward
def backward(layers, kept, v):
    import torch

    x = h = torch.tensor(kept[0], requires_grad=True)
    weights = [torch.tensor(layer.w, requires_grad=True) for layer in layers]
    for w in weights:
        h = torch.sin(h) @ w
    dx, *grads = torch.autograd.grad(h, [x, *weights], torch.tensor(v))
    return dx, grads
