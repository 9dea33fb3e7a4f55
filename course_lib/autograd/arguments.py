"""What functions of functions share: one tensor or several, in and out."""

from collections.abc import Sequence
from typing import Any

from course_lib.autograd.creation import ones_like, zeros_like
from course_lib.autograd.differentiate import grad
from course_lib.autograd.tensor import Tensor
from course_lib.autograd.variable import listed
from course_lib.errors import AutogradError

__all__ = ["Inputs", "alike", "direction", "pulled"]

Inputs = Tensor | Sequence[Tensor]


def alike(results: Sequence[Any], given: Any) -> Any:
    """Return one tensor for one, and a tuple for several."""
    return results[0] if isinstance(given, Tensor) else tuple(results)


def direction(v: Any, like: Sequence[Tensor], what: str) -> list[Tensor]:
    """Check the vector of a product; if there is none, use 1 for a single number."""
    shapes = [x.shape for x in like]
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise AutogradError(f"without v, the {what} must be a single number, but the shapes are {shapes}. Pass v.")
        return [ones_like(like[0])]
    vs = listed(v)
    if [x.shape for x in vs] != shapes:
        raise AutogradError(
            f"v must have the shapes of the {what}, {shapes}, but it has {[x.shape for x in vs]}. Pass one tensor for "
            f"each of the {what}."
        )
    return vs


def pulled(
    ys: Sequence[Any], xs: Sequence[Tensor], vs: Sequence[Tensor | None], create_graph: bool, retain: bool | None = None
) -> list[Tensor]:
    """Pull cotangents of outputs back to inputs: zeros for an input that was not used."""
    used = [(y, v) for y, v in zip(ys, vs, strict=True) if y is not None and y.requires_grad]
    found = grad([y for y, _ in used], xs, [v for _, v in used], retain, create_graph, allow_unused=True)
    return [zeros_like(x) if g is None else g for g, x in zip(found, xs, strict=True)]
