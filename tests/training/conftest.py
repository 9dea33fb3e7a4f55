"""Small problems whose answers are known another way."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@pytest.fixture
def problem():
    """Return a function that makes the same classifier and data each time."""

    def make(n=10, batch_size=4, *, dtype=torch.float64, layers=()):
        torch.manual_seed(0)
        x, y = torch.randn(n, 3, dtype=dtype), torch.randint(0, 4, (n,))
        model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), *layers, nn.Linear(5, 4)).to(dtype)
        return model, DataLoader(TensorDataset(x, y), batch_size=batch_size), x, y

    return make
