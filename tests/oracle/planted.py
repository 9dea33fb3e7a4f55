"""How mistakes are planted: in torch, which differentiates the wrong loss, for the oracle to find."""

import numpy as np
import torch

from course_lib.oracle import compare

__all__ = ["FAST", "arrays", "first", "grads", "instead"]

FAST = ["autograd", "differences"]


def arrays(seed=0, **shapes):
    """Draw arrays of normal numbers."""
    random = np.random.default_rng(seed)
    return {name: random.normal(size=shape) for name, shape in shapes.items()}


def instead(y, fake):
    """Keep the value of one tensor, with the gradient of another: how a wrong rule is planted in torch."""
    return y.detach() + fake - fake.detach()


def grads(wrong, given):
    """Differentiate a loss by torch, which has the mistake in it."""
    leaves = {name: torch.tensor(a, requires_grad=a.dtype.kind == "f") for name, a in given.items()}
    wrong(**leaves).backward()
    return {n: None if t.grad is None else t.grad.numpy() for n, t in leaves.items() if t.is_floating_point()}


def first(loss, given, wrong, **options):
    """Compare; the engine itself must be right."""
    manual = wrong if isinstance(wrong, dict) else grads(wrong, given)
    report = compare(loss, given, manual, engines=FAST, **options)
    assert "differences" not in report.wrong
    return report.first
