"""Print tensors as torch prints them."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib.autograd.variable import Tensor

__all__ = ["tensor_repr"]

PRECISION, LINE_WIDTH, THRESHOLD, EDGE, INDENT = 4, 80, 1000, 3, len("tensor(")


def formatter(x: Any) -> Callable[[Any], str]:
    """Choose one format for all elements: whole numbers, fixed point, or powers of ten where sizes differ widely."""
    if x.dtype.kind != "f":
        width = max((len(str(v)) for v in x.flat), default=1)
        return lambda v: str(v).rjust(width)
    finite = np.abs(x[np.isfinite(x) & (x != 0)].astype(np.float64))
    if not finite.size:
        return lambda v: f"{v:.0f}" + "." * math.isfinite(v)
    whole = bool(np.all(finite == np.ceil(finite)))
    low, high = finite.min(), finite.max()
    widely = high / low > 1000 or high > 1e8 or (not whole and low < 1e-4)
    spec = f".{PRECISION}e" if widely else ".0f" if whole else f".{PRECISION}f"

    def show(v: Any) -> str:
        return f"{v:{spec}}" + "." * (spec == ".0f" and math.isfinite(v))

    width = max(len(show(v)) for v in x[np.isfinite(x) & (x != 0)].flat)
    return lambda v: show(v).rjust(width)


def body(x: Any, show: Callable[[Any], str], indent: int, shorten: bool) -> str:
    """Nest the elements in brackets, leaving out the middle of large tensors."""
    if x.ndim == 0:
        return show(x[()].item())
    cut = shorten and len(x) > 2 * EDGE
    rows: list[Any] = [*x[:EDGE], ..., *x[-EDGE:]] if cut else list(x)
    if x.ndim > 1:
        parts = ["..." if row is ... else body(row, show, indent + 1, shorten) for row in rows]
        return "[" + ("," + "\n" * (int(x.ndim) - 1) + " " * (indent + 1)).join(parts) + "]"
    words = [" ..." if row is ... else show(row.item()) for row in rows]
    per_line = max(1, (LINE_WIDTH - indent) // (len(show(x[0].item())) + 2)) if words else 1
    lines = [", ".join(words[i : i + per_line]) for i in range(0, len(words), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def tensor_repr(tensor: Tensor) -> str:
    """Show the elements, and after them what is not the default."""
    x = tensor.value
    suffixes = [f"size={x.shape}"] if not x.size and x.ndim != 1 else []
    if x.dtype not in ((np.float32, np.int64, np.bool_) if x.size else (np.float32,)):
        suffixes.append(f"dtype=torch.{x.dtype}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn={tensor.grad_fn!r}")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    shorten = x.size > THRESHOLD
    text = body(x, formatter(shown(x) if shorten else x), INDENT, shorten) if x.size else "[]"
    text = "tensor(" + text
    column = len(text) - text.rfind("\n") + 1  # the 1 is torch's, and moves its line breaks
    for suffix in suffixes:
        if column + len(suffix) + 2 > LINE_WIDTH:
            text += ",\n" + " " * INDENT + suffix
            column = INDENT + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text + ")"


def shown(x: Any) -> Any:
    """Keep the elements that are printed of a large tensor."""
    for dim, n in enumerate(x.shape):
        if n > 2 * EDGE:
            x = np.take(x, [*range(EDGE), *range(n - EDGE, n)], axis=dim)
    return x
