"""Plain data crosses as it is; everything else is refused with a reason."""

import base64
import enum
import io
import json
from itertools import product

import numpy as np
import pytest
import torch

from course_grader.grading.protocol import codec
from course_grader.grading.protocol.codec import CodecError, decode, encode


def crossed(value):
    """Send a value through JSON text, as the kernel's messages do."""
    return decode(json.loads(json.dumps(encode(value), allow_nan=False)))


def npy(array, **kwargs):
    """Return one array message."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **kwargs)
    return {"$": "array", "npy": base64.b64encode(buffer.getvalue()).decode()}


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        10**40,
        -0.5,
        float("inf"),
        "text",
        [1, [2]],
        (1, (2,)),
        {"a": 1, 2: (3,)},
        {(0, 1): "pair"},
        {"$": 1},
    ],
    ids=repr,
)
def test_plain_values_come_back_equal_and_of_the_same_type(value):
    """Numbers, text and containers cross unchanged, also those JSON has no word for."""
    assert crossed(value) == value
    assert type(crossed(value)) is type(value)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "uint8", "bool", "complex64", "U5"])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)], ids=str)
def test_arrays_keep_dtype_and_shape(dtype, shape):
    """An array crosses with its dtype, shape and values, in either memory order."""
    array = np.arange(6).astype(dtype)[: int(np.prod(shape))].reshape(shape)
    for sent in (array, array.copy(order="F")):
        came = crossed(sent)
        assert (came.dtype, came.shape) == (array.dtype, array.shape)
        assert np.array_equal(came, array)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "complex64", "<U3", ">f8", "longdouble"])
def test_arrays_are_sent_as_numpy_writes_them(dtype):
    """Byte for byte, whatever the order in memory."""
    plain = np.arange(24).reshape(2, 3, 4).astype(dtype)
    for array in (plain, plain.T, plain[:, ::2], plain[:1, :0], plain[0, 0, 0, None], np.asfortranarray(plain)):
        assert encode(array) == npy(array), array.flags


def test_nan_and_scalars_keep_their_type():
    """NaN crosses, and a NumPy scalar does not turn into an array."""
    assert np.isnan(crossed(float("nan")))
    assert isinstance(crossed(np.float32(1.5)), np.float32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_a_tensor_arrives_as_an_array(dtype):
    """A torch tensor is detached and copied; bfloat16, which NumPy lacks, is widened."""
    tensor = torch.ones(2, 3, dtype=dtype)
    came = crossed(tensor.requires_grad_() if dtype.is_floating_point else tensor)
    assert isinstance(came, np.ndarray)
    assert np.array_equal(came, np.ones((2, 3)))


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (object(), "a object, which is not plain data"),
        (lambda x: x, "a function, which is not plain data"),
        ({1, 2}, "a set, which is not plain data"),
        (np.array([None]), "a ndarray, which is not plain data"),
        (np.zeros(1, dtype=[("a", "i4")]), "a ndarray, which is not plain data"),
    ],
    ids=["object", "function", "set", "object array", "structured array"],
)
def test_what_is_not_plain_data_is_named(value, why):
    """Encoding says what kind of thing cannot cross."""
    with pytest.raises(CodecError, match=why):
        encode(value)


def test_a_list_that_holds_itself_is_refused():
    """A list without an end is refused, not followed."""
    endless = []
    endless.append(endless)
    with pytest.raises(CodecError, match="nested more than 20 deep"):
        encode(endless)


def test_a_list_too_long_is_refused():
    """What would be large where it is unpacked is refused, in words, where it is packed."""
    with pytest.raises(CodecError, match="a list of more than 500,000 items; an array may have more"):
        encode([0.5] * 600_000)


def header(shape, dtype="<f8", body=b"\0" * 8):
    """Return an array message whose header claims what it likes."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    raw = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body
    return {"$": "array", "npy": base64.b64encode(raw).decode()}


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (npy(np.array([{}], dtype=object), allow_pickle=True), "not plain data"),
        (header("(1000000000000,)"), "size is not what it says"),
        (header("(2,)"), "size is not what it says"),
        (header("(0, 1000000000000)", body=b""), "more than"),
        (header("(0,)", dtype="<U100000000", body=b""), "more than"),
        (header("()", body=b"\0" * 9), "size is not what it says"),
        (header("(-1, -1)"), "not plain data"),
        (header("(1,)", dtype="|O"), "not plain data"),
        (header("(1,)", dtype="|V8"), "not plain data"),
        (header("(1,)", dtype="M8[s]"), "not plain data"),
        (header("(" * 900 + ")" * 900), "unknown form"),
        (header("'x'"), "unknown form"),
        ({"$": "array", "npy": "!!!"}, "unknown form"),
        ({"$": "array", "npy": 7}, "more than"),
        ({"$": "array"}, "more than"),
        ({"$": "scalar", "npy": ""}, "unknown form"),
        ({"$": "float", "value": "1e999"}, "unknown form"),
        ({"$": "tuple", "items": 3}, "unknown form"),
        ({"$": "dict", "items": [[1]]}, "unknown form"),
        ({"$": "dict", "items": [[[1], 2]]}, "keys"),
        ({"$": "dict", "items": [[{"$": "tuple", "items": [[]]}, 2]]}, "keys"),
        ({"$": "pickle", "data": "gASVAA=="}, "unknown form"),
        ({}, "unknown form"),
    ],
)
def test_a_forged_message_is_refused(message, why):
    """No pickle, no array that claims more than came, nothing of unknown form gets in."""
    with pytest.raises(CodecError, match=why):
        decode(message)


