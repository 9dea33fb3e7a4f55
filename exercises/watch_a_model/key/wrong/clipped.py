"""Takes the total norm from clip_grad_norm_, which multiplies the gradients.

expects: `record` changes the gradients
points: 9
"""


# %% record
def record(model):
    rows = {name: None if p.grad is None else numbers(p.grad.double()) for name, p in model.named_parameters()}
    return rows, nn.utils.clip_grad_norm_(model.parameters(), float("inf")).item()


def numbers(g):
    std = g.std().item() if g.numel() > 1 else 0.0
    row = {"norm": g.norm().item(), "mean": g.mean().item(), "std": std, "largest": g.abs().max().item()}
    return row | {"nonfinite": int((~g.isfinite()).sum())}
