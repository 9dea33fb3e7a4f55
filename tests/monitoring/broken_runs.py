"""Training runs with one thing wrong, made on purpose; each returns the monitor that watched it."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy, multi_margin_loss

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


def too_fast(steps=6, **options):
    """Each of the first steps changes the weights by more than all of them; what follows differs between processors."""
    model = mlp(4, nn.Tanh, width=64)
    return fit(model, optimizer=torch.optim.SGD(model.parameters(), lr=20.0), data=wide, steps=steps, **options)


def three_long_steps():
    """In the midst of a healthy run."""
    model = mlp(1, width=64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def lengthen(step, model, optimizer):
        optimizer.param_groups[0]["lr"] = 20.0 if step in (20, 21, 22) else 0.05

    return fit(model, optimizer=optimizer, data=wide, before=lengthen, steps=40)


def converged_hinge():
    model, (x, y) = nn.Linear(WIDTH, CLASSES), vectors(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=10.0)
    return fit(model, optimizer=optimizer, loss=multi_margin_loss, data=lambda step: (x, y), steps=150)


def looked_too_late():
    """After the gradients were filled with 0."""
    model = mlp()
    with GradientMonitor(model) as monitor:
        for step in range(12):
            x, y = vectors(step)
            cross_entropy(model(x), y).backward()
            model.zero_grad(set_to_none=False)
            monitor.step()
    return monitor


def two_optimizers():
    """Of which one is zeroed."""
    model = mlp(2)

    def zero(step, model, optimizer):
        model[-1].zero_grad()

    return fit(model, optimizer=torch.optim.SGD(model.parameters(), lr=1e-3), zero=False, before=zero, steps=60)


def heads_in_turn(count):
    """One trunk, and at each step another head."""
    trunk, heads = nn.Linear(WIDTH, WIDTH), nn.ModuleList(nn.Linear(WIDTH, CLASSES) for _ in range(count))
    model = nn.ModuleList([trunk, heads])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with GradientMonitor(model) as monitor:
        for step in range(40):
            x, y = vectors(step)
            cross_entropy(heads[step % count](trunk(x)), y).backward()
            monitor.step()
            optimizer.step()
    return monitor


def frozen_later():
    """The bias that is looked at first, from the sixth step on."""

    def freeze(step, model, optimizer):
        if step == 5:
            model[-1].bias.requires_grad_(False)

    return fit(mlp(), before=freeze, zero=False, steps=40)


def half():
    model = mlp(2).half()
    return fit(model, loss=lambda out, y: (out.float() * 1e6).square().sum(), data=halves, lr=1e-4)


def halves(step):
    x, y = vectors(step)
    return x.half(), y


BROKEN = {
    "barely moves": {
        "a rate that is far too low": lambda: fit(mlp(3, nn.ReLU), lr=1e-9),
        "a rate in the wrong unit": lambda: fit(
            m := convolutions(), optimizer=torch.optim.SGD(m.parameters(), lr=1e-9), data=images
        ),
    },
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
        "too fast": too_fast,
        "three long steps": three_long_steps,
        "linear chain": lambda: fit(mlp(10, nn.Identity, gain=5.0)),
    },
    "dead": {
        "a closed layer": lambda: fit(closed(m := mlp(3), m[2])),
        "a long step": killed,
        "convolutions": lambda: fit(closed(m := convolutions(3, norm=False), m[2]), data=images),
        "a block beside a straight path": dead_block,
        "Transformer": lambda: fit(closed(m := Words(2), m.body.layers[0].linear1), data=tokens),
        "a hinge that is satisfied": converged_hinge,
        "looked too late": looked_too_late,
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
        "two optimizers": two_optimizers,
        "two heads in turn": lambda: heads_in_turn(2),
        "three heads in turn": lambda: heads_in_turn(3),
        "frozen later": frozen_later,
        "convolutions": lambda: fit(convolutions(), data=images, zero=False),
        "Transformer": lambda: fit(Words(), data=tokens, zero=False),
        "LSTM": lambda: fit(Recurrent(nn.LSTM), data=sequences, zero=False),
    },
}
