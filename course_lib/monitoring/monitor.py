"""Monitor the gradients of a model while it trains."""

from collections import deque
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from course_lib.errors import MonitorError
from course_lib.monitoring import plots
from course_lib.monitoring.diagnosis import Diagnosis, diagnose
from course_lib.monitoring.gradient_history import GradientHistory, OtherNonfinite, StepRecord
from course_lib.monitoring.measuring_schedule import AT_FIRST, Every, check_counts, make_schedule
from course_lib.monitoring.reading.gradient_measures import Float64
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

if TYPE_CHECKING:
    import pandas

    from course_lib.figures.charts.canvas import Drawing
    from course_lib.figures.charts.heat_map import HeatMapFigure

__all__ = ["GradientMonitor"]


class GradientMonitor:
    r"""Measures every gradient at each step, keeps the numbers, draws and diagnoses them.

    Call :meth:`step` after ``backward()``. It reads each gradient once, whatever is done to it before or after, and
    changes nothing: no random number is drawn, and the model's results are the same to the last bit.

    **Cost** (``benchmarks/monitoring.py``). Tensors of one shape are copied into one matrix, and reduced together by a
    few kernels, with one transfer to the host for each device and precision. A step of 0.2 million parameters on a CPU
    takes 7.4% longer (``torch.nn.utils.get_total_norm`` alone: 5.7%), and 9.0% where gradients vanish: once squares are
    out of the range of single precision, all are scaled first, and the first such step takes a second transfer. With
    ``every=10`` both cost 1.1%. Choose ``every=1`` to find out why a run fails, ``every=10`` to watch a long one.

    **Complex** elements count as two real numbers each, as in optimizers, for the largest and the deviation, too.
    With a GradScaler, call :meth:`step` after ``scaler.unscale_(optimizer)``: before it, all are scaled as the loss is.

    **Updates.** What an optimizer does to a parameter is more than its learning rate times the gradient, so it is
    measured: the monitor keeps a copy of the parameters, and ``update_ratio`` is :math:`\|w - w_0\| / \|w_0\|`, where
    :math:`w_0` are the parameters at the previous call of :meth:`step`. That costs more than all the rest, so it is
    done for the first ten changes, and then for one in ``update_every``; elsewhere the column is NaN.

    **Memory.** There is one copy of the parameters, one of the gradients with at most 65,536 elements, and for a moment
    one of each larger gradient in turn. The history holds 2 kB and at most 200 bytes per parameter for each of ``keep``
    steps.

    **Dead units** are counted in layers of at most 512 units, by their bias or that of a norm after them. In a wider
    layer, or one with neither, only the death of the whole layer is seen.

    **What is attached.** From the first step to :meth:`close`, two hooks on one parameter, which see whether its
    gradient was emptied before it is added to; after ten measured steps they move on to another layer, so
    that of many layers, the one that is never zeroed is found when its turn comes.

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

    def __init__(self, model: AnyModule, every: Every = 1, *, keep: int = 2000, update_every: int | None = 10) -> None:
        check_counts(keep=keep)
        self._model, self._parameters = model, trainable_parameters(model)
        self._schedule = make_schedule(every, update_every)
        self._closed, self._broken, self._count = False, False, 0
        shapes = [shape_tuple(p) for p in self._parameters.values()]
        self._history = GradientHistory(list(self._parameters), shapes, keep=keep)
        self._reader: GradientReader | None = None
        self._watch: ZeroGradWatch | None = None
        self._looks = deque[int](maxlen=AT_FIRST)
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

    def _measure(self, reader: GradientReader) -> None:
        """Measure the gradients, and the parameters if it is their turn or a gradient is not finite."""
        now, schedule = self._count, self._schedule
        waiting = self._watch.take_left_over() if self._watch else None
        if schedule.checks_parameters(now):
            check_same_parameters(self._parameters, self._history.shapes, self._model, self._told)
        weights = schedule.measures_weights(now)
        if look := schedule.looks_at_units(now):
            self._looks.append(now)
        reading = reader.measure(now if look else 0, weights=weights, extra=waiting)
        left = reading.extra
        if reading.nonfinite and not self._broken and schedule.update_every is not None:
            self._broken, self._history.spoiled = True, OtherNonfinite.find(self._model, self._parameters)
            if not weights:  # were the parameters still finite? Asked once, in one more transfer
                reader.forget_weights()
                reading, weights = reader.measure(weights=True), True
        if schedule.measures_weights(now + 1) and not weights:
            reader.keep_weights()
        self._history.records.append(StepRecord(now, reading, left, self._watch.seen if self._watch else -1))
        if self._watch is None:
            self._watch = ZeroGradWatch.start(self._parameters, reading.measures.norm)
        elif schedule.moves_watch(now):
            self._watch.move_on()

    @property
    def history(self) -> "pandas.DataFrame":
        """The measures as a pandas DataFrame: a row for each step and parameter.

        Its columns are ``step`` (from 1), ``parameter``, ``norm``, ``mean``, ``std``, ``max`` (the largest absolute
        value), ``nonfinite``, ``update_ratio`` and ``weight_norm``. Where there was no gradient they are NaN.
        Parameters and updates in single precision, all elements of which are below 1e-23, count as 0.
        """
        return self._history.frame()

    def scalars(self) -> dict[str, float]:
        """Return the latest measures by name, for a logger: ``writer.add_scalar(name, value, step)`` for each.

        Names are ``gradient_norm/total``, ``gradient_nonfinite/total``, and ``gradient_norm/``, ``gradient_max/`` and
        ``update_ratio/`` with each parameter's, where there is such a number: a missing gradient has none.
        """
        self._refuse_empty()
        return self._history.latest()

    def diagnose(self, *, stepped: bool = False) -> Diagnosis:
        """Say in words what the history shows, with the layers, steps and numbers that show it.

        It does not know the loss. What a part that begins at exactly 0 holds back is not called vanishing while it
        grows; what one that begins near 0 holds back, such as a layer scale of 1e-6, is. For dead units, see the class.
        Where an optimizer has ``stepped`` for certain, weights that have not changed at all barely move, too.

        Returns
        -------
        Diagnosis
            Its ``kinds`` are among those of :class:`GradientFinding`; printed, it is text.

        Raises
        ------
        MonitorError
            If there was no step yet.
        """
        self._refuse_empty()
        return diagnose(self._history, looks=list(self._looks), last_seen=self._seen(), stepped=stepped)

    def heat_map(self, *, title: str = "Gradients by layer and step") -> "HeatMapFigure":
        """Draw the root mean square of gradients, a row per parameter of two dimensions or more, a column per step."""
        self._refuse_empty()
        return plots.heat_map(self._history, title=title)

    def norm_curves(self, *parameters: str, title: str = "Gradient norms") -> "Drawing":
        """Draw the norm of all gradients together, and of up to three parameters, by step, on a logarithmic scale."""
        self._refuse_empty()
        return plots.norm_curves(self._history, parameters, title=title)

    def weight_rms(self) -> tuple[Float64, list[str]]:
        """Return the root mean square of the gradients of weights, shape (steps, weights), and the weights' names.

        Weights are the parameters with two dimensions or more; if there are none, all parameters. The norm grows with
        the number of elements, the root mean square does not, so layers of different size can be compared by it.
        """
        return self._history.weight_rms()

    def close(self) -> None:
        """Remove all hooks, and drop the model and all copies; what was measured can still be read."""
        if self._watch is not None:
            self._watch.close()
        self._last_seen = self._seen()
        self.__dict__.pop("_model", None)
        self._parameters, self._reader, self._watch, self._closed = {}, None, None, True

    def __enter__(self) -> "GradientMonitor":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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

    def _refuse_empty(self) -> None:
        if not len(self._history):
            raise MonitorError("nothing was measured yet. Call step() after each backward(), then ask again.")
