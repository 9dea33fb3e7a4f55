"""Clears the gradients within the label of the backward pass.

expects: holds the clearing of the gradients, too
points: 9.5
"""

from torch import nn
from torch.profiler import record_function


# %% step
def step(model, optimizer, x, y):
    with record_function("forward"):
        out = model(x)
    with record_function("loss"):
        loss = nn.functional.mse_loss(out, y)
    with record_function("backward"):
        optimizer.zero_grad()
        loss.backward()
    with record_function("optimizer"):
        optimizer.step()
    return loss.detach()
