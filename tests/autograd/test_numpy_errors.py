"""Overflow, division by zero and invalid values pass without a warning, as in torch, and NumPy's own settings stay."""

import threading
import warnings
from contextvars import ContextVar

import numpy as np
import pytest
import torch

import course_lib.autograd as ag

BIG = np.full((2, 2), 3e38, "f")
PROGRAMS = {
    "add": lambda x: x + x,
    "sub": lambda x: -x - x,
    "mul": lambda x: x * x,
    "div": lambda x: x / (x - x),
    "square": lambda x: x.square(),
    "exp": lambda x: x.exp(),
    "log": lambda x: (-x).log(),
    "matmul": lambda x: x @ x,
    "sum": lambda x: x.sum(),
    "mean": lambda x: (x + x).mean(),
    "var": lambda x: x.var(),
    "prod": lambda x: x.prod(),
    "softmax": lambda x: (x * x).softmax(-1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_overflow_is_silent_as_in_torch(name):
    """Values and gradients are torch's infinities and NaNs, and a warning would be an error here."""
    found = []
    for lib in (ag, torch):
        x = lib.tensor(BIG, requires_grad=True)
        y = PROGRAMS[name](x)
        y.sum().backward()
        found.append((y.detach().numpy(), x.grad.numpy()))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(np.isfinite(ours), np.isfinite(theirs))
        np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))


@pytest.mark.parametrize("loss", ["linear", "mse_loss", "cross_entropy"])
def test_fused_operations_and_steps_are_silent(loss):
    """So are the fused forms, whose forward passes are their own, and the optimizer's step."""
    x, w = ag.tensor(BIG), ag.tensor(BIG, requires_grad=True)
    y = ag.linear(x, w, w[0])
    if loss != "linear":
        y = getattr(ag, loss)(y, ag.tensor([0, 1]) if loss == "cross_entropy" else -x)
    y.sum().backward()
    w.grad = ag.tensor(BIG)
    ag.optim.SGD([w], lr=10.0).step()
    assert np.isinf(w.detach().numpy()).all()


def test_numpy_still_warns():
    """Outside our operations nothing has changed."""
    ag.tensor(BIG) * ag.tensor(BIG)
    with pytest.warns(RuntimeWarning, match="overflow"):
        BIG * BIG


def test_threads_do_not_wait_for_each_other():
    """Operations large enough for NumPy to let other threads run are silent in all of them at once."""
    failed = []

    def work():
        try:
            with warnings.catch_warnings():
                x = ag.tensor(np.full(300_000, 3e38, "f"))
                for _ in range(20):
                    x = x + x
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_a_hook_sees_the_context_of_the_caller():
    """A notebook keeps there to which cell a print belongs; in a context of our own the print would be lost."""
    cell = ContextVar("cell", default="none")
    seen = []
    x = ag.tensor(2.0, requires_grad=True)
    y = x * x
    y.grad_fn.register_prehook(lambda g: seen.append(cell.get()))
    x.register_hook(lambda g: seen.append(cell.get()))
    token = cell.set("this one")
    try:
        y.backward()
    finally:
        cell.reset(token)
    assert seen == ["this one", "this one"]


def test_a_walk_puts_the_settings_back():
    """A walk that a hook begins leaves the outer one silent, and an error on the way leaves NumPy as it was."""
    x = ag.tensor(BIG, requires_grad=True)

    def walks_and_fails(g):
        with ag.enable_grad():
            (x * 2).sum().backward()
        g.numpy() * BIG * BIG  # silent still, after the walk inside
        raise LookupError

    y = x * x
    y.register_hook(walks_and_fails)
    with np.errstate(over="raise"):
        with pytest.raises(LookupError):
            y.sum().backward()
        assert np.geterr()["over"] == "raise"
