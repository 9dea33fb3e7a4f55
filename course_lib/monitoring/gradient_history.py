"""History of gradients: a record for each of the latest steps, as arrays or as a table."""

from collections import deque
from collections.abc import Container, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib.extras import load
from course_lib.frameworks import parameter_names
from course_lib.monitoring.histograms import GradientHistogram, trim
from course_lib.monitoring.reading.gradient_measures import Float64, GradientMeasures, LazyMeasures
from course_lib.monitoring.reading.trainable_parameters import find_nonfinite
from course_lib.norms import total_norms
from course_lib.types import AnyModule

if TYPE_CHECKING:
    import pandas

__all__ = ["GradientHistory", "OtherNonfinite", "StepRecord", "weight_indices"]


class StepRecord(NamedTuple):
    """The measures of one step.

    Attributes
    ----------
    step : int
        Its number from 1.
    reading : LazyMeasures
        What was read.
    left_over : float
        What was still in a gradient when the backward pass began.
    watched : int
        Of which parameter, or -1 if none was looked at.
    """

    step: int
    reading: LazyMeasures
    left_over: float
    watched: int


class OtherNonfinite(NamedTuple):
    """Names of frozen parameters and buffers that were not finite when a gradient first was not."""

    frozen: Sequence[str] = ()
    buffers: Sequence[str] = ()

    @classmethod
    def find(cls, model: AnyModule, watched: Container[str]) -> "OtherNonfinite":
        """Find frozen parameters that are not finite, and buffers with NaN: -inf may be intended there, in a mask."""
        frozen = [(name, p) for name, p in parameter_names(model) if name not in watched]
        return cls(find_nonfinite(frozen), find_nonfinite(getattr(model, "named_buffers", list)(), nan_alone=True))


class GradientHistory:
    """Records of the latest steps.

    Parameters
    ----------
    names : sequence of str
        The parameters.
    shapes : sequence of tuple of int
        Theirs.
    keep : int
        How many steps at most; each takes at most 200 bytes for each parameter, and 2 kB.
    """

    def __init__(self, names: Sequence[str], shapes: Sequence[tuple[int, ...]], *, keep: int) -> None:
        self.names, self.shapes, self.records = list(names), list(shapes), deque[StepRecord](maxlen=int(keep))
        self.histograms = deque[tuple[int, ArrayLike]](maxlen=int(keep))
        self.spoiled = OtherNonfinite()

    def __len__(self) -> int:
        return len(self.records)

    @property
    def steps(self) -> list[int]:
        """The numbers of the steps."""
        return [record.step for record in self.records]

    def array(self, measure: str) -> Float64:
        """Return one measure as an array of shape (steps, parameters)."""
        return np.array([getattr(record.reading.measures, measure) for record in self.records])

    def total(self) -> Float64:
        """Return the norm of all gradients together, shape (steps,): NaN if one is NaN, but not if one is None."""
        return _total_norm(self.array("norm"), self.array("nonfinite"))

    def latest(self) -> dict[str, float]:
        """Return the numbers of the latest step, by the name of the measure and of the parameter."""
        last = self.records[-1].reading.measures
        found = {
            "gradient_norm/total": float(_total_norm(last.norm, last.nonfinite)),
            "gradient_nonfinite/total": float(last.nonfinite.sum()),
        }
        columns = {"gradient_norm": last.norm, "gradient_max": last.largest, "update_ratio": last.update_ratio}
        for measure, values in columns.items():
            there = ~np.isnan(values) | (last.nonfinite & (measure != "update_ratio"))
            found |= {f"{measure}/{self.names[i]}": float(values[i]) for i in np.flatnonzero(there)}
        return found

    def latest_histograms(self) -> dict[str, GradientHistogram]:
        """Return the histograms of the latest step, if it has any, by the parameters' names."""
        if not self.histograms or self.histograms[-1][0] != self.records[-1].step:
            return {}
        rows = zip(self.names, np.asarray(self.histograms[-1][1], np.int64), strict=True)
        return {f"gradient/{name}": trim(counts) for name, counts in rows}

    def weight_rms(self) -> tuple[Float64, list[str]]:
        """Return the root mean square of the gradients of weights, shape (steps, weights), and the weights' names."""
        chosen = weight_indices(self.shapes)
        count = np.array([max(1, int(np.prod(self.shapes[i]))) for i in chosen])
        return self.array("norm")[:, chosen] / np.sqrt(count), [self.names[i] for i in chosen]

    def left_over(self) -> Float64:
        """Return what was left in a gradient before each step, shape (steps,)."""
        return np.array([record.left_over for record in self.records])

    def watched(self) -> NDArray[np.int_]:
        """Return the parameter in whose gradient that was, shape (steps,), or -1."""
        return np.array([record.watched for record in self.records])

    def frame(self) -> "pandas.DataFrame":
        """Return everything as a pandas DataFrame: one row for each step and parameter."""
        pandas = load("pandas", extra="torch")
        columns = {
            "step": np.repeat(np.array(self.steps, int), len(self.names)),
            "parameter": self.names * len(self),
        }
        for name in [field.name for field in fields(GradientMeasures)]:
            columns["max" if name == "largest" else name] = self.array(name).reshape(-1)
        return pandas.DataFrame(columns)


def _total_norm(norm: Float64, nonfinite: NDArray[np.generic]) -> Float64:
    """Return the norm of all gradients together, over the last axis, from their norms: a missing one counts as 0."""
    norms = np.where(np.isnan(norm) & ~nonfinite.astype(np.bool_), 0, norm)
    return total_norms(norms)


def weight_indices(shapes: Sequence[tuple[int, ...]]) -> list[int]:
    """Return which parameters have two dimensions or more; all, if there are none."""
    return [i for i, shape in enumerate(shapes) if len(shape) > 1] or list(range(len(shapes)))
