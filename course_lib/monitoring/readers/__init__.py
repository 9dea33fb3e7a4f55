"""Read the gradients of a model: one reader for each library, and what they bring back."""

from collections.abc import Sequence
from typing import Any

from course_lib.monitoring.parameters import is_torch
from course_lib.monitoring.readers.on_arrays import ArrayReader
from course_lib.monitoring.readers.on_torch import TorchReader
from course_lib.monitoring.readers.reading import Measures, Reading

__all__ = ["ArrayReader", "Measures", "Reading", "TorchReader", "reader_of"]


def reader_of(parameters: Sequence[Any]) -> TorchReader | ArrayReader:
    """Return the reader for the library that the parameters belong to."""
    return TorchReader(parameters) if is_torch(parameters[0]) else ArrayReader(parameters)
