"""Clip gradients by the norm of all of them together."""

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
from course_lib.norms import check_norm_type

__all__ = ["clip_by_global_norm"]

if TYPE_CHECKING:
    import torch

Bare = TypeVar("Bare", bound=BareArray)
Tree = TypeVar("Tree")


@overload  # a bare array, then what has gradients, then trees of arrays
def clip_by_global_norm(
    target: Bare, max_norm: Bound, *, norm_type: float = ..., nonfinite: Nonfinite = ..., axis_name: AxisName = ...
) -> tuple[Bare, Any]: ...
@overload
def clip_by_global_norm(
    target: TorchTarget, max_norm: float, *, norm_type: float = ..., nonfinite: Nonfinite = ...
) -> "torch.Tensor": ...
@overload
def clip_by_global_norm(
    target: EngineTarget, max_norm: float, *, norm_type: float = ..., nonfinite: Nonfinite = ...
) -> Tensor: ...
@overload
def clip_by_global_norm(
    target: Tree, max_norm: Any, *, norm_type: float = ..., nonfinite: Nonfinite = ..., axis_name: AxisName = ...
) -> tuple[Tree, Any]: ...
def clip_by_global_norm(
    target: object,
    max_norm: Bound,
    *,
    norm_type: float = 2.0,
    nonfinite: Nonfinite = "error",
    axis_name: AxisName = None,
) -> object:
    r"""Scale all gradients by one number, so that their norm as one vector is at most ``max_norm``, up to rounding.

    .. math:: g \leftarrow g \cdot \min\left(1, \frac{\tau}{\lVert g \rVert}\right), \qquad
        \lVert g \rVert = \sqrt{\textstyle\sum_i \lVert g_i \rVert^2}

    The direction is kept. Gradients within the bound keep every bit, and there is no epsilon in the fraction. The norm
    is right even where the squares of the entries overflow or underflow. Scaled gradients are rounded to their own
    precision, so that the norm of bfloat16 gradients can end up 0.4% above the bound.

    Parameters
    ----------
    target : module, tensor, parameters, or arrays
        Of torch or of :mod:`course_lib.autograd`: a module, a parameter, or an iterable of them, of named ones, or of
        modules; their ``.grad`` is changed in place, and one that has none is passed over. A parameter listed twice
        counts once. Or NumPy or JAX arrays, which are the gradients themselves, bare or in lists, tuples, dicts and,
        for JAX, any pytree, but no other containers; they stay as they are. Floating point of 16 to 64 bits, of any
        shapes, even mixed.
    max_norm : float
        The bound :math:`\tau`, above 0; infinity measures and changes nothing. A value traced by JAX cannot be looked
        at: one that is not above 0 makes every gradient NaN.
    norm_type : float
        The p of the norm :math:`\bigl(\sum_i \lvert g_i \rvert^p\bigr)^{1/p}`, above 0; ``math.inf`` bounds the largest
        entry, and keeps the direction.
    nonfinite : {"error", "skip", "zero"}
        What to do if an entry is infinite or NaN. ``"error"`` raises, names the gradient, and has changed nothing.
        ``"skip"`` changes nothing either, and leaves it to you to skip the step: the norm is not finite. In
        ``before_step`` of :func:`course_lib.training.train_epoch` the step is skipped for you. ``"skip"`` is also for
        use with a ``GradScaler``, whose first gradients are often not finite, and which skips such steps itself.
        ``"zero"`` sets every gradient to zero, so that the step gets nothing from this batch; momentum and weight decay
        still act. Where JAX traces (``jit``, ``vmap``) nothing can be raised: there ``"error"`` makes every gradient
        NaN.
    axis_name : str or tuple of str, optional
        For JAX inside ``shard_map`` or ``pmap``: the axis over which the gradients are split, so that the norm is that
        of all parts together.

    Returns
    -------
    norm : 0-d tensor, float64
        The norm *before* clipping, for torch and for :mod:`course_lib.autograd`. It is on the CPU, to be read without
        waiting; only ``"skip"`` and ``"zero"`` on a GPU leave it there, since they need not know it.
    (clipped, norm) : tuple
        For NumPy, new arrays and a float64; for JAX, a pytree and a scalar, float32 unless a gradient is float64: the
        norm of finite gradients can be beyond its range and is then infinite, while the clipped gradients are right.

    Raises
    ------
    InputError
        If ``max_norm`` is not above 0, nothing in ``target`` has a gradient, or a gradient is of a kind that is not
        supported: integer, complex, sparse, a shard of FSDP1.
    NonFiniteError
        If an entry is not finite and ``nonfinite`` is ``"error"``.

    Notes
    -----
    ``torch.nn.utils.clip_grad_norm_`` passes on what is not finite, unless ``error_if_nonfinite`` is set; here the
    error comes unless ``nonfinite`` says otherwise.

    Torch: the norm is measured in float32 and, where that is not finite or squares may have vanished, again in float64,
    in units of the largest entry. To raise ``"error"`` the host waits for the device, once or in that case twice.
    ``"skip"`` and ``"zero"`` ask a device for no number: it measures in float64, once, and decides and scales alone; a
    factor below float32's range makes zeros there. Of DTensors, as FSDP2 makes them, every process clips its part by
    the norm of the whole: all must call this, and exchange one number for each of their meshes. XLA treats subnormal
    numbers as zero on many devices, so JAX measures them as zero there.

    Torch's gradients are those in ``.grad``. What ``torch.func.grad`` and ``torch.autograd.grad`` return belongs to no
    parameter, and is refused: a list of ``p.grad`` looks the same, and would stay as it is. Scale it by hand:
    ``norm = torch.nn.utils.get_total_norm(grads)``, with ``foreach=False`` inside ``vmap``, and
    ``g * (max_norm / norm).clamp(max=1)`` for each.

    JAX under ``jit`` sees whole arrays, however they lie on devices. Inside ``shard_map`` and ``pmap`` a device sees
    its own part, and without ``axis_name`` the norm is of that alone: each part would be scaled by another number. With
    it, every device must hold other entries. Gradients that are the same on all devices, as after ``pmean``, have their
    whole norm on each, and with ``axis_name`` would count once for each device.

    References
    ----------
    Pascanu, Mikolov, Bengio: On the difficulty of training recurrent neural networks, 2013 (arXiv:1211.5063), section
    3.2. Scaling by the largest entry: Blue, A portable Fortran program to find the Euclidean norm of a vector, 1978.

    Examples
    --------
    >>> import numpy as np
    >>> clipped, norm = clip_by_global_norm({"w": np.array([[3.0, 0.0]]), "b": np.array([4.0])}, 1.0)
    >>> clipped, norm
    ({'w': array([[0.6, 0. ]]), 'b': array([0.8])}, np.float64(5.0))

    >>> from course_lib.autograd import tensor
    >>> w = tensor([3.0, 4.0], requires_grad=True)
    >>> (0.5e19 * w**2).sum().backward()  # the squares of the gradient are beyond float32
    >>> clip_by_global_norm([w], 1.0), w.grad
    (tensor(5.0000e+19, dtype=torch.float64), tensor([0.6000, 0.8000]))
    """
    bound, policy, p = check_bound("max_norm", max_norm), check_nonfinite(nonfinite), check_norm_type(norm_type)
    return choose_clipper(target, axis_name).clip_norm(bound, policy, p)
