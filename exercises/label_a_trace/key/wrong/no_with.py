"""Makes labels without entering them.

expects: write `with` before it
points: 8.5
"""

from torch import nn
from torch.profiler import record_function


# %% step
def step(model, optimizer, x, y):
    optimizer.zero_grad()
    record_function("forward")
    out = model(x)
    record_function("loss")
    loss = nn.functional.mse_loss(out, y)
    record_function("backward")
    loss.backward()
    record_function("optimizer")
    optimizer.step()
    return loss.detach()
