"""Print tensors as torch prints them."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib.autograd.variable import Tensor
from course_lib.types import Array

__all__ = ["tensor_repr"]

_PRECISION, _LINE_WIDTH, _THRESHOLD, _EDGE, _INDENT = 4, 80, 1000, 3, len("tensor(")


def _choose_format(x: Array) -> tuple[Callable[[Any], str], int]:
    """Choose one format for all elements: whole numbers, fixed point, or powers of ten where sizes differ widely.

    Also return the width of the elements. As in torch, zeros, inf and nan do not count, and may be wider.
    """
    if x.dtype.kind != "f":
        return str, max(len(str(v)) for v in x.flat)
    x = x[np.isfinite(x) & (x != 0)]
    sizes = np.abs(x.astype(np.float64))
    whole = bool(np.all(sizes == np.ceil(sizes)))
    low, high = sizes.min(initial=np.inf), sizes.max(initial=0)  # there may be none
    widely = high / low > 1000 or high > 1e8 or (not whole and low < 1e-4)
    spec = f".{_PRECISION}e" if widely else ".0f" if whole else f".{_PRECISION}f"

    def show(v: float) -> str:
        return f"{v:{spec}}" + "." * (spec == ".0f" and math.isfinite(v))

    return show, max(map(len, map(show, x)), default=1)


def _format_elements(x: Array, show: Callable[[Any], str], width: int, indent: int, shorten: bool) -> str:
    """Nest the elements in brackets, leaving out the middle of large tensors."""
    if x.ndim == 0:
        return show(x.item()).rjust(width)
    cut = shorten and len(x) > 2 * _EDGE
    rows: list[Any] = [*x[:_EDGE], ..., *x[-_EDGE:]] if cut else list(x)
    dots = "..." if x.ndim > 1 else " ..."
    parts = [dots if row is ... else _format_elements(row, show, width, indent + 1, shorten) for row in rows]
    per_line = 1 if x.ndim > 1 else max(1, (_LINE_WIDTH - indent) // (width + 2))
    lines = [", ".join(parts[i : i + per_line]) for i in range(0, len(parts), per_line)]
    return "[" + ("," + "\n" * int(max(1, x.ndim - 1)) + " " * (indent + 1)).join(lines) + "]"


def tensor_repr(tensor: Tensor) -> str:
    """Format a tensor: its elements, and after them what is not the default."""
    x = tensor.value
    suffixes = [f"size={x.shape}"] if not x.size and x.ndim != 1 else []
    if x.dtype not in ((np.float32, np.int64, np.bool_) if x.size else (np.float32,)):
        suffixes.append(f"dtype=torch.{x.dtype}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn={tensor.grad_fn!r}")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    shorten = x.size > _THRESHOLD
    printed = np.ix_(*(sorted({*range(n)[:_EDGE], *range(n)[-_EDGE:]}) for n in x.shape)) if shorten else ...
    text = "tensor(" + (_format_elements(x, *_choose_format(x[printed]), _INDENT, shorten) if x.size else "[]")
    column = len(text) - text.rfind("\n") + 1  # the 1 is torch's, and moves its line breaks
    for suffix in suffixes:
        fits = column + 2 + len(suffix) <= _LINE_WIDTH
        text += (", " if fits else ",\n" + " " * _INDENT) + suffix
        column = (column + 2 if fits else _INDENT) + len(suffix)
    return text + ")"
