"""Add notes on shapes and dtypes to errors that a model, criterion or metric raises."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any

from course_lib.errors import TrainingError
from course_lib.types import AnyModule

__all__ = ["add_note_to_errors", "count_note", "criterion_note", "describe_shapes", "metric_note", "model_note"]

NAMED = 3  # how many entries of a container a note names


@contextmanager
def add_note_to_errors(note: Callable[[], str]) -> Iterator[None]:
    """Add a note to an error of shapes, dtypes or values; it keeps its type, its words and its traceback.

    Errors that the loop raises say so themselves, and errors of memory or missing implementations have other causes.
    """
    try:
        yield
    except (RuntimeError, IndexError, ValueError, TypeError, AttributeError) as error:
        ours = isinstance(error, (TrainingError, NotImplementedError)) or "Memory" in type(error).__name__
        if not ours and (words := note()) not in getattr(error, "__notes__", []):
            error.add_note(words)
        raise


def model_note(where: str, model: AnyModule, inputs: object) -> str:
    """Describe the inputs of a model."""
    dtypes = " and ".join(sorted({_dtype_name(p.dtype) for p in model.parameters()}))
    return (
        f"{where}: the model was called with {describe_shapes(inputs)}"
        + (f", each an argument, as the inputs are a {type(inputs).__name__}" if type(inputs) in (list, tuple) else "")
        + (f"; its parameters are {dtypes}" if dtypes else "")
        + ". Inputs that are not indices need the dtype of the parameters, as from x.astype() or x.to(), and the sizes "
        "that the layers were made for."
    )


def criterion_note(where: str, targets: object, *outputs: object) -> str:
    """Describe the outputs and targets of a criterion; only the targets if there were no outputs yet."""
    came = "".join(f"outputs {describe_shapes(output)} and " for output in outputs)
    return (
        f"{where}: the criterion is for {came}targets {describe_shapes(targets)}. Classes must be int64, from 0 to "
        "C - 1, of shape (N,) for outputs (N, C), as from y.long(); other targets need the dtype and the shape of the "
        "outputs, as from y.float() and y.reshape(-1, 1)."
    )


def metric_note(where: str, name: str, outputs: object, targets: object) -> str:
    """Describe the outputs and targets of a metric."""
    came = f"outputs {describe_shapes(outputs)} and targets {describe_shapes(targets)}"
    return f"{where}: the metric {name!r} was called with {came}."


def count_note(where: str, targets: object) -> str:
    """Describe the targets of a ``count`` function."""
    return f"{where}: count was called with targets {describe_shapes(targets)}."


def describe_shapes(value: Any) -> str:
    """Describe the dtype and shape of a tensor, or of those in a container.

    Examples
    --------
    >>> import numpy as np
    >>> describe_shapes({"x": np.ones((2, 3)), "rest": [np.arange(4), None]})
    '{x: float64 (2, 3), rest: [int64 (4,), NoneType]}'
    """
    if isinstance(value, Mapping):
        parts = [f"{key}: {describe_shapes(item)}" for key, item in islice(value.items(), NAMED)]
    elif isinstance(value, (list, tuple)):
        parts = [describe_shapes(item) for item in value[:NAMED]]
    else:
        try:
            return f"{_dtype_name(value.dtype)} {tuple(value.shape)}"
        except (AttributeError, RuntimeError):  # no tensor, or one with many shapes
            return type(value).__name__
    text = ", ".join(parts + ["..."] * (len(value) > NAMED))
    return f"{{{text}}}" if isinstance(value, Mapping) else f"[{text}]"


def _dtype_name(dtype: object) -> str:
    """Return the name of a dtype without its framework's."""
    return str(dtype).removeprefix("torch.")
