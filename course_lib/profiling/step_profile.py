"""Profile a training step: the time of forward, backward and optimizer, and of each module."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from course_lib.extras import load
from course_lib.instrument.restore_model import restore_training
from course_lib.profiling.argument_checks import check_budget, check_count, check_single_process
from course_lib.profiling.formatting import format_seconds
from course_lib.profiling.module_times import ModuleTime, module_rows
from course_lib.profiling.timing import no_garbage_collection
from course_lib.profiling.training_step import TrainingStep, check_model, check_optimizer
from course_lib.rendering import ReadableResult, Section
from course_lib.types import Tree

if TYPE_CHECKING:
    import torch

__all__ = ["StepProfile", "StepRuns", "profile_step"]

AGREEMENT = 0.05
LARGE = 0.05  # of the step: a module whose time matters
FEWEST, ROUNDS = 6, 5
NAMED = 4  # noisy modules, in print


@dataclass(frozen=True, repr=False)
class StepProfile(ReadableResult):
    """Time of one training step by part and by module, in seconds.

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
    has_backward : bool
        False for inference: the other two parts are 0.
    """

    forward_seconds: float
    backward_seconds: float
    optimizer_seconds: float
    total_seconds: float
    modules: dict[str, ModuleTime]
    steps: int
    device: str
    has_backward: bool = True

    @property
    def parts_seconds(self) -> float:
        """The three parts added up."""
        return self.forward_seconds + self.backward_seconds + self.optimizer_seconds

    @property
    def noisy_modules(self) -> tuple[str, ...]:
        """The modules with a twentieth of the step or more whose time may be off by a tenth."""
        least = LARGE * sum(m.self_forward_seconds + m.self_backward_seconds for m in self.modules.values())
        return tuple(
            name for name, m in self.modules.items() if m.noisy and m.forward_seconds + m.backward_seconds >= least
        )

    @property
    def noisy(self) -> bool:
        """Whether parts and whole disagree, or the time of a large module may be off by a tenth.

        Then the machine was too busy to say: close what else runs, or raise ``budget_seconds``.
        """
        return self.parts_disagree or bool(self.noisy_modules)

    @property
    def parts_disagree(self) -> bool:
        """Whether the parts miss the whole by more than 5%."""
        return abs(self.parts_seconds - self.total_seconds) > AGREEMENT * self.total_seconds

    def sections(self) -> list[Section]:
        """Return two tables, of the parts and of the modules, and what to know about them."""
        parts = {"forward": self.forward_seconds}
        if self.has_backward:
            parts |= {"backward": self.backward_seconds, "optimizer": self.optimizer_seconds}
        rows = [("part", "time", "share")]
        rows += [(name, format_seconds(t), f"{t / self.parts_seconds:.0%}") for name, t in parts.items()]
        rows += [("whole step", format_seconds(self.total_seconds), "")]
        table = module_rows(self.modules.values(), has_backward=self.has_backward)
        notes: list[str | tuple[str, str]] = [f"({self.steps} steps each way, on {self.device})"]
        notes += [] if self.has_backward else ["forward pass only: there is no optimizer"]
        notes += [("noisy", "parts and whole differ by over 5%")] if self.parts_disagree else []
        if names := self.noisy_modules:
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            notes.append(("noisy", f"may be off by over 10%: {', '.join(names[:NAMED])}{more}"))
        return [
            Section(rows=tuple(rows), caption="Parts of the step"),
            Section(rows=tuple(table), caption="Modules", notes=tuple(notes)),
        ]


def profile_step(
    model: Callable[..., object],
    loss_fn: Callable[..., object] | None,
    optimizer: "torch.optim.Optimizer | None",
    batch: Tree,
    *,
    warmup: int = 3,
    budget_seconds: float = 1.0,
) -> StepProfile:
    """Time the parts of a training step, and each module's share, without training.

    Steps are measured in three ways: whole and split at two points, in turn, and then by module. The whole and its
    parts are means over the fastest quarter of the steps, since other work on the machine only adds time; modules have
    medians, with their quartiles. Measuring goes on, up to five rounds, until the parts add up to the whole within 5%
    and the times of large modules are known to 10%; if they never are, the result is ``noisy``.

    Parameters
    ----------
    model : torch.nn.Module
        In the mode, on the device and with the dtype in which it is to be measured.
    loss_fn : callable or None
        ``loss_fn(output, target)``, or ``loss_fn(output)`` if the batch is one tensor or a dict; returns one number.
        None if the model returns the loss itself, alone, beside the logits, or under the name ``loss``: then it gets
        the whole batch, ``model(*batch)``.
    optimizer : torch.optim.Optimizer or None
        Of the model's parameters. None for inference: the forward pass alone is timed, under ``no_grad``.
    batch : tensor, sequence or dict
        ``(x, target)``, ``(x1, x2, ..., target)``, or one tensor, on the model's device. As in
        :func:`course_lib.training.train_epoch`, several inputs may stand in a tuple or list, ``((x1, x2), target)``,
        and a dict's entries are arguments by name: ``model(**batch)`` if it is the whole batch, with the target in it,
        and ``model(**x)`` if it is all of the input.
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

    Each step draws the same random numbers, so that all drop and route alike. Where calls depend on something else, a
    module's times are of the steps that call it.

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
    check_single_process(torch.distributed)
    step = TrainingStep(model, loss_fn, optimizer, batch)
    modules = [part for part in (model, loss_fn) if isinstance(part, torch.nn.Module)]
    with restore_training(modules, optimizer) as stack, no_garbage_collection():
        step.check(stack)
        for _ in range(warmup):
            step.time_parts(split=True)
        runs = StepRuns(step)
        for _ in range(ROUNDS):
            runs.measure_parts(budget_seconds * 2 / 3)
            if not runs.result().parts_disagree:
                break
        for _ in range(ROUNDS):
            runs.measure_modules(budget_seconds / 3)
            if not (result := runs.result()).noisy_modules:
                break
    return result


