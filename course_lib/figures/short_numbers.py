"""Format a number or an array in a few characters."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "convert_to_array", "format_briefly", "format_elements"]

Array = NDArray[np.float64]
DIGITS = 4
FEW = 8  # elements; more are not read, whatever room there is


def convert_to_array(value: object) -> Array:
    """Convert a tensor of any library, an array or a number to a NumPy array in float64."""
    plain = value.detach() if hasattr(value, "detach") else value
    plain = plain.tolist() if hasattr(plain, "tolist") else plain  # any dtype, on any device
    return np.array(plain, dtype=np.float64).reshape(getattr(value, "shape", ()))


def format_elements(value: Array, *, room: int) -> str | None:
    """Return all the elements to four digits, such as ``[2, 0.3333]``, or None if they are too many or too long."""
    if value.size > FEW:
        return None
    said = _format_nested(value)
    return said if len(said) <= room else None


def format_briefly(value: Array, *, room: int = 44) -> str:
    """Return the elements if they fit, else the shape and the Euclidean norm, else the norm alone.

    Examples
    --------
    >>> import numpy as np
    >>> ones = np.ones((3, 4))
    >>> format_briefly(np.array([2.0, 1 / 3])), format_briefly(ones), format_briefly(ones, room=10)
    ('[2, 0.3333]', '3x4 array, norm 3.464', 'norm 3.464')
    """
    said = format_elements(value, room=room)
    if said is not None:
        return said
    norm = f"norm {_format_number(float(np.linalg.norm(value)))}"
    shape = "x".join(map(str, value.shape)) if value.ndim > 1 else f"{value.size}-element"
    full = f"{shape} array, {norm}"
    return full if len(full) <= room else norm


def _format_nested(value: Array) -> str:
    """Format elements in nested brackets."""
    if value.ndim == 0:
        return _format_number(value.item())
    return f"[{', '.join(map(_format_nested, value))}]"


def _format_number(x: float) -> str:
    """Format a number to four digits."""
    return f"{x + 0.0:.{DIGITS}g}"  # adding 0 turns -0 into 0
