"""Small networks of many architectures, data for them, and a training loop that is watched."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy, relu

from course_lib.monitoring import GradientMonitor

__all__ = [
    "CLASSES",
    "WIDTH",
    "Recurrent",
    "Residual",
    "Words",
    "backward",
    "convolutions",
    "fit",
    "images",
    "mlp",
    "sequences",
    "tokens",
    "vectors",
    "wide",
]

BATCH, WIDTH, CLASSES = 32, 24, 4


def fit(model, *, optimizer=None, steps=30, lr=1e-3, loss=None, data=None, zero=True, before=None, **options):
    """Train on one random batch a step, or on what ``data(step)`` gives, and watch."""
    optimizer = optimizer or torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr)
    loss, data = loss or cross_entropy, data or vectors
    with GradientMonitor(model, **options) as monitor:
        for step in range(steps):
            if before:
                before(step, model, optimizer)
            x, y = data(step)
            if zero:
                optimizer.zero_grad()
            loss(model(x), y).backward()
            monitor.step()
            optimizer.step()
    return monitor


def vectors(step, batch=BATCH):
    x = torch.randn(batch, WIDTH)
    return x, (x[:, :CLASSES] + 0.5 * x[:, CLASSES : 2 * CLASSES]).argmax(1)


def wide(step):
    x = torch.randn(BATCH, 64)
    return x, x[:, :CLASSES].argmax(1)


def images(step):
    x = torch.randn(8, 1, 8, 8)
    return x, (x[:, 0, :2, :2].reshape(8, 4)).argmax(1)


def sequences(step, length=12):
    x = torch.randn(8, length, WIDTH)
    return x, x[:, :, :CLASSES].sum(1).argmax(1)


def tokens(step):
    x = torch.randint(0, 20, (8, 10))
    return x, x[:, 0] % CLASSES


def mlp(depth=3, act=nn.ReLU, *, gain=None, width=WIDTH, norm=False):
    """Return a perceptron; with a gain, weights have the standard deviation gain / sqrt(width)."""
    layers = []
    for _ in range(depth):
        layers += [nn.Linear(width, width), *([nn.LayerNorm(width)] if norm else []), act()]
    model = nn.Sequential(*layers, nn.Linear(width, CLASSES))
    for layer in model:
        if isinstance(layer, nn.Linear) and gain is not None:
            nn.init.normal_(layer.weight, std=gain / width**0.5)
            nn.init.zeros_(layer.bias)
    return model


class Residual(nn.Module):
    """Blocks of LayerNorm, Linear, ReLU, Linear around a straight path."""

    def __init__(self, depth=6, act=relu):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(depth))
        self.ups = nn.ModuleList(nn.Linear(WIDTH, 2 * WIDTH) for _ in range(depth))
        self.downs = nn.ModuleList(nn.Linear(2 * WIDTH, WIDTH) for _ in range(depth))
        self.head, self.act = nn.Linear(WIDTH, CLASSES), act

    def forward(self, x):
        """Return a score for each class."""
        for norm, up, down in zip(self.norms, self.ups, self.downs, strict=True):
            x = x + down(self.act(up(norm(x))))
        return self.head(x)


class Recurrent(nn.Module):
    """A recurrent layer, and a head on its last value."""

    def __init__(self, kind=nn.RNN, **options):
        super().__init__()
        self.cell, self.head = kind(WIDTH, WIDTH, batch_first=True, **options), nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        """Return a score for each class."""
        return self.head(self.cell(x)[0][:, -1])


class Words(nn.Module):
    """An embedding of a thousand words, of which few come, a Transformer, and a head."""

    def __init__(self, layers=2, **options):
        super().__init__()
        self.embed = nn.Embedding(1000, WIDTH, **options)
        block = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.1, batch_first=True)
        self.body = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        """Return a score for each class."""
        return self.head(self.body(self.embed(x)).mean(1))


def convolutions(depth=3, act=nn.ReLU, *, norm=True, gain=None):
    layers, width = [], 1
    for _ in range(depth):
        layers += [nn.Conv2d(width, 8, 3, padding=1), *([nn.BatchNorm2d(8)] if norm else []), act()]
        width = 8
    for layer in layers:
        if isinstance(layer, nn.Conv2d) and gain is not None:
            fan_in = layer.weight[0].numel()
            nn.init.normal_(layer.weight, std=gain / fan_in**0.5)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, CLASSES))


def backward(model, scale=1.0):
    """Give a perceptron fresh gradients."""
    model.zero_grad()
    (model(torch.randn(8, model[0].in_features)).square().mean() * scale).backward()
