"""A slow training step, a step with known operator counts, and a trace of the operators that a step calls.

The step stands here, and not on the page, so that its profile is the way to its faults.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

__all__ = ["network", "practice", "problem", "slow_step", "soft_labels", "traced"]

Step = Callable[[list[Tensor], Tensor, Tensor, float], Any]


def soft_labels(k: int) -> Tensor:
    """Return the targets of k classes, ``(k, k)`` in float32: 0.9 for the own, 0.1 shared by the others.

    Examples
    --------
    >>> soft_labels(3)[0]
    tensor([0.9000, 0.0500, 0.0500])
    """
    return torch.full((k, k), 0.1 / (k - 1)).fill_diagonal_(0.9)


def network(params: list[Tensor], x: Tensor) -> Tensor:
    """Return the logits, ``(b, k)``, of samples ``(b, d)`` in float32.

    Examples
    --------
    >>> params, x, _, _ = problem(4)
    >>> network(params, x.float()).shape
    torch.Size([4, 3])
    """
    w1, b1, w2, b2 = params
    hidden = torch.relu(x @ w1.t().contiguous() + b1)
    return hidden @ w2.t().contiguous() + b2


def slow_step(params: list[Tensor], x: Tensor, y: Tensor, rate: float) -> tuple[float, float]:
    """Take one step of gradient descent, slowly, and return the loss and the accuracy before it.

    Examples
    --------
    >>> loss, accuracy = slow_step(*problem(4))
    """
    x = torch.stack([row.to(torch.float32) for row in x])
    logits = network(params, x)
    total, logged = torch.zeros(()), 0.0
    for i in range(len(y)):
        target = soft_labels(logits.shape[1])[y[i : i + 1]]
        loss = -(target * torch.log_softmax(logits[i : i + 1], dim=1)).sum() / len(y)
        total = total + loss
        logged += loss.item()
    correct = 0
    for hit in network(params, x).argmax(dim=1) == y:
        if hit:
            correct += 1
    total.backward()
    with torch.no_grad():
        for p in params:
            assert p.grad is not None
            p -= rate * p.grad
            p.grad = None
    return logged, correct / len(y)


def problem(b: int, d: int = 7, m: int = 5, k: int = 3) -> tuple[list[Tensor], Tensor, Tensor, float]:
    """Draw the four arguments of a step for b samples of d numbers, m hidden units and k classes."""
    draw = torch.Generator().manual_seed(b)
    params = [torch.randn(*shape, generator=draw) for shape in [(m, d), (m,), (k, m), (k,)]]
    x = torch.randn(b, d, generator=draw, dtype=torch.float64)
    return [p.requires_grad_() for p in params], x, torch.randint(k, (b,), generator=draw), 0.1


def practice(
    calls: Callable[[Callable[[], None]], Any], narrow: int, wide: int, exponentials: int, backward: bool, first: int
) -> dict[str, Any]:
    """Return what ``calls`` says of a step whose counts are known, and how often the step was run.

    The step has ``narrow`` products of 2 x 3 by 3 x 3 and ``wide`` of 4 x 3 by 3 x 3, exponentials, a backward pass
    perhaps, and sines in its first run alone.

    Examples
    --------
    >>> practice(lambda step: step(), 1, 1, 1, False, 1)
    {'counts': None, 'runs': 1}
    """
    w, runs = torch.ones(3, 3, requires_grad=backward), 0

    def step() -> None:
        nonlocal runs
        runs += 1
        for _ in range(first if runs == 1 else 0):
            torch.sin(w)
        sums = [(torch.ones(rows, 3) @ w).sum() for rows in [2] * narrow + [4] * wide]
        for _ in range(exponentials):
            torch.exp(torch.ones(5))
        if backward:
            torch.stack(sums).sum().backward()

    counts = calls(step)
    return {"counts": counts, "runs": runs}


class _Watch(TorchDispatchMode):
    """Notes for each operator its name, the pass it runs in, and the shapes of its tensors."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # PyTorch has no types for it
        self.rows: Counter[tuple[str, str, tuple[tuple[int, ...], ...]]] = Counter()

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = operator.name().split(".")[0]
        within = "forward" if torch._C._current_autograd_node() is None else "backward"
        tensors = [leaf for leaf in tree_leaves((args, kwargs or {})) if isinstance(leaf, Tensor)]
        self.rows[name, within, tuple(tuple(t.shape) for t in tensors)] += 1
        return operator(*args, **(kwargs or {}))


def traced(step: Step, params: Sequence[Any], x: Any, y: Any, rate: float) -> dict[str, Any]:
    """Run two steps, watch the second, and return what each returned, where it led, and the rows of the trace.

    A dispatch mode watches, which lies below the profiler: it is told of each operator just before its kernel runs. It
    sees the names of a profile, without the rows that only call others (``aten::item``, ``aten::linear``).

    Parameters
    ----------
    step : callable
        As ``slow_step``.
    params : list of four arrays, float32
    x : array (b, d), float64
    y : array (b,), int64
    rate : float

    Returns
    -------
    dict
        Results by ``first`` and ``second``, parameters by ``led`` and ``params``, and ``rows``: name of the operator,
        the pass, the shapes it was given, and the number of calls.

    Examples
    --------
    >>> params, x, y, rate = problem(4)
    >>> rows = traced(slow_step, [p.detach().numpy() for p in params], x.numpy(), y.numpy(), rate)["rows"]
    >>> sum(calls for name, *_, calls in rows if name == "aten::mm")
    7
    """
    watch = _Watch()
    params, x, y = [torch.tensor(p, requires_grad=True) for p in params], torch.tensor(x), torch.tensor(y)
    first = step(list(params), x, y, rate)
    led = [p.detach().clone() for p in params]
    with watch:
        second = step(list(params), x, y, rate)
    rows = [[name, within, shapes, count] for (name, within, shapes), count in watch.rows.items()]
    return {"first": first, "led": led, "second": second, "params": params, "rows": rows}
