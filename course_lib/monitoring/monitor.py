"""Monitor the gradients of a model while it trains."""

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from course_lib.errors import MonitorError
from course_lib.monitoring.gradient_history import GradientHistory, OtherNonfinite, StepRecord
from course_lib.monitoring.gradient_record import GradientRecord
from course_lib.monitoring.histograms import count_gradients
from course_lib.monitoring.log_writers import LogTarget
from course_lib.monitoring.measuring_schedule import Every, check_counts, make_schedule
from course_lib.monitoring.reading.gradient_reader import GradientReader, make_reader
from course_lib.monitoring.reading.trainable_parameters import (
    check_gradients,
    check_same_parameters,
    check_shapes,
    shape_tuple,
    trainable_parameters,
)
from course_lib.monitoring.zero_grad import ZeroGradWatch
from course_lib.types import AnyModule

__all__ = ["GradientMonitor"]


class GradientMonitor(GradientRecord):
    r"""Measures every gradient at each step, keeps the numbers, draws and diagnoses them.

    Call :meth:`step` after ``backward()``. It reads each gradient once, whatever is done to it before or after, and
    changes nothing: no random number is drawn, and the model's results are the same to the last bit.

    **Cost** (``benchmarks/monitoring.py``). Tensors of one shape are copied into one matrix, and reduced together by a
    few kernels, with one transfer to the host for each device and precision. A step of 0.2 million parameters on a CPU
    takes 7.4% longer (``torch.nn.utils.get_total_norm`` alone: 5.7%), and 9.0% where gradients vanish: once squares are
    out of the range of single precision, all are scaled first, and the first such step takes a second transfer. With
    ``every=10`` both cost 1.1%. Choose ``every=1`` to find out why a run fails, ``every=10`` to watch a long one.

    **Complex** elements count as two real numbers each, as in optimizers, for the largest and the deviation, too.

    **Mixed precision.** With a GradScaler, call :meth:`step` after ``scaler.unscale_(optimizer)``; before it, every
    number is too large by the factor of the loss scale. The ``before_step`` of ``train_epoch`` and ``fit`` comes
    after it.

    **Updates.** What an optimizer does to a parameter is more than its learning rate times the gradient, so it is
    measured: the monitor keeps a copy of the parameters, and ``update_ratio`` is :math:`\|w - w_0\| / \|w_0\|`, where
    :math:`w_0` are the parameters at the previous call of :meth:`step`. That costs more than all the rest, so it is
    done for the first ten changes, and then for one in ``update_every``; elsewhere the column is NaN.

    **Sharded models.** Of a model that FSDP2 splits (DTensors), every process has the numbers of the whole. All must
    call :meth:`step`, which exchanges ten numbers for each parameter; what is asked afterwards exchanges nothing.
    Whether gradients were zeroed is not looked at there.

    **Memory.** There is one copy of the parameters, one of the gradients with at most 65,536 elements, and for a moment
    one of each larger gradient in turn. The history holds 2 kB and at most 200 bytes per parameter for each of ``keep``
    steps.

    **Dead units** are counted in layers of at most 512 units, by their bias or that of a norm after them. In a wider
    layer, or one with neither, only the death of the whole layer is seen.

    **What is attached.** From the first step to :meth:`close`, two hooks on one parameter, which see whether its
    gradient was emptied before it is added to; after ten measured steps they move on to another layer, so
    that of many layers, the one that is never zeroed is found when its turn comes. A backward pass that a CUDA graph
    replays calls no hook: there, gradients that are not zeroed are not found.

    Parameters
    ----------
    model : torch.nn.Module or course_lib.autograd.nn.Module
        Its parameters that require grad now are watched, on whatever device, in the order of ``named_parameters()``,
        which :meth:`diagnose` takes to be the order of the forward pass.
    every : int or MeasuringSchedule
        Measure the first of every so many steps, or those a schedule names. Changes are over one step all the same.
    keep : int
        How many measured steps the history holds.
    update_every : int or None
        Measure the change of the parameters at one in so many measured steps, once the first ten are over; 1 for all,
        None for none, and then no parameter is copied.
    histogram_every : int or None
        Count the elements of each gradient by their size at one in so many measured steps; None for none. Each takes
        as long as 12 to 27 readings, and 1.5 kB a parameter. Of a split model a process counts its part. See
        :meth:`histogram` and :meth:`histogram_map`.
    log_to : optional
        Where the numbers of each measured step are written, by the names of :meth:`scalars`, as soon as they are there:
        TensorBoard's ``SummaryWriter``, a run of ``wandb`` (or the module, for its present run), the module ``mlflow``,
        a logger of Lightning, or any ``function(scalars, step)``. TensorBoard and wandb show histograms, too; wandb's
        rows go with the next that your loop logs.
    start : int
        How many steps were made before, of a run that goes on: their numbers begin after it.

    Examples
    --------
    >>> from course_lib.autograd import manual_seed, nn, optim, randn
    >>> _ = manual_seed(0)
    >>> model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    >>> optimizer = optim.SGD(model.parameters(), lr=0.1)
    >>> with GradientMonitor(model) as monitor:
    ...     for _ in range(5):
    ...         optimizer.zero_grad()
    ...         (model(randn(32, 8)) ** 2).mean().backward()
    ...         monitor.step()
    ...         optimizer.step()
    >>> monitor.diagnose().healthy
    True
    """

    def __init__(
        self,
        model: AnyModule,
        every: Every = 1,
        *,
        keep: int = 2000,
        update_every: int | None = 10,
        histogram_every: int | None = None,
        log_to: LogTarget = None,
        start: int = 0,
    ) -> None:
        counts = {"update_every": update_every, "histogram_every": histogram_every}
        check_counts(keep=keep, **{name: n for name, n in counts.items() if n is not None})
        check_counts(start=start, least=0)
        self._histogram_every, self._start = histogram_every, start
        self._model, self._parameters = model, trainable_parameters(model)
        self._schedule = make_schedule(every, update_every)
        self._closed, self._broken, self._count = False, False, 0
        shapes = [shape_tuple(p) for p in self._parameters.values()]
        super().__init__(GradientHistory(list(self._parameters), shapes, keep=keep), log_to)
        self._reader: GradientReader | None = None
        self._watch: ZeroGradWatch | None = None
        self._last_seen, self._told = dict[int, NDArray[np.int_]](), set[str]()

    def step(self, number: int | None = None) -> None:
        """Measure the gradients as they are now: after ``backward()``, before ``zero_grad()``.

        Give it the step's ``number``, from 1, where it is not called at each one.

        Raises
        ------
        MonitorError
            If no parameter has a gradient, the monitor was closed, or a parameter is no longer the model's. That is
            asked in the first ten measured steps, then in one in a hundred; what is trained only now is warned of then.
        """
        if self._closed:
            raise MonitorError("this monitor was closed and sees nothing any more. Make a new GradientMonitor(model).")
        parameters = self._parameters.values()
        if next(iter(parameters)).grad is None and all(p.grad is None for p in parameters):  # one sooner than all
            check_same_parameters(self._parameters, self._history.shapes, self._model, self._told)
            check_gradients(self._parameters)
        self._count = now = self._count + 1 if number is None else number
        schedule = self._schedule
        if not (due := schedule.measures_gradients(now)) and not schedule.measures_weights(now + 1):
            return
        if self._reader is None or self._reader.has_moved(wholly=schedule.checks_parameters(now)):
            self._reader = make_reader(list(parameters))
            self._looks.clear()  # what was seen at those steps went with the previous reader
        try:
            if due:
                self._measure(self._reader)
            else:
                self._reader.keep_weights()
        except RuntimeError:  # torch's own, about two sizes that do not match, would not name the parameter
            check_shapes(self._parameters, self._history.shapes)
            raise
        if due:
            self._count_histograms()
            self._log()

    def _measure(self, reader: GradientReader) -> None:
        """Measure the gradients, and the parameters if it is their turn or a gradient is not finite."""
        now, schedule = self._count, self._schedule
        waiting = self._watch.take_left_over() if self._watch else None
        if schedule.checks_parameters(now):
            check_same_parameters(self._parameters, self._history.shapes, self._model, self._told)
        weights, number = schedule.measures_weights(now), self._start + now
        if look := schedule.looks_at_units(now):
            self._looks.append(number)
        reading = reader.measure(number if look else 0, weights=weights, extra=waiting)
        left = reading.extra
        if reading.nonfinite and not self._broken and schedule.update_every is not None:
            self._broken, self._history.spoiled = True, OtherNonfinite.find(self._model, self._parameters)
            if not weights:  # were the parameters still finite? Asked once, in one more transfer
                reader.forget_weights()
                reading, weights = reader.measure(weights=True), True
        if schedule.measures_weights(now + 1) and not weights:
            reader.keep_weights()
        self._history.records.append(StepRecord(number, reading, left, self._watch.seen if self._watch else -1))
        if self._watch is None:
            self._watch = ZeroGradWatch.start(self._parameters, reading.measures.norm)
        elif schedule.moves_watch(now):
            self._watch.move_on()

    def _count_histograms(self) -> None:
        """Count the elements of each gradient, if it is their turn."""
        if self._schedule.counts_histograms(self._count, self._histogram_every):
            counts = count_gradients([p.grad for p in self._parameters.values()])
            self._history.histograms.append((self._start + self._count, counts))

    def close(self) -> None:
        """Remove all hooks, and drop the model and all copies; what was measured can still be read."""
        if self._watch is not None:
            self._watch.close()
        self._last_seen = self._seen()
        self.__dict__.pop("_model", None)
        self._parameters, self._reader, self._watch, self._closed = {}, None, None, True

    def __reduce__(self) -> NoReturn:
        raise MonitorError(
            "a monitor cannot be copied or pickled, since it is tied to its model. Keep monitor.history, a DataFrame, "
            "and make a new GradientMonitor for a copy of the model."
        )

    def __repr__(self) -> str:
        state = "closed" if self._closed else "watching"
        return f"GradientMonitor({len(self._history.names)} parameters, {self._count} steps, {state})"

    def _seen(self) -> dict[int, NDArray[np.int_]]:
        return self._last_seen if self._reader is None else self._reader.last_seen()
