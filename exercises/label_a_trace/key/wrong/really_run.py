"""Builds the network, runs it and counts.

expects: that counts: here a formula predicts it
points: 8
"""

import torch
from torch import nn


# %% predict
def predict(b, layers, input_grad=False):
    from torch.utils.flop_counter import FlopCounterMode

    linears = [nn.Linear(inputs, outputs, device="meta").requires_grad_(trained) for inputs, outputs, trained in layers]
    model = nn.Sequential(*[part for layer in linears for part in (layer, nn.ReLU())][:-1])
    x = torch.ones(b, layers[0][0], device="meta", requires_grad=input_grad)
    with FlopCounterMode(display=False) as forward:
        out = model(x).sum()
    with FlopCounterMode(display=False) as backward:
        if out.requires_grad:
            out.backward()
    return forward.get_total_flops(), backward.get_total_flops()
