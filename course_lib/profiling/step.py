"""Split a training step into forward, backward and optimizer, and the first two by module."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from time import perf_counter
from typing import Any

from course_lib.extras import load
from course_lib.profiling.checks import check_alone, check_budget, check_count
from course_lib.profiling.collection import no_collection
from course_lib.profiling.keep import kept
from course_lib.profiling.modules import ModuleTime
from course_lib.profiling.one_step import Step, check_model, check_optimizer
from course_lib.profiling.text import columns, seconds_text

__all__ = ["StepProfile", "profile_step"]

AGREEMENT = 0.05
FEWEST, ROUNDS = 6, 5


@dataclass(frozen=True, repr=False)
class StepProfile:
    """Where the time of one training step goes, in seconds.

    Attributes
    ----------
    forward_seconds, backward_seconds, optimizer_seconds : float
        The model and the loss; ``loss.backward()``; ``optimizer.step()`` with ``optimizer.zero_grad()``.
    total_seconds : float
        The same step measured whole, with no clock read in between.
    modules : dict of str to ModuleTime
        By name, in the order of the first call. These include reading a clock twice for each call and node.
    steps : int
        How many steps were measured whole, and as many split.
    device : str
    """

    forward_seconds: float
    backward_seconds: float
    optimizer_seconds: float
    total_seconds: float
    modules: dict[str, ModuleTime]
    steps: int
    device: str

    @property
    def parts_seconds(self) -> float:
        """The three parts added up."""
        return self.forward_seconds + self.backward_seconds + self.optimizer_seconds

    @property
    def noisy(self) -> bool:
        """Whether the parts miss the whole by more than 5%, so that the machine was too busy to say."""
        return abs(self.parts_seconds - self.total_seconds) > AGREEMENT * self.total_seconds

    def __repr__(self) -> str:
        parts = {
            "forward": self.forward_seconds,
            "backward": self.backward_seconds,
            "optimizer": self.optimizer_seconds,
        }
        rows = [("part", "time", "share")]
        rows += [(name, seconds_text(t), f"{t / self.parts_seconds:.0%}") for name, t in parts.items()]
        rows += [("whole step", seconds_text(self.total_seconds), "")]
        table = [("module", "calls", "forward", "backward")]
        for m in self.modules.values():
            times = seconds_text(m.forward_seconds), seconds_text(m.backward_seconds)
            name = m.name if m.kind in ("", m.name) else f"{m.name} {m.kind}"
            table.append((name, str(m.calls), *times))
        noise = "\nnoisy: parts and whole differ by over 5%" if self.noisy else ""
        return f"{columns(rows)}\n\n{columns(table)}\n({self.steps} steps each way, on {self.device}){noise}"


def profile_step(
    model: Any,
    loss_fn: Callable[..., Any],
    optimizer: Any,
    batch: Any,
    *,
    warmup: int = 3,
    budget_seconds: float = 1.0,
) -> StepProfile:
    """Time the parts of a training step, and each module's share, without training.

    Steps are measured in three ways: whole and split at two points, in turn, and then by module. Each figure is the
    mean over the fastest quarter of its steps, since other work on the machine only adds time. Measuring goes on, up to
    five rounds, until the parts add up to the whole within 5%; if they never do, the result is ``noisy``.

    Parameters
    ----------
    model : torch.nn.Module
        In the mode, on the device and with the dtype in which it is to be measured.
    loss_fn : callable
        ``loss_fn(output, target)``, or ``loss_fn(output)`` if the batch is one tensor or a dict; returns one number.
    optimizer : torch.optim.Optimizer
        Of the model's parameters.
    batch : tensor, sequence or dict
        ``(x, target)``, ``(x1, x2, ..., target)``, or one tensor, on the model's device. As in
        :func:`course_lib.training.train_epoch`, a dict's entries are arguments by name: ``model(**batch)`` if it is the
        whole batch, with the target in it, and ``model(**x)`` if it is all of the input.
    warmup : int
        Whole steps before the clock starts, at least 1.
    budget_seconds : float
        How long one round of measuring may take; at least 6 steps are measured each way.

    Returns
    -------
    StepProfile

    Raises
    ------
    InputError
        If the loss is not one real number, no gradient gets to a parameter of the optimizer, the model is lazy, or
        several processes train together; what the step itself raises is passed on.

    Notes
    -----
    Weights, buffers, gradients, optimizer, modes and random numbers are afterwards what they were, whatever happens.
    For modules that are called but belong neither to ``model`` nor to ``loss_fn``, that holds only for the optimizer's
    weights, the gradients and the buffers changed in place; they must be called in the first step.

    Hooks on the optimizer's step and on complete gradients are not run, since what they change cannot be put back, as
    an average of the weights. So an optimizer that works inside the backward pass does no work here, and is not timed:
    time its loop with ``time_call``, which trains, or record it with ``trace``.

    Each step draws the same random numbers, so that all drop and route alike. A module that a step does not call counts
    0 there; where calls depend on something else, the fastest quarter is of the steps that called least.

    On CUDA the parts are separated by events, which make the host wait for nothing. What checkpointing recomputes is
    backward time; with ``use_reentrant=True`` it is that of the modules around the region, and those inside show 0. A
    module compiled as a whole cannot be looked into.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    >>> optimizer = torch.optim.AdamW(model.parameters())
    >>> batch = torch.randn(32, 64), torch.randint(10, (32,))
    >>> profile = profile_step(model, torch.nn.CrossEntropyLoss(), optimizer, batch, budget_seconds=0.05)
    >>> list(profile.modules)
    ['Sequential', '0', '1', '2', 'CrossEntropyLoss']
    """
    torch = load("torch", extra="torch")
    check_count("warmup", warmup, least=1, because="an optimizer makes its state in a first step")
    check_budget(budget_seconds)
    check_model(model, loss_fn)
    check_optimizer(optimizer)
    check_alone(torch.distributed)
    step = Step(model, loss_fn, optimizer, batch)
    modules = [part for part in (model, loss_fn) if isinstance(part, torch.nn.Module)]
    with kept(modules, optimizer) as stack, no_collection():
        step.check(stack)
        for _ in range(warmup):
            step.parts(split=True)
        runs = Runs(step)
        for _ in range(ROUNDS):
            runs.measure(budget_seconds)
            if not (result := runs.result()).noisy:
                break
    return result


class Runs:
    """Steps measured so far."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.whole: list[float] = []
        self.split: list[list[float]] = []
        self.watched: list[dict[str, list[float]]] = []
        self.kinds: dict[str, str] = {}

    def measure(self, budget_seconds: float) -> None:
        """Measure whole and split steps in turn, in either order, so that a busy spell hits both alike; then watch."""
        middle, before = perf_counter() + budget_seconds * 2 / 3, len(self.whole)
        while len(self.whole) < before + FEWEST or perf_counter() < middle:
            self.whole += self.step.parts(split=False)
            self.split += [self.step.parts(split=True), self.step.parts(split=True)]
            self.whole += self.step.parts(split=False)
        end, before = perf_counter() + budget_seconds / 3, len(self.watched)
        while len(self.watched) < before + FEWEST or perf_counter() < end:
            kinds, seconds = self.step.modules()
            self.kinds |= kinds
            self.watched.append(seconds)

    def result(self) -> StepProfile:
        """Average the fastest of each."""
        total = fmean(fastest(self.whole, key=lambda seconds: seconds))
        parts = fastest(self.split, key=sum)
        forward, backward, optimizer = (fmean(column) for column in zip(*parts, strict=True))
        modules, clock = self.modules(), self.step.clock
        return StepProfile(forward, backward, optimizer, total, modules, len(self.whole), clock.device)

    def modules(self) -> dict[str, ModuleTime]:
        """Average each module over the fastest of the steps that were watched."""
        runs = fastest(self.watched, key=lambda found: sum(row[3] + row[4] for row in found.values()))
        times, absent = {}, [0.0] * 5
        for name in dict.fromkeys(name for run in self.watched for name in run):
            count, *seconds = (fmean(column) for column in zip(*(run.get(name, absent) for run in runs), strict=True))
            times[name] = ModuleTime(name, self.kinds.get(name, ""), round(count), *seconds)
        return times


def fastest(runs: list[Any], *, key: Callable[[Any], float]) -> list[Any]:
    """Return the fastest quarter of the runs, at least three."""
    return sorted(runs, key=key)[: max(3, len(runs) // 4)]
