"""Every operation against torch in float64: values, first and second gradients."""

from typing import Any

import numpy as np
import pytest
import torch

import course_lib.autograd as ours
from tests.autograd.oracle_cases import CASES


def both(f: Any, arrays: list[Any], cotangent: Any) -> list[list[Any]]:
    """Run one case in both libraries: value, gradients, and gradients of the squared gradients."""
    answers = []
    for lib in (ours, torch):
        xs = [lib.tensor(x, requires_grad=True) for x in arrays]
        y = f(lib, *xs)
        g = lib.tensor(cotangent(tuple(y.shape)), requires_grad=True)
        grad = ours.grad if lib is ours else torch.autograd.grad
        first = grad(y, xs, g, create_graph=True)
        s = sum(((d * d).sum() for d in first), start=(g * g).sum())
        second = grad(s, [*xs, g], allow_unused=True)
        answers.append([y, *first, *second])
    return answers


def array(x: Any) -> Any:
    """Take the array out of a tensor of either library."""
    return x.numpy(force=True) if isinstance(x, torch.Tensor) else x.detach().numpy()


def assert_same(a: Any, b: Any, what: str) -> None:
    """Compare one of our tensors with one of torch's; no gradient and a gradient of zeros count as equal."""
    if a is None or b is None:
        assert not np.any([] if a is b else array(a if b is None else b)), what
        return
    assert tuple(a.shape) == tuple(b.shape), what
    assert str(a.dtype) == str(b.dtype).removeprefix("torch."), what
    np.testing.assert_allclose(array(a), array(b), rtol=1e-9, atol=1e-12, err_msg=what)


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_torch(name: str) -> None:
    """What an operation returns, its gradients, and the gradients of those are torch's to the last digits."""
    f, shapes, (low, high) = CASES[name]
    rng = np.random.default_rng(len(name))
    for shape in shapes:
        arrays = [np.asarray(rng.uniform(low, high, s)) for s in shape]
        mine, theirs = both(f, arrays, lambda s: np.asarray(np.random.default_rng(1).standard_normal(s)))
        for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            assert_same(a, b, f"{name} {shape} answer {i}")


CONSTANTS = ("cross_entropy", "nll_loss", "binary_cross_entropy", "batch_norm")  # of the cases, in double precision


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith(CONSTANTS)])
def test_single_precision_stays_single(name: str) -> None:
    """The value, its gradients and theirs have the dtype of the inputs, as in torch."""
    f, shapes, (low, high) = CASES[name]
    rng = np.random.default_rng(3)
    arrays = [np.asarray(rng.uniform(low, high, s), np.float32) for s in shapes[0]]
    for answers in both(f, arrays, lambda s: np.ones(s, np.float32)):
        assert {str(a.dtype).removeprefix("torch.") for a in answers if a is not None} == {"float32"}
