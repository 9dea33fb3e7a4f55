"""Closes the label of the backward pass before the backward pass.

expects: the label `backward` does not hold
points: 9.5
"""

from torch import nn
from torch.profiler import record_function


# %% step
def step(model, optimizer, x, y):
    optimizer.zero_grad()
    with record_function("forward"):
        out = model(x)
    with record_function("loss"):
        loss = nn.functional.mse_loss(out, y)
    with record_function("backward"):
        pass
    loss.backward()
    with record_function("optimizer"):
        optimizer.step()
    return loss.detach()
