"""Lets torch go back.

expects: uses `loss.backward`: that differentiates for you
points: 4
"""


# %% backward
def backward(cache):
    import torch

    p = {name: torch.tensor(array, requires_grad=True) for name, array in cache["params"].items()}
    h = torch.relu(torch.tensor(cache["x"]) @ p["w1"] + p["b1"])
    h = torch.relu(h @ p["w2"] + p["b2"])
    loss = torch.nn.functional.cross_entropy(h @ p["w3"] + p["b3"], torch.tensor(cache["y"]))
    loss.backward()
    return {name: tensor.grad.numpy() for name, tensor in p.items()}
