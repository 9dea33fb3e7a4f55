"""Lets torch go back, under autocast.

expects: `half_gradients` uses `torch.autocast`
points: 7
"""


# %% half_gradients
def half_gradients(params, x, y, scale):
    import torch

    w, b = (torch.tensor(params[name], requires_grad=True) for name in "wb")
    with torch.autocast("cpu", dtype=torch.float16):
        out = torch.tensor(x) @ w + b
    loss = (out.float() - torch.tensor(y)).square().mean()
    (loss * scale).backward()
    return loss.item(), {"w": w.grad.half().numpy(), "b": b.grad.half().numpy()}
