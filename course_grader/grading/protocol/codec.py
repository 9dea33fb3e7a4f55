"""Codec for arguments and results: plain data as JSON, arrays as base64 .npy.

The learner's side may send anything at all, so :func:`decode` trusts nothing: no pickles, no object arrays, no header
that claims more bytes than came, and a limit on depth and size.
"""

import base64
import binascii
import functools
import io
import math
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_BYTES", "MAX_DEPTH", "CodecError", "Json", "decode", "encode"]

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
TAG = "$"
KINDS = "biufcU"
MAX_DEPTH = 20
MAX_BYTES = 32 << 20
MAX_ITEMS = 500_000
MAX_PAIRS, MAX_ALIKE = 10_000, 100  # of a dict: each key is compared with all before it that have the same hash


class CodecError(ValueError):
    """A value that is not plain data, or a message that is not what :func:`encode` makes."""


def encode(value: object, *, depth: int = 0) -> Json:
    """Encode plain data as JSON.

    Parameters
    ----------
    value : None, bool, int, float, complex, str, list, tuple, dict, or anything NumPy turns into an array
        Tensors are detached and copied to the CPU first.

    Raises
    ------
    CodecError
        If the value, or something in it, is not plain data.

    Examples
    --------
    >>> encode({"loss": 0.5, "shape": (2, 3)})
    {'$': 'dict', 'items': [['loss', 0.5], ['shape', {'$': 'tuple', 'items': [2, 3]}]]}
    >>> decode(encode(np.ones((2, 3), dtype=np.float32))).dtype
    dtype('float32')
    """
    if depth > MAX_DEPTH:
        raise CodecError(f"data nested more than {MAX_DEPTH} deep")
    if value is None or type(value) in (bool, int, str):
        return value  # type: ignore[return-value] # one of these
    if isinstance(value, str) and not isinstance(value, np.generic):
        return str.__str__(value)
    if type(value) is float:
        return value if math.isfinite(value) else {TAG: "float", "value": repr(value)}
    if isinstance(value, (list, tuple, dict)) and len(value) > MAX_ITEMS:
        raise CodecError(f"a {type(value).__name__} of more than {MAX_ITEMS:,} items; an array may have more")
    if isinstance(value, list):
        return [encode(item, depth=depth + 1) for item in value]
    if isinstance(value, tuple):
        return {TAG: "tuple", "items": [encode(item, depth=depth + 1) for item in value]}
    if isinstance(value, dict):
        if len(value) > MAX_PAIRS:
            raise CodecError(f"a dict of more than {MAX_PAIRS:,} items")
        pairs: list[Json] = [[encode(k, depth=depth + 1), encode(v, depth=depth + 1)] for k, v in value.items()]
        return {TAG: "dict", "items": pairs}
    return _encode_array(value)


def _encode_array(value: object) -> dict[str, Json]:
    """Encode an array, a NumPy scalar, or a tensor of another library."""
    kind = type(value).__name__
    try:
        array = np.asarray(_copy_to_cpu(value))
    except Exception as error:
        raise CodecError(f"a {kind}, which cannot be turned into an array") from error
    if array.dtype.kind not in KINDS:
        raise CodecError(f"a {kind}, which is not plain data (numbers, text, lists, dicts, arrays)")
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    npy = _make_npy_header(array.dtype.str, fortran, array.shape) + (array.T if fortran else array).tobytes()
    name = "scalar" if isinstance(value, np.generic) else "array"
    return {TAG: name, "npy": base64.b64encode(npy).decode("ascii")}


