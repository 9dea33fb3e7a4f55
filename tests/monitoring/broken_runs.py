"""Training runs with one thing wrong, made on purpose; each returns the monitor that watched it."""

import torch
from torch import nn

from tests.monitoring.zoo import (
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
)

__all__ = ["BROKEN"]


def poisoned(model, data=vectors, *, at=12, value=float("nan")):
    """Put one value that is not finite into one batch."""

    def spoiled(step):
        x, y = data(step)
        if step == at:
            x.view(-1)[0] = value
        return x, y

    return fit(model, data=spoiled, steps=15)


def closed(model, layer, at=-50.0):
    """Put the biases of a layer so low that its ReLU never opens."""
    with torch.no_grad():
        layer.bias.fill_(at)
    return model


def root_of_zero(out, y):
    return (out - out.detach()).square().sum().sqrt()


def diverging():
    model = mlp(2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    return fit(model, optimizer=optimizer, loss=lambda out, y: (out.square().sum(1) * 20).mean(), steps=15)


def scaled_recurrence(scale):
    torch.manual_seed(0)
    model = Recurrent(nonlinearity="relu")
    with torch.no_grad():
        model.cell.weight_hh_l0.copy_(torch.linalg.qr(torch.randn(WIDTH, WIDTH))[0] * scale)
    return model


def small_layer(model, layer):
    with torch.no_grad():
        layer.weight.mul_(1e-5)
    return model


def killed():
    """A step far too long closes every ReLU of the first layer."""

    def jump(step, model, optimizer):
        if step == 3:
            with torch.no_grad():
                model[0].bias -= 100

    return fit(mlp(2), before=jump, steps=30)


def saturated_sigmoid_cnn():
    return fit(convolutions(10, nn.Sigmoid, norm=False), data=images)


def dead_block():
    model = Residual()
    closed(model, model.ups[2])
    return fit(model)


def zeroed(model):
    for p in model.parameters():
        nn.init.zeros_(p)
    return model


def half():
    model = mlp(2).half()
    return fit(model, loss=lambda out, y: (out.float() * 1e6).square().sum(), data=halves, lr=1e-4)


def halves(step):
    x, y = vectors(step)
    return x.half(), y


BROKEN = {
    "vanishing": {
        "deep sigmoid": lambda: fit(mlp(12, nn.Sigmoid, gain=1.0)),
        "deep tanh, small weights": lambda: fit(mlp(12, nn.Tanh, gain=0.3)),
        "deep ReLU, small weights": lambda: fit(mlp(12, nn.ReLU, gain=0.5)),
        "convolutions, sigmoid": saturated_sigmoid_cnn,
        "one small layer": lambda: fit(small_layer(m := mlp(6, nn.Tanh, gain=1.0), m[6]), lr=1e-6),
        "a saturated layer": lambda: fit(closed(m := mlp(6, nn.Tanh, gain=1.0), m[6], at=9.0)),
        "no straight path": lambda: fit(mlp(12, nn.Sigmoid), steps=10),
    },
    "exploding": {
        "deep ReLU, large weights": lambda: fit(mlp(12, nn.ReLU, gain=6.0)),
        "diverging steps": diverging,
        "recurrence": lambda: fit(scaled_recurrence(3.0), data=lambda s: sequences(s, 30)),
        "convolutions, large weights": lambda: fit(convolutions(8, norm=False, gain=8.0), data=images),
        "linear chain": lambda: fit(mlp(10, nn.Identity, gain=5.0)),
    },
    "dead": {
        "a closed layer": lambda: fit(closed(m := mlp(3), m[2])),
        "a long step": killed,
        "convolutions": lambda: fit(closed(m := convolutions(3, norm=False), m[2]), data=images),
        "a block beside a straight path": dead_block,
        "Transformer": lambda: fit(closed(m := Words(2), m.body.layers[0].linear1), data=tokens),
        "zero weights": lambda: fit(zeroed(mlp(3))),
    },
    "non-finite": {
        "NaN in a batch": lambda: poisoned(mlp()),
        "infinity in an image": lambda: poisoned(convolutions(), images, value=float("inf")),
        "NaN in a sequence": lambda: poisoned(Recurrent(), sequences),
        "root of zero": lambda: fit(mlp(1), loss=root_of_zero),
        "half precision": half,
    },
    "not zeroed": {
        "perceptron": lambda: fit(mlp(), zero=False),
        "convolutions": lambda: fit(convolutions(), data=images, zero=False),
        "Transformer": lambda: fit(Words(), data=tokens, zero=False),
        "LSTM": lambda: fit(Recurrent(nn.LSTM), data=sequences, zero=False),
    },
}
