"""Wrap a criterion: its reduction, and the weight of a batch in the mean over many batches."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, signature
from types import FunctionType
from typing import Any, Literal, cast

from course_lib.autograd import nn
from course_lib.autograd.nn.functional import cross_entropy, mse_loss
from course_lib.errors import InputError, TrainingError
from course_lib.training.epochs.error_notes import add_note_to_errors, criterion_note
from course_lib.types import AnyTensor, LossFunction, Number, Tree

__all__ = ["Criterion", "count_samples", "is_scalar", "tree_leaves"]

Reduction = Literal["mean", "sum"]


@dataclass(frozen=True)
class Criterion:
    """A criterion, and the weight of a batch's loss in the mean over many batches.

    ``weight(targets)`` is what the mean of a batch divides by. It is the number of samples, unless the criterion says
    that some samples count less: ``weight`` and ``ignore_index`` of torch's ``CrossEntropyLoss`` and ``NLLLoss``.
    """

    function: LossFunction
    reduction: Reduction
    count: Callable[[Any], Number] | None = None

    @classmethod
    def from_function(
        cls, function: LossFunction, *, reduction: str | None = None, count: Callable[[Any], Number] | None = None
    ) -> "Criterion":
        """Find how a criterion reduces: as told, else by its attribute or bound argument, else by the mean."""
        if not callable(function):
            raise InputError(
                f"the criterion must be callable as criterion(outputs, targets), but got a {type(function).__name__}; "
                "use one such as nn.MSELoss()"
            )
        if isinstance(function, type):
            raise InputError(f"the criterion must be an object, but got the class {function.__name__}; add ()")
        if count is not None and not callable(count):
            raise InputError(f"count must be a function of the targets, but got {count!r:.60}; pass count=len")
        found: Any = reduction or _read_setting(function, "reduction") or "mean"
        found = "mean" if found == "batchmean" else found
        if found not in ("mean", "sum"):
            raise InputError(
                f"the criterion must return one number, but its reduction is {found!r}; use reduction='mean' or 'sum'"
            )
        if found == "mean" and count is None and (inner := _find_weighted_loss(function)):
            raise InputError(
                f"what the mean of a batch divides by must be known, but inside this {type(function).__name__} a "
                f"{inner} weights or ignores some targets; pass count=, a function of the targets that returns their "
                "total weight, or count=len if it is the number of samples all the same"
            )
        return cls(function, found, count)

    def weight(self, targets: Any) -> Number:
        """Return the weight that the mean loss of these targets divides by; a tensor if their values decide it."""
        if self.count is not None:
            return _call_count(self.count, targets)
        samples = count_samples(targets)
        ignored, weights = _read_setting(self.function, "ignore_index"), _read_setting(self.function, "weight")
        if (ignored is None and weights is None) or "int" not in str(getattr(targets, "dtype", "")):
            return samples
        targets = targets.long()  # in uint8, -100 would be class 156, and an index would be a mask
        kept = targets != (-100 if ignored is None else ignored)
        total: Number = kept.sum() if weights is None else (weights[targets * kept] * kept).sum()
        return total

    def __call__(self, outputs: Tree, targets: Tree, *, where: str) -> AnyTensor:
        """Compute the loss of a batch, and check that it is one number."""
        with add_note_to_errors(lambda: criterion_note(where, targets, outputs)):
            loss = cast(AnyTensor, self.function(outputs, targets))
        shape = getattr(loss, "shape", None)
        if shape is None or not hasattr(loss, "backward"):
            raise TrainingError(
                f"{where}: the loss must be a tensor computed from the outputs, but the criterion returned a "
                f"{type(loss).__name__}; remove .item(), .numpy() and float() from it"
            )
        if "complex" in str(loss.dtype):
            raise InputError(
                f"{where}: the loss must be real, so that one can be less than another, but it is {loss.dtype}; end it "
                "with .abs().square().mean()"
            )
        if tuple(shape):
            raise InputError(
                f"{where}: the loss must be one number, but the criterion returned shape {tuple(shape)}; use "
                "reduction='mean' or 'sum', or end it with .mean()"
            )
        return loss


def _call_count(count: Callable[[Any], Number], targets: Tree) -> Number:
    """Call a ``count`` function, and check that it returns one number."""
    counted = count(targets)
    if not is_scalar(counted):
        shape = getattr(counted, "shape", None)
        came = f"a {type(counted).__name__}" + (f" of shape {tuple(shape)}" if shape else "")
        raise InputError(f"count must return one number for a batch, but got {came}; end it with .sum()")
    return counted


def _read_setting(function: object, name: str) -> Any:
    """Read a setting of a criterion: an attribute of a module, an argument that is bound, or one that has a default.

    Examples
    --------
    >>> from course_lib.autograd import cross_entropy
    >>> _read_setting(cross_entropy, "ignore_index")
    -100
    >>> _read_setting(partial(cross_entropy, reduction="sum"), "reduction")
    'sum'
    """
    function, bound = _unwrap(function)
    defaults = _default_arguments(function) | bound
    if name == "weight" and not (hasattr(function, "ignore_index") or "ignore_index" in defaults):
        return None  # other losses multiply by their weight, and divide by the number of samples all the same
    return defaults.get(name, getattr(function, name, None))


def _unwrap(function: object) -> tuple[object, dict[str, Any]]:
    """Split a wrapped function into the function and its bound arguments."""
    for layer, loss in ((nn.CrossEntropyLoss, cross_entropy), (nn.MSELoss, mse_loss)):
        if isinstance(function, layer):  # which keeps what it was given, and no defaults
            return loss, function.settings
    return (function.func, function.keywords) if isinstance(function, partial) else (function, {})


def _find_weighted_loss(function: object) -> str:
    """Name the loss inside a wrapper whose mean divides by less than the number of samples; '' if there is none."""
    parts = function.modules() if hasattr(function, "modules") else ()
    for part in parts:
        weighs = _read_setting(part, "weight") is not None or _read_setting(part, "ignore_index") not in (None, -100)
        if part is not function and weighs and _read_setting(part, "reduction") == "mean":
            return type(part).__name__
    return ""


def _default_arguments(function: object) -> dict[str, Any]:
    """Return the arguments of a plain function that have a default; a module keeps its settings as attributes."""
    if not isinstance(function, FunctionType):
        return {}
    parameters = signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not Parameter.empty}


def tree_leaves(value: object) -> Iterator[Any]:
    """Yield the items of nested tuples, lists and dicts.

    Examples
    --------
    >>> list(tree_leaves({"x": (1, [2]), "y": 3}))
    [1, 2, 3]
    """
    if isinstance(value, (tuple, list, Mapping)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from tree_leaves(item)
    else:
        yield value


def is_scalar(value: object) -> bool:
    """Return whether float() can read a value, without reading it: that would wait for the device."""
    return hasattr(value, "__float__") and not tuple(getattr(value, "shape", ()))


def count_samples(targets: Tree) -> int:
    """Count the samples of a batch: the dicts in a list, or the size of the first dimension."""
    if isinstance(targets, (list, tuple)) and targets and all(isinstance(sample, Mapping) for sample in targets):
        return len(targets)  # one for each image, as in object detection
    shape = getattr(next(tree_leaves(targets), None), "shape", None)
    if not shape:
        came = type(targets).__name__ if shape is None else "a single number"
        raise InputError(
            f"targets must be tensors with one row for each sample, but got {came}; does the loader give single "
            "samples where it should give batches? Pass DataLoader(dataset, batch_size=...)"
        )
    return int(shape[0])
