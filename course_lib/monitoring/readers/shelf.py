"""Bring numbers from the device to the host, step after step."""

from typing import Any

import numpy as np

from course_lib.monitoring.parameters import Array

__all__ = ["Shelf"]

BLOCK = 1 << 19  # bytes that are asked for at once: that takes longer than to copy so little


class Shelf:
    """Copies on the host of a tensor that is written anew at each step.

    Parameters
    ----------
    tensor : torch.Tensor, shape (n,)
        On whatever device; it stays where it is in memory.
    """

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.source = tensor.numpy() if tensor.device.type == "cpu" else None
        self.free: list[Array] = []

    def copy(self) -> Array:
        """Return what it holds now: the one transfer."""
        if self.source is None:
            host: Array = self.tensor.cpu().numpy()
            return host
        if not self.free:  # filled, so that the system hands out all its pages now: one by one they take twice as long
            shape = max(1, BLOCK // self.source.nbytes), len(self.source)
            self.free = list(np.full(shape, 0, self.source.dtype))
        host = self.free.pop()
        host[:] = self.source
        return host
