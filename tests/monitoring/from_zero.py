"""Models of which a part begins at 0, as is usual in residual and pretrained networks: nothing in them is wrong."""

import torch
from torch import nn
from torch.nn.functional import relu

from tests.monitoring.zoo import CLASSES, WIDTH, Residual, fit, images, vectors

__all__ = ["FROM_ZERO"]


class Branch(nn.Module):
    """Two convolutions beside a straight path; the last scale is 0 (Goyal et al., 2017)."""

    def __init__(self, width=8):
        super().__init__()
        self.first, self.last = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in "ab")
        self.norm, self.scale = nn.BatchNorm2d(width), nn.BatchNorm2d(width)
        nn.init.zeros_(self.scale.weight)

    def forward(self, x):
        """Add the branch."""
        return x + self.scale(self.last(relu(self.norm(self.first(x)))))


class Adapted(nn.Module):
    """A frozen layer, and beside it a product of two thin matrices, of which the second is 0 (Hu et al., 2021)."""

    def __init__(self):
        super().__init__()
        self.base = nn.Linear(WIDTH, WIDTH).requires_grad_(False)
        self.down, self.up = nn.Parameter(torch.randn(4, WIDTH) / WIDTH**0.5), nn.Parameter(torch.zeros(WIDTH, 4))

    def forward(self, x):
        """Add the product."""
        return self.base(x) + x @ self.down.T @ self.up.T


def branches(steps):
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), Branch(), Branch(), Branch(), nn.Flatten(), nn.Linear(512, CLASSES)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    return fit(model, optimizer=optimizer, data=images, steps=steps)


def adapters(steps):
    layers = [layer for _ in range(4) for layer in (Adapted(), nn.GELU())]
    return fit(nn.Sequential(*layers, nn.Linear(WIDTH, CLASSES)), lr=1e-4, steps=steps)


def head(steps):
    model = Residual()
    nn.init.zeros_(model.head.weight)
    return fit(model, lr=1e-4, steps=steps)


def softmax(steps):
    model = nn.Linear(WIDTH, CLASSES)
    nn.init.zeros_(model.weight)
    return fit(model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), data=vectors, steps=steps)


FROM_ZERO = {"branches": branches, "adapters": adapters, "head": head, "softmax": softmax}
