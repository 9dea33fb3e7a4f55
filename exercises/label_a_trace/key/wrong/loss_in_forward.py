"""Computes the loss under the label of the forward pass.

expects: the label `forward` holds the loss, too
points: 9.5
"""

from torch import nn
from torch.profiler import record_function


# %% step
def step(model, optimizer, x, y):
    optimizer.zero_grad()
    with record_function("forward"):
        loss = nn.functional.mse_loss(model(x), y)
    with record_function("loss"):
        pass
    with record_function("backward"):
        loss.backward()
    with record_function("optimizer"):
        optimizer.step()
    return loss.detach()
