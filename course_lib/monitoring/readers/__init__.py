"""Read the gradients of a model: one reader for each library, and what they bring back."""

from collections.abc import Sequence
from typing import Any

from course_lib.monitoring.parameters import is_torch
from course_lib.monitoring.readers.on_arrays import ArrayReader
from course_lib.monitoring.readers.on_torch import TorchReader
from course_lib.monitoring.readers.reading import Measures, Reading

__all__ = ["ArrayReader", "Measures", "Reading", "TorchReader", "reader_of"]


def reader_of(parameters: Sequence[Any], *, often: bool) -> TorchReader | ArrayReader:
    """Return the reader for the library that the parameters belong to, for one reading or for many."""
    return TorchReader(parameters, often=often) if is_torch(parameters[0]) else ArrayReader(parameters)
