"""What a monitor has seen: one record a step, the latest ones, as arrays or as a table."""

from collections import deque
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from course_lib.extras import load
from course_lib.monitoring.parameters import Array
from course_lib.monitoring.readers import Measures, Reading

__all__ = ["History", "Record"]


class Record(NamedTuple):
    """One step: its number from 1, what was read, and what was still in a gradient when its backward pass began."""

    step: int
    reading: Reading
    left_over: float


class History:
    """Records of the latest steps.

    Parameters
    ----------
    names : sequence of str
        The parameters.
    keep : int
        How many steps at most; at most 200 bytes a parameter and step.
    """

    def __init__(self, names: Sequence[str], *, keep: int) -> None:
        self.names, self.records = list(names), deque[Record](maxlen=keep)

    def __len__(self) -> int:
        return len(self.records)

    @property
    def steps(self) -> list[int]:
        """The numbers of the steps."""
        return [record.step for record in self.records]

    def array(self, measure: str) -> Array:
        """Return one measure as an array of shape (steps, parameters)."""
        return np.array([getattr(record.reading.measures, measure) for record in self.records])

    def left_over(self) -> Array:
        """Return what was left in a gradient before each step, shape (steps,)."""
        return np.array([record.left_over for record in self.records])

    def frame(self) -> Any:
        """Return everything as a pandas DataFrame: one row for each step and parameter."""
        pandas = load("pandas", extra="torch")
        columns = {
            "step": np.repeat(np.array(self.steps, int), len(self.names)),
            "parameter": self.names * len(self),
        }
        for name in [field.name for field in fields(Measures)]:
            columns["max" if name == "largest" else name] = self.array(name).reshape(-1)
        return pandas.DataFrame(columns)