@functools.lru_cache(maxsize=1024)
def _make_npy_header(descr: str, fortran: bool, shape: tuple[int, ...]) -> bytes:
    """Return the header of an .npy; writing it takes longer than all the rest of a small array."""
    buffer = io.BytesIO()
    header = {"descr": descr, "fortran_order": fortran, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue()


def _copy_to_cpu(value: Any) -> object:
    """Copy a tensor to the CPU, detached; return anything else as it is. bfloat16 has no NumPy dtype: it is widened."""
    if isinstance(value, (np.ndarray, np.generic, float, int)):
        return value
    if hasattr(value, "detach"):
        value = value.detach()
    if hasattr(value, "cpu"):
        value = value.cpu()
    if "bfloat16" in str(getattr(value, "dtype", "")):
        value = value.float() if hasattr(value, "float") else value.astype(np.float32)
    return value


def decode(data: object, *, depth: int = 0) -> Any:
    """Decode what the other side has sent, or refuse it.

    Raises
    ------
    CodecError
        If the data is not of the form :func:`encode` makes.
    """
    if depth > 2 * MAX_DEPTH:
        raise CodecError(f"data nested more than {MAX_DEPTH} deep")
    if data is None or isinstance(data, (bool, int, float, str)):
        return data
    if isinstance(data, list):
        return [decode(item, depth=depth + 1) for item in data]
    if not isinstance(data, dict):
        raise CodecError(f"a message with a {type(data).__name__} in it")
    match data.get(TAG):
        case "float":
            return _decode_float(data.get("value"))
        case "tuple":
            return tuple(decode(item, depth=depth + 1) for item in _check_items(data))
        case "dict":
            return _decode_dict(_check_items(data), depth=depth + 1)
        case "array":
            return _decode_array(data.get("npy"))
        case "scalar":
            return _decode_array(data.get("npy"))[()]
    raise CodecError("a message of unknown form")


def _check_items(data: dict[str, Any]) -> list[Any]:
    if not isinstance(items := data.get("items"), list):
        raise CodecError("a message of unknown form")
    return items


def _decode_float(text: object) -> float:
    if not isinstance(text, str) or text not in ("nan", "inf", "-inf"):
        raise CodecError("a message of unknown form")
    return float(text)


def _decode_dict(items: list[Any], *, depth: int) -> dict[Any, Any]:
    result, hashes = {}, Counter[int]()
    if len(items) > MAX_PAIRS:
        raise CodecError(f"a dict of more than {MAX_PAIRS:,} items")
    for pair in items:
        if not isinstance(pair, list) or len(pair) != 2:
            raise CodecError("a message of unknown form")
        key, value = (decode(part, depth=depth + 1) for part in pair)
        if not isinstance(key, (str, int, float, bool, tuple, np.generic, type(None))):
            raise CodecError("a dict whose keys are not text or numbers")
        try:
            hashes[hash(key)] += 1
        except TypeError as error:
            raise CodecError("a dict whose keys are not text or numbers") from error
        if hashes[hash(key)] > MAX_ALIKE:
            raise CodecError("a dict with too many keys of the same hash")
        result[key] = value
    return result


def _decode_array(text: object) -> NDArray[Any]:
    """Decode one .npy, after checking that its header claims exactly the bytes that came."""
    if not isinstance(text, str) or len(text) > 4 * MAX_BYTES // 3 + 200:
        raise CodecError(f"an array of more than {MAX_BYTES:,} bytes")
    try:
        raw = base64.b64decode(text, validate=True)
        header = raw[: 10 + int.from_bytes(raw[8:10], "little")]
        shape, fortran, dtype = _parse_npy_header(header)
        if math.prod(shape) * dtype.itemsize != len(raw) - len(header):
            raise CodecError("an array whose size is not what it says")
        if math.prod(filter(None, shape)) * dtype.itemsize > MAX_BYTES:  # without an element it may say any size
            raise CodecError(f"an array of more than {MAX_BYTES:,} bytes")
        array = np.frombuffer(raw, dtype=dtype, offset=len(header)).copy()
        return array.reshape(shape, order="F" if fortran else "C")
    except CodecError:
        raise
    except (ValueError, TypeError, OverflowError, SyntaxError, binascii.Error, RecursionError, MemoryError) as error:
        raise CodecError("an array of unknown form") from error


@functools.lru_cache(maxsize=1024)
def _parse_npy_header(header: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Parse the header of an .npy; few of them differ, and parsing one takes longer than all the rest."""
    buffer = io.BytesIO(header)
    if np.lib.format.read_magic(buffer) != (1, 0):
        raise CodecError("an array of unknown form")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(buffer, max_header_size=1000)
    if dtype.kind not in KINDS or dtype.hasobject or any(n < 0 for n in shape):
        raise CodecError("an array that is not plain data")
    return shape, fortran, dtype
