"""Loops over tensors of single precision in the machine's memory, one pass each, compiled when they are first needed.

Kernels of torch would read everything once for each measure, and first copy it side by side, to be called only once for
all tensors. Sums are in double precision, in which squares of single precision neither overflow nor vanish.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Loops", "loops"]

SIGNLESS, INFINITE = np.int32(0x7FFFFFFF), np.int32(0x7F800000)  # the bits of a number but its sign; of infinity
REORDERED = {"reassoc", "contract"}  # sums may be taken in any order, many numbers at a time; NaN stays NaN
BLOCK = 1024  # elements that are summed on their own: of millions one after another, rounding would add up


class Loops(NamedTuple):
    """Functions that take addresses, or arrays of ctypes, and after them numbers; other threads run while they do.

    The first two hold the tensors' addresses and their sizes, both int64; ``count`` is the number of tensors.

    Attributes
    ----------
    measure : (tensors, sizes, out, starts, seen, count, step)
        Write their sums, norms and largest absolute values to ``out``, float64, shape (3, count), and return how many
        of them hold something infinite or NaN. If ``step`` is not 0, write it to ``seen``, int32, for each element that
        is not 0, from where ``starts``, int64, says that the tensor begins there; one whose start is negative is left
        out.
    compare : (tensors, sizes, kept, out, count)
        Write the norms of their differences from ``kept``, float32, where they lie one after the other, of what is
        kept there, and of themselves to ``out``, float64, shape (3, count); and keep them.
    """

    measure: Callable[..., int]
    compare: Callable[..., None]


@cache
def loops() -> Loops | None:
    """Compile the loops, which takes a second, or return None where Numba cannot be imported, or is not to compile."""
    try:
        numba: Any = import_module("numba")
    except (ImportError, OSError):  # not installed, NumPy is newer than it knows, or its compiler cannot be loaded
        return None
    if numba.config.DISABLE_JIT:  # NUMBA_DISABLE_JIT=1, which debuggers and coverage of other code ask for
        return None
    t = numba.types
    pointers, lengths, numbers = t.CPointer(t.CPointer(t.float32)), t.CPointer(t.int64), t.CPointer(t.float64)
    floats, steps = t.CPointer(t.float32), t.CPointer(t.int32)
    measure_types = t.int64(pointers, lengths, numbers, lengths, steps, t.int64, t.int64)
    compare_types = t.void(pointers, lengths, floats, numbers, t.int64)
    return Loops(
        compiled(numba, measuring(numba.carray), measure_types),
        compiled(numba, comparing(numba.carray), compare_types),
    )


def compiled(numba: Any, loop: Callable[..., Any], types: Any) -> Callable[..., Any]:
    """Compile a loop for arguments of these types, those of C."""
    made = numba.cfunc(types, fastmath=REORDERED)(loop)
    function: Any = made.ctypes
    function.made = made  # else it would hold the address of the code alone, and not the code
    pointer = numba.types.CPointer
    function.argtypes = [ctypes.c_void_p if isinstance(a, pointer) else ctypes.c_int64 for a in types.args]
    return function  # type: ignore[no-any-return]  # ctypes makes it, from the types above


def measuring(carray: Any) -> Callable[..., int]:
    """Write the loop :attr:`Loops.measure` for the compiler, whose ``carray`` sees an array at an address."""

    def measure(tensors: Any, sizes: Any, out: Any, starts: Any, seen: Any, count: int, step: int) -> int:
        nonfinite = 0
        for k in range(count):
            x = carray(tensors[k], sizes[k])
            total, squares, largest = 0.0, 0.0, np.int32(0)
            for start in range(0, len(x), BLOCK):
                block = x[start : start + BLOCK]  # its indices begin at 0: others are checked, six times slower
                bits, part, part_squares = block.view(np.int32), 0.0, 0.0
                for i in range(len(block)):
                    number = np.float64(block[i])
                    part += number
                    part_squares += number * number
                    largest = max(largest, bits[i] & SIGNLESS)  # ordered as absolute values are, and NaN last
                total += part
                squares += part_squares
            out[k], out[count + k], out[2 * count + k] = total, np.sqrt(squares), np.int32(largest).view(np.float32)
            if largest >= INFINITE:
                nonfinite += 1
            if step and starts[k] >= 0:
                for i in range(len(x)):
                    if x[i] != 0:
                        seen[starts[k] + i] = step
        return nonfinite

    return measure


def comparing(carray: Any) -> Callable[..., None]:
    """Write the loop :attr:`Loops.compare` for the compiler."""

    def compare(tensors: Any, sizes: Any, kept: Any, out: Any, count: int) -> None:
        start = 0
        for k in range(count):
            x, before = carray(tensors[k], sizes[k]), carray(kept, start + sizes[k])[start:]
            moved, was, squares = 0.0, 0.0, 0.0
            for i in range(len(x)):
                old, new = np.float64(before[i]), np.float64(x[i])
                moved += (new - old) * (new - old)
                was += old * old
                squares += new * new
                before[i] = x[i]
            out[k], out[count + k], out[2 * count + k] = np.sqrt(moved), np.sqrt(was), np.sqrt(squares)
            start += sizes[k]

    return compare
