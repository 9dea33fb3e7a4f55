"""Clears the gradients between the backward pass and the optimizer's step.

expects: leaves the parameters where they were
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
        loss.backward()
    optimizer.zero_grad()
    with record_function("optimizer"):
        optimizer.step()
    return loss.detach()