class StepRuns:
    """Runs of a step measured so far: whole, split, and by module."""

    def __init__(self, step: TrainingStep) -> None:
        self.step = step
        self.whole: list[float] = []
        self.split: list[list[float]] = []
        self.by_module: list[dict[str, list[float]]] = []
        self.kinds: dict[str, str] = {}

    def measure_parts(self, budget_seconds: float) -> None:
        """Measure whole and split steps in turn, so that a busy spell hits both alike."""
        end, before = perf_counter() + budget_seconds, len(self.whole)
        while len(self.whole) < before + FEWEST or perf_counter() < end:
            self.whole += self.step.time_parts(split=False)
            self.split += [self.step.time_parts(split=True), self.step.time_parts(split=True)]
            self.whole += self.step.time_parts(split=False)

    def measure_modules(self, budget_seconds: float) -> None:
        """Time steps by module."""
        end, before = perf_counter() + budget_seconds, len(self.by_module)
        while len(self.by_module) < before + FEWEST or perf_counter() < end:
            kinds, seconds = self.step.time_modules()
            self.kinds |= kinds
            self.by_module.append(seconds)

    def result(self) -> StepProfile:
        """Average the fastest runs of each kind."""
        total = fmean(_fastest_quarter(self.whole, key=float))
        parts = _fastest_quarter(self.split, key=sum)
        forward, backward, optimizer = (fmean(column) for column in zip(*parts, strict=True))
        modules, clock = self.module_times(), self.step.clock
        trains = self.step.optimizer is not None
        return StepProfile(forward, backward, optimizer, total, modules, len(self.whole), clock.device, trains)

    def module_times(self) -> dict[str, ModuleTime]:
        """Summarize each module over the steps that called it."""
        names = dict.fromkeys(name for run in self.by_module for name in run)
        rows = {name: [run[name] for run in self.by_module if name in run] for name in names}
        steps = len(self.by_module)
        return {name: ModuleTime.from_steps(name, self.kinds.get(name, ""), rows[name], steps=steps) for name in names}


_Run = TypeVar("_Run")


def _fastest_quarter(runs: Sequence[_Run], *, key: Callable[[_Run], float]) -> list[_Run]:
    """Return the fastest quarter of the runs, at least three."""
    return sorted(runs, key=key)[: max(3, len(runs) // 4)]
