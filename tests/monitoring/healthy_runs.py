"""Training runs in which nothing is wrong, though some look odd; each returns the monitor that watched it."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss

from course_lib.monitoring import GradientMonitor
from tests.monitoring.zoo import (
    CLASSES,
    WIDTH,
    Recurrent,
    Residual,
    Words,
    convolutions,
    fit,
    images,
    mlp,
    sequences,
    tokens,
    vectors,
    wide,
)

__all__ = ["HEALTHY"]


def frozen():
    model = mlp(4)
    for p in model[:4].parameters():
        p.requires_grad_(False)
    return fit(model)


def warm_up():
    def ramp(step, model, optimizer):
        optimizer.param_groups[0]["lr"] = 1e-2 * step / 30

    return fit(mlp(), before=ramp)


def converged():
    torch.manual_seed(1)
    x = torch.randn(64, 8)
    y = x @ torch.randn(8, 1)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    return fit(model, optimizer=optimizer, loss=mse_loss, data=lambda step: (x, y), steps=200)


def with_momentum():
    model = mlp(10, nn.Tanh, gain=1.0)
    return fit(model, optimizer=torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9))


def adapters():
    """The second factor begins at 0, so the first has no gradient at the first step."""
    model = nn.Sequential(nn.Linear(WIDTH, 4, bias=False), nn.Linear(4, CLASSES, bias=False))
    nn.init.zeros_(model[1].weight)
    return fit(model, lr=1e-2)


def accumulated():
    """Four backward passes a step, the monitor once a step."""
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters())
    with GradientMonitor(model) as monitor:
        for step in range(20):
            optimizer.zero_grad()
            for _ in range(4):
                (cross_entropy(model(vectors(step)[0]), vectors(step)[1]) / 4).backward()
            monitor.step()
            optimizer.step()
    return monitor


def bfloat16():
    model = mlp().to(torch.bfloat16)
    return fit(model, data=lambda step: (vectors(step)[0].to(torch.bfloat16), vectors(step)[1]))


def sparse():
    model = nn.Sequential(nn.EmbeddingBag(500, WIDTH, sparse=True), nn.ReLU(), nn.Linear(WIDTH, CLASSES))
    return fit(model, optimizer=torch.optim.SGD(model.parameters(), lr=0.05), data=tokens)


class Pairs(nn.Module):
    """Scores of pairs from two tables of vectors, and a number for each row of them."""

    def __init__(self, rows=400):
        super().__init__()
        self.u, self.v = (nn.Parameter(0.1 * torch.randn(rows, 8)) for _ in "uv")
        self.bu, self.bv = (nn.Parameter(torch.zeros(rows)) for _ in "uv")

    def forward(self, pairs):
        """Return a score for each pair."""
        i, j = pairs.T
        return (self.u[i] * self.v[j]).sum(1) + self.bu[i] + self.bv[j]


class Decay(nn.Module):
    """A curve with three parameters, each a number."""

    def __init__(self, rate):
        super().__init__()
        self.a, self.k, self.c, self.rate = *(nn.Parameter(torch.tensor(v)) for v in (1.0, 0.05, 0.0)), rate

    def forward(self, t):
        """Return its height."""
        return self.a * torch.exp(-self.k * self.rate * t) + self.c * 100


def many_words():
    """Few rows of a long table have a gradient, and the mean over all is next to nothing."""
    model = nn.Sequential(nn.EmbeddingBag(100_000, 8), nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, CLASSES))
    words = torch.randint(0, 100_000, (16, 64))
    return fit(model, data=lambda step: (words, words[:, 0] % CLASSES), steps=12)


def pairs(step):
    return torch.randint(0, 400, (8, 2)), torch.randn(8)


def curve(step):
    t = torch.linspace(0, 1, 50)
    return t, 2 * torch.exp(-3 * t)


def numbers():
    model = Decay(1e-4)
    return fit(model, optimizer=torch.optim.SGD(model.parameters(), lr=1e-6), loss=mse_loss, data=curve)


HEALTHY = {
    "perceptron, AdamW": lambda: fit(mlp()),
    "one layer": lambda: fit(nn.Linear(WIDTH, CLASSES)),
    "twenty tanh layers, Xavier": lambda: fit(mlp(20, nn.Tanh, gain=1.0)),
    "twenty ReLU layers, He": lambda: fit(mlp(20, nn.ReLU, gain=2**0.5, width=64), data=wide),
    "tanh, momentum": with_momentum,
    "LayerNorm": lambda: fit(mlp(8, nn.GELU, norm=True)),
    "dropout": lambda: fit(nn.Sequential(nn.Linear(WIDTH, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, CLASSES))),
    "convolutions, BatchNorm": lambda: fit(convolutions(), data=images),
    "convolutions, plain": lambda: fit(convolutions(norm=False), data=images),
    "residual, LayerNorm": lambda: fit(Residual(), lr=3e-3),
    "RNN": lambda: fit(Recurrent(), data=sequences),
    "LSTM": lambda: fit(Recurrent(nn.LSTM), data=sequences),
    "Transformer, embedding": lambda: fit(Words(), data=tokens),
    "sparse embedding": sparse,
    "frozen layers": frozen,
    "warm-up from 0": warm_up,
    "small learning rate": lambda: fit(mlp(), lr=1e-6),
    "converged": converged,
    "adapters": adapters,
    "accumulated": accumulated,
    "bfloat16": bfloat16,
    "batches of one": lambda: fit(mlp(), data=lambda step: vectors(step, 1)),
    "every third step": lambda: fit(mlp(), every=3, steps=60),
    "two steps": lambda: fit(mlp(), steps=2),
    "a large vocabulary": many_words,
    "numbers for each row of a table": lambda: fit(Pairs(), loss=mse_loss, data=pairs, lr=1e-2, steps=40),
    "parameters that are numbers": numbers,
}
