"""Clip gradients entry by entry."""

from typing import TYPE_CHECKING, Any, TypeVar, overload

from course_lib.autograd import Tensor
from course_lib.clipping.arguments import (
    AxisName,
    BareArray,
    Bound,
    EngineTarget,
    Nonfinite,
    TorchTarget,
    check_bound,
    check_nonfinite,
)
from course_lib.clipping.choose_clipper import choose_clipper

__all__ = ["clip_by_value"]

if TYPE_CHECKING:
    import torch

Bare = TypeVar("Bare", bound=BareArray)
Tree = TypeVar("Tree")


@overload  # a bare array, then what has gradients, then trees of arrays
def clip_by_value(
    target: Bare, clip_value: Bound, *, nonfinite: Nonfinite = ..., axis_name: AxisName = ...
) -> tuple[Bare, Any]: ...
@overload
def clip_by_value(target: TorchTarget, clip_value: float, *, nonfinite: Nonfinite = ...) -> "torch.Tensor": ...
@overload
def clip_by_value(target: EngineTarget, clip_value: float, *, nonfinite: Nonfinite = ...) -> Tensor: ...
@overload
def clip_by_value(
    target: Tree, clip_value: Any, *, nonfinite: Nonfinite = ..., axis_name: AxisName = ...
) -> tuple[Tree, Any]: ...
def clip_by_value(
    target: object, clip_value: Bound, *, nonfinite: Nonfinite = "error", axis_name: AxisName = None
) -> object:
    r"""Move every entry of every gradient into ``[-clip_value, clip_value]``.

    .. math:: g_{ij} \leftarrow \max(-c, \min(c, g_{ij}))

    Large entries shrink and small ones stay, so the direction changes: use :func:`clip_by_global_norm` to keep it.

    Parameters
    ----------
    target : module, tensor, parameters, or arrays
        What :func:`clip_by_global_norm` takes.
    clip_value : float
        The bound :math:`c`, above 0; infinity measures and changes nothing.
    nonfinite : {"error", "skip", "zero"}
        As for :func:`clip_by_global_norm`. An infinite entry is *not* clipped to ``clip_value``: it says nothing about
        how large the gradient was.
    axis_name : str or tuple of str, optional
        As for :func:`clip_by_global_norm`: the norm that is returned, and whether all entries are finite, are of all
        parts together.

    Returns
    -------
    norm, or (clipped, norm)
        As from :func:`clip_by_global_norm`: the global norm before clipping.

    Raises
    ------
    InputError, NonFiniteError
        As for :func:`clip_by_global_norm`.

    Examples
    --------
    >>> import numpy as np
    >>> clip_by_value([np.array([0.5, -3.0]), np.array([[4.0]])], 1.0)
    ([array([ 0.5, -1. ]), array([[1.]])], np.float64(5.024937810560445))
    """
    bound, policy = check_bound("clip_value", clip_value), check_nonfinite(nonfinite)
    return choose_clipper(target, axis_name).clip_value(bound, policy)
