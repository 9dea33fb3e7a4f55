"""What a monitor has measured: as a table, as numbers for a logger, drawn, and diagnosed in words."""

from collections import deque
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from course_lib.errors import InputError, MonitorError
from course_lib.monitoring import plots
from course_lib.monitoring.diagnosis import Diagnosis, diagnose
from course_lib.monitoring.gradient_history import GradientHistory
from course_lib.monitoring.histograms import Counts, GradientHistogram, trim
from course_lib.monitoring.log_writers import LogTarget, make_writer
from course_lib.monitoring.measuring_schedule import AT_FIRST
from course_lib.monitoring.reading.gradient_measures import Float64

if TYPE_CHECKING:
    import pandas

    from course_lib.figures.charts.canvas import Drawing
    from course_lib.figures.charts.heat_map import HeatMapFigure

__all__ = ["GradientRecord"]


class GradientRecord:
    """What the monitors of all frameworks have in common once they have measured.

    Parameters
    ----------
    history : GradientHistory
        Where records are kept.
    log_to : optional
        Where each is written as well; see :func:`make_writer`.
    """

    def __init__(self, history: GradientHistory, log_to: LogTarget = None) -> None:
        self._history, self._looks = history, deque[int](maxlen=AT_FIRST)
        self._writer = None if log_to is None else make_writer(log_to)

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

    def histogram(self, parameter: str) -> GradientHistogram:
        """Return the latest histogram of a parameter's gradient, counts and edges as of ``numpy.histogram``.

        Bins are powers of two from 2^-64 to 2^32, of either sign, of those that hold anything; 0 is in the middle one.

        Raises
        ------
        MonitorError
            If none was counted: give the monitor ``histogram_every``.
        """
        return trim(self._counts(parameter)[-1][1])

    def histogram_map(self, parameter: str, *, title: str = "") -> "HeatMapFigure":
        """Draw how large the elements of a parameter's gradient are: a row for a power of two, a column for a step."""
        return plots.histogram_map(self._counts(parameter), title=title or f"Sizes in the gradient of {parameter}")

    def _counts(self, parameter: str) -> list[tuple[int, Counts]]:
        """Return the histograms of one parameter, with their steps."""
        if parameter not in self._history.names:
            raise InputError(f"there is no parameter {parameter!r}. The names are in monitor.history.")
        if not self._history.histograms:
            raise MonitorError(
                "no histogram was counted yet. Make the monitor with histogram_every=10, for one in so many of the "
                "steps that it measures."
            )
        i = self._history.names.index(parameter)
        return [(step, np.asarray(counts, np.int64)[i]) for step, counts in self._history.histograms]

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
        """Let go of all but what was measured, which can still be read."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _seen(self) -> dict[int, NDArray[np.int_]]:
        """Return for each vector among the parameters the last step at which each element had a gradient, or 0."""
        raise NotImplementedError

    def _log(self) -> None:
        """Write the latest record, if it is to be logged."""
        if self._writer is not None:
            history = self._history
            self._writer.write(history.latest(), history.latest_histograms(), history.records[-1].step)

    def _refuse_empty(self) -> None:
        if not len(self._history):
            raise MonitorError("nothing was measured yet. Call step() after each backward(), then ask again.")
