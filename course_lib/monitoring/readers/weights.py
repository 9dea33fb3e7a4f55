"""Measure how far torch parameters move from one step to another."""

import math
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from course_lib.monitoring.parameters import Array
from course_lib.monitoring.readers.buffer import Buffer
from course_lib.monitoring.readers.rows import Rows

__all__ = ["Weights"]


class Weights:
    """Parameters as they are, and copies of them as they were.

    Parameters
    ----------
    torch : module
        The library.
    rows : Rows
        How the parameters lie in rows.
    parameters : sequence of torch.Tensor
        In the order of the rows.
    dtype : torch.dtype
        What small ones are kept in. They are not as small as gradients may be, and need no wide sums.
    plain : callable, optional
        Turns a parameter into real numbers, if some are complex.
    """

    def __init__(
        self,
        torch: ModuleType,
        rows: Rows,
        parameters: Sequence[Any],
        *,
        dtype: Any,
        plain: Callable[[Any], Any] | None = None,
    ) -> None:
        self.torch, self.rows, self.parameters, self.dtype, self.plain = torch, rows, parameters, dtype, plain
        self.known, self.buffers, self.large_before = False, [], []  # type: bool, list[Buffer], list[Any]

    def compare(self, table: Any, outs: Sequence[Any]) -> None:
        """Write how far they moved since they were kept, what they were, and what they are; keep them.

        Parameters
        ----------
        table : torch.Tensor, shape (6, r)
            Its last three rows get the norms.
        outs : sequence
            The same for each matrix.
        """
        now = self.loaded()
        if self.known:
            before = [self.buffers[0].rows] * (self.rows.small > 0) + self.large_before
            for x, y, out in zip(now, before, outs, strict=True):
                self.norms(self.torch.sub(x, y, out=y), out=out[3])  # y is overwritten at the end
            table[4].copy_(table[5])
        else:
            table[3:5] = math.nan
        self._keep(now, outs)

    def keep(self, outs: Sequence[Any]) -> None:
        """Keep the parameters as they are."""
        self._keep(self.loaded(), outs)

    def loaded(self) -> Sequence[Any]:
        """Return the parameters as matrices, in the second of two buffers; the first holds them as they were."""
        self.buffers = self.buffers or [Buffer(self.rows, self.parameters, dtype=self.dtype) for _ in "ab"]
        weights = [self.plain(p) for p in self.parameters] if self.plain else self.parameters
        self.buffers[1].load(weights)
        return self.rows.matrices(self.buffers[1].rows, weights)

    def norms(self, x: Any, *, out: Any) -> None:
        """Write the norm of each row."""
        out.copy_(self.torch.linalg.vector_norm(x, dim=1, dtype=self.dtype))

    def with_care(self, numbers: Array) -> Array:
        """Return what :meth:`compare` wrote, with the norms of the parameters as they are taken in double precision.

        Where they overflowed, it is no longer known how far they moved.
        """
        now = [self.buffers[0].rows] * (self.rows.small > 0) + self.large_before
        wide = [x.cpu() if x.device.type == "mps" else x for x in now]  # which has no float64
        norms = [self.torch.linalg.vector_norm(x, dim=1, dtype=self.torch.float64) for x in wide]
        numbers = numbers.astype(np.float64)
        numbers[3:5, ~np.isfinite(numbers[5])] = math.nan
        numbers[5] = self.torch.cat(norms).cpu().numpy()
        return numbers

    def _keep(self, now: Sequence[Any], outs: Sequence[Any]) -> None:
        """Make what was just loaded the values before; large ones are copied."""
        for x, out in zip(now, outs, strict=True):
            self.norms(x, out=out[5])
        large = now[self.rows.small > 0 :]
        if self.large_before:
            self.torch._foreach_copy_(self.large_before, list(large))
        else:
            self.large_before = [x.clone() for x in large]
        self.buffers.reverse()
        self.known = True