def test_depth_and_size_are_limited():
    """A message nested too deep or too large is refused before it is built."""
    deep: list = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(CodecError, match="nested"):
        decode(deep)
    with pytest.raises(CodecError, match="more than"):
        decode({"$": "array", "npy": "A" * (2 * codec.MAX_BYTES)})


class Name(str):
    """Text of the learner's own class, which says something else of itself."""

    def __str__(self):
        return "another"


def test_text_of_the_learners_own_class_is_text():
    """An enum's names are right answers too; what is in the text counts, and not what the class says."""
    colour = enum.StrEnum("Colour", ["RED"])
    assert crossed([Name("right"), colour.RED]) == ["right", "red"]
    assert crossed({Name("key"): 1}) == {"key": 1}


def test_dicts_whose_keys_could_all_be_alike_are_refused():
    """Each would be compared with all before it: multiples of 2**61 - 1, and tuples, since -1 has the hash of -2."""
    numbers = [k * (2**61 - 1) for k in range(1, 200)]
    pairs = [encode(tuple(each)) for each in product((-1, -2), repeat=8)]
    parts = [encode(np.complex128(complex(-1000003 * k, k))) for k in range(200)]
    for keys in (numbers, pairs, parts):
        with pytest.raises(CodecError, match="a dict with too many keys of the same hash"):
            decode({"$": "dict", "items": [[key, 0] for key in keys]})
    many = dict.fromkeys(range(codec.MAX_PAIRS + 1), 0)
    with pytest.raises(CodecError, match="a dict of more than 10,000 items"):
        encode(many)
    with pytest.raises(CodecError, match="a dict of more than 10,000 items"):
        decode({"$": "dict", "items": [[k, 0] for k in many]})


@pytest.mark.parametrize("value", [-float("inf"), np.str_("text"), np.bool_(True), np.float64(0.5)], ids=repr)
def test_odd_numbers_and_numpys_own_keep_their_type(value):
    """Minus infinity has no word in JSON, and a text of NumPy's is no plain one."""
    came = crossed(value)
    assert (came, type(came)) == (value, type(value))


def test_dicts_up_to_the_limits_cross():
    """A hundred keys of one hash, ten thousand in all."""
    alike = {k * (2**61 - 1): k for k in range(codec.MAX_ALIKE)}
    many = {str(k): k for k in range(codec.MAX_PAIRS)}
    assert crossed(alike) == alike
    assert crossed(many) == many
