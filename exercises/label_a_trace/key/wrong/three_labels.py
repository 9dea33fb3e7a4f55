"""Leaves out the label of the loss.

expects: has no label `loss`
points: 8.5
"""

from torch import nn
from torch.profiler import record_function


# %% step
def step(model, optimizer, x, y):
    optimizer.zero_grad()
    with record_function("forward"):
        out = model(x)
    loss = nn.functional.mse_loss(out, y)
    with record_function("backward"):
        loss.backward()
    with record_function("optimizer"):
        optimizer.step()
    return loss.detach()
