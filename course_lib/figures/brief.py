"""Format a number or an array in a few characters."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "array_of", "brief", "exact"]

Array = NDArray[np.float64]
DIGITS = 4
FEW = 8  # elements; more are not read, whatever room there is


def array_of(value: Any) -> Array:
    """Copy a tensor of any library, an array or a number."""
    plain = value.detach() if hasattr(value, "detach") else value
    plain = plain.tolist() if hasattr(plain, "tolist") else plain  # any dtype, on any device
    return np.array(plain, dtype=np.float64).reshape(getattr(value, "shape", ()))


def exact(value: Array, *, room: int) -> str | None:
    """Return all the elements to four digits, such as ``[2, 0.3333]``, or None if they are too many or too long."""
    if value.size > FEW:
        return None
    said = _nested(value)
    return said if len(said) <= room else None


def brief(value: Array, *, room: int = 44) -> str:
    """Return the elements if they fit, else the shape and the Euclidean norm, else the norm alone.

    Examples
    --------
    >>> import numpy as np
    >>> brief(np.array([2.0, 1 / 3])), brief(np.ones((3, 4))), brief(np.ones((3, 4)), room=10)
    ('[2, 0.3333]', '3x4 array, norm 3.464', 'norm 3.464')
    """
    said = exact(value, room=room)
    if said is not None:
        return said
    norm = f"norm {_number(float(np.linalg.norm(value)))}"
    shape = "x".join(map(str, value.shape)) if value.ndim > 1 else f"{value.size}-element"
    full = f"{shape} array, {norm}"
    return full if len(full) <= room else norm


def _nested(value: Array) -> str:
    if value.ndim == 0:
        return _number(value.item())
    return f"[{', '.join(map(_nested, value))}]"


def _number(x: float) -> str:
    return f"{x + 0.0:.{DIGITS}g}"  # adding 0 turns -0 into 0
