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
        self.tensor, self.taken = tensor, 0
        self.source = tensor.numpy() if tensor.device.type == "cpu" else None
        self.block: Array = np.empty((0, 0))

    def copy(self) -> Array:
        """Return what it holds now: the one transfer."""
        if self.source is None:
            host: Array = self.tensor.cpu().numpy()
            return host
        if self.taken == len(self.block):
            copies = max(1, BLOCK // self.source.nbytes)
            self.block, self.taken = np.empty((copies, len(self.source)), self.source.dtype), 0
        host = self.block[self.taken]
        self.taken += 1
        host[:] = self.source
        return host
