"""Plan gradient checkpointing of a chain of equal layers: memory, recomputation, and the best interval."""

from dataclasses import dataclass
from math import ceil, sqrt

from course_lib.errors import InputError

__all__ = ["CheckpointPlan", "best_checkpoint_interval", "checkpoint_plan"]


@dataclass(frozen=True)
class CheckpointPlan:
    """Memory and recomputation of a chain of n layers, checkpointed in segments of k.

    Attributes
    ----------
    kept_bytes : int
        What the forward pass keeps: the input of each segment.
    peak_bytes : int
        The most in memory at once: when the backward pass enters the last segment, all that is kept and what that
        segment saves.
    recomputed_layers : int
        Layers whose forward pass is done twice.
    """

    kept_bytes: int
    peak_bytes: int
    recomputed_layers: int


def checkpoint_plan(n: int, k: int, *, layer_bytes: int = 1, boundary_bytes: int | None = None) -> CheckpointPlan:
    r"""Predict the memory of n layers with gradient checkpointing every k layers.

    .. math:: \text{peak}(k) = m \lceil n / k \rceil + (a k - m)

    with m for the bytes between two layers and a for what a layer saves, its input included: the segment's own input
    is kept already. The forward pass of every segment is repeated once, so the backward pass costs one forward pass
    more whatever k is.

    Parameters
    ----------
    n, k : int
        Layers in all, and in a segment; the last one may be shorter, k = n is one segment.
    layer_bytes : int
        a: what one layer saves. The default 1 counts in units of it.
    boundary_bytes : int, optional
        m: the size of the tensor between two layers; by default ``layer_bytes``.

    Returns
    -------
    CheckpointPlan

    Raises
    ------
    InputError
        Unless 1 <= k <= n and the sizes are positive with m <= a.

    Notes
    -----
    Chen et al. (2016), arXiv:1604.06174, section 4. ``torch.utils.checkpoint`` ends a repeated forward pass at the last
    tensor that is needed, so a segment that ends in a product does not repeat it.

    Examples
    --------
    >>> [checkpoint_plan(64, k).peak_bytes for k in (1, 2, 4, 8, 16, 32, 64)]
    [64, 33, 19, 15, 19, 33, 64]
    """
    m = layer_bytes if boundary_bytes is None else boundary_bytes
    if not 1 <= k <= n:
        raise InputError(f"a segment must have between 1 and n = {n} layers, but k is {k}. Pass 1 <= k <= n.")
    if not 0 < m <= layer_bytes:
        raise InputError(
            f"what a layer saves includes its input, so 0 < boundary_bytes <= layer_bytes must hold, but they are "
            f"{m} and {layer_bytes}."
        )
    segments = ceil(n / k)
    last = n - (segments - 1) * k
    peaks = [m * segments + layer_bytes * last - m]
    if segments > 1:  # a last segment that is short may not be the worst
        peaks.append(m * (segments - 1) + layer_bytes * k - m)
    return CheckpointPlan(m * segments, max(peaks), n)


def best_checkpoint_interval(n: int, *, layer_bytes: int = 1, boundary_bytes: int | None = None) -> int:
    r"""Find the checkpoint interval k with the lowest peak, and among equals the nearest to the square root.

    Without rounding, :math:`m n / k + a k` is least at :math:`k = \sqrt{n m / a}`, and its value there grows with the
    square root of n: :math:`2 \sqrt{n m a}`.

    Parameters
    ----------
    n : int
        Layers.
    layer_bytes, boundary_bytes : int
        As in :func:`checkpoint_plan`.

    Examples
    --------
    >>> best_checkpoint_interval(64), best_checkpoint_interval(64, layer_bytes=16, boundary_bytes=1)
    (8, 2)
    """
    m = layer_bytes if boundary_bytes is None else boundary_bytes
    ideal = sqrt(n * m / layer_bytes)
    near = range(1, min(n, 2 * ceil(ideal) + 1) + 1)  # at twice the ideal the peak is past its least and only grows
    return min(
        near,
        key=lambda k: (checkpoint_plan(n, k, layer_bytes=layer_bytes, boundary_bytes=m).peak_bytes, abs(k - ideal)),
    )
