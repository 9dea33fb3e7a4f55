"""Choose the reader of a model's gradients: a protocol, with an implementation for torch and one for the engine."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from course_lib.frameworks import is_torch_tensor
from course_lib.monitoring.reading.gradient_measures import Reading
from course_lib.monitoring.reading.read_engine_gradients import EngineReader
from course_lib.monitoring.reading.read_split_gradients import SplitReader
from course_lib.monitoring.reading.read_torch_gradients import TorchReader
from course_lib.types import AnyTensor

__all__ = ["GradientReader", "make_reader"]


class GradientReader(Protocol):
    """Reads the gradients of given parameters, step by step."""

    def has_moved(self, *, wholly: bool) -> bool:
        """Return whether a parameter has another precision, or one (``wholly``: any) another device than before."""

    def keep_weights(self) -> None:
        """Copy the parameters, so that the next :meth:`measure` can tell how far they moved."""

    def forget_weights(self) -> None:
        """Drop the copies: they are not those of the step before."""

    def measure(self, step: int = 0, *, weights: bool = False, extra: AnyTensor | None = None) -> Reading:
        """Measure every gradient, and read one more number along with them.

        Parameters
        ----------
        step : int
            What :meth:`last_seen` will say of the elements whose gradient is not 0; 0 to leave that out.
        weights : bool
            Whether to measure the parameters and how far they moved since they were kept, and to keep them again.
        extra : tensor of one element, optional
            What else is to be read.
        """

    def last_seen(self) -> dict[int, NDArray[np.int_]]:
        """Return for each vector among the parameters the last step at which each element had a gradient, or 0."""


def make_reader(parameters: Sequence[AnyTensor]) -> GradientReader:
    """Return a reader for the framework of the parameters."""
    if is_torch_tensor(parameters[0]):
        reader = SplitReader if any(hasattr(p, "device_mesh") for p in parameters) else TorchReader
        return reader(parameters)  # type: ignore[arg-type,return-value]  # all are of one framework
    return EngineReader(parameters)  # type: ignore[arg-type]  # all are the engine's
