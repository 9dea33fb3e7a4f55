"""Write a monitor's numbers where a run is logged: TensorBoard, Weights & Biases, MLflow, Lightning, or a function.

Each is known by what it can do, so that nothing is imported, and whatever has the same methods works as well.
"""

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias, runtime_checkable

from course_lib.errors import InputError, MonitorError
from course_lib.monitoring.histograms import GradientHistogram

__all__ = ["LogTarget", "LogWriter", "make_writer"]

LogTarget: TypeAlias = Any
"""A SummaryWriter, a run of wandb, the module ``mlflow`` or ``wandb``, a logger of Lightning, or a function."""

STEP = "gradient_step"  # the axis of wandb's charts
NOT_IN_NAMES = re.compile(r"[^\w\-. :/]")  # of MLflow


class LogWriter(Protocol):
    """Writes the numbers of one step."""

    def write(self, scalars: Mapping[str, float], histograms: Mapping[str, GradientHistogram], step: int) -> None:
        """Write numbers and, where they can be shown, histograms, by name."""


def make_writer(target: LogTarget) -> LogWriter:
    """Return the writer for a target.

    Raises
    ------
    InputError
        If it is none of those that are known.
    """
    if isinstance(target, type):
        raise InputError(
            f"log_to must be what {target.__name__}(...) makes, but it is the class itself. Call it first."
        )
    if isinstance(target, _SummaryWriter):
        return _TensorBoard(target)
    if isinstance(target, _MetricLogger):
        return _Metrics(target)
    if isinstance(target, _Run):
        return _WandB(target)
    if callable(target):
        return _Function(target)
    raise InputError(
        "log_to must be TensorBoard's SummaryWriter, a run of wandb or the module wandb, the module mlflow, a logger "
        f"of Lightning, or a function of a dict of numbers and a step, but it is {target!r:.80}."
    )


@runtime_checkable
class _SummaryWriter(Protocol):
    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> Any: ...
    def add_histogram_raw(self, tag: str, **numbers: Any) -> Any: ...


@runtime_checkable
class _MetricLogger(Protocol):
    def log_metrics(self, metrics: dict[str, float], step: int) -> Any: ...


@runtime_checkable
class _Run(Protocol):
    def log(self, data: dict[str, Any], commit: bool) -> Any: ...
    def define_metric(self, name: str, step_metric: str) -> Any: ...


class _TensorBoard:
    """Writes scalars and histograms."""

    def __init__(self, target: _SummaryWriter) -> None:
        self._target = target

    def write(self, scalars: Mapping[str, float], histograms: Mapping[str, GradientHistogram], step: int) -> None:
        for name, value in scalars.items():
            self._target.add_scalar(name, value, step)
        for name, found in histograms.items():
            middles = (found.edges[:-1] + found.edges[1:]) / 2
            self._target.add_histogram_raw(
                name,
                min=float(found.edges[0]),
                max=float(found.edges[-1]),
                num=int(found.counts.sum()),
                sum=float(found.counts @ middles),
                sum_squares=float(found.counts @ middles**2),
                bucket_limits=found.edges[1:].tolist(),
                bucket_counts=found.counts.tolist(),
                global_step=step,
            )


class _Metrics:
    """Writes scalars, under names that MLflow takes."""

    def __init__(self, target: _MetricLogger) -> None:
        self._target = target

    def write(self, scalars: Mapping[str, float], histograms: Mapping[str, GradientHistogram], step: int) -> None:
        self._target.log_metrics({NOT_IN_NAMES.sub("_", name): value for name, value in scalars.items()}, step=step)


class _WandB:
    """Adds to the row that the loop's own next ``log`` completes; where there is none, a row is completed by the next.

    A row of its own for each step would advance the run's counter, and wandb drops what a loop then logs for a step
    that is over. So the charts' axis is a number of its own.
    """

    def __init__(self, target: Any) -> None:
        self._target, self._run, self._begun = target, object(), -1

    def write(self, scalars: Mapping[str, float], histograms: Mapping[str, GradientHistogram], step: int) -> None:
        run = self._find_run()
        if run.step == self._begun:
            run.log({}, commit=True)
        drawn = {name: sys.modules["wandb"].Histogram(np_histogram=tuple(h)) for name, h in histograms.items()}
        run.log({**scalars, **drawn, STEP: step}, commit=False)
        self._begun = run.step

    def _find_run(self) -> Any:
        """Return the run, the module's present one; its charts get their axis when it is first seen."""
        run = getattr(self._target, "run", self._target) if self._target is sys.modules.get("wandb") else self._target
        if run is None:
            raise MonitorError("wandb must have a run to log to, but there is none. Call wandb.init() first.")
        if run is not self._run:
            self._run = run
            for measure in ("gradient_norm", "gradient_nonfinite", "gradient_max", "update_ratio", "gradient"):
                run.define_metric(f"{measure}/*", step_metric=STEP)
        return run


class _Function:
    """Calls a function with a dict of scalars and the step."""

    def __init__(self, target: Callable[[dict[str, float], int], object]) -> None:
        self._target = target

    def write(self, scalars: Mapping[str, float], histograms: Mapping[str, GradientHistogram], step: int) -> None:
        self._target(dict(scalars), step)
