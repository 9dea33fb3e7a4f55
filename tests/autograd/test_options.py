"""The engine's functions and methods take the options that torch's take, and do with them what torch does."""

import ast
from inspect import Parameter, signature
from pathlib import Path

import numpy as np
import pytest
import torch

import course_lib.autograd as ag
from course_lib.errors import AutogradError

NOT_OURS = {  # about storage, devices, tracing and random generators, and what torch itself has deprecated
    "_stacklevel", "device", "generator", "grad_variables", "implicit", "layout", "memory_format", "names",
    "non_blocking", "only_inputs", "out", "pin_memory", "reduce", "self", "size_average", "sparse_grad",
}  # fmt: skip
LEFT_OUT = {
    "inplace": "a function that writes is called by its own name, with an underscore, or not at all",
    "is_grads_batched": "the engine does not map over batches of cotangents",
    "vectorize": "nor here",
    "outer_jacobian_strategy": "the Hessian is differentiated in reverse mode",
    "strict": "what does not depend on an input has zeros",
    "cudnn_enable": "there is none",
    "mode": "another name of requires_grad",
}
CHECKS = "gradcheck and gradgradcheck compare first derivatives in reverse mode, and nothing else"
UNLIKE = {"gradcheck": CHECKS, "gradgradcheck": CHECKS, "jvp": "forward mode keeps no graph"}


def stubs(path, of=None):
    """Read the optional parameters of torch's functions, or of the methods of a class, from its type stubs."""
    body = ast.parse((Path(torch.__file__).parent / path).read_text(encoding="utf-8")).body
    if of:
        body = next(node for node in body if isinstance(node, ast.ClassDef) and node.name == of).body
    found = {}
    for f in body:
        if isinstance(f, ast.FunctionDef):
            args = f.args.posonlyargs + f.args.args
            optional = args[len(args) - len(f.args.defaults) :] + f.args.kwonlyargs
            found.setdefault(f.name, set()).update(arg.arg for arg in optional)
    return found


def written(f):
    """Read the optional parameters of a function that is written in Python."""
    try:
        parameters = signature(f).parameters.values()
    except (TypeError, ValueError):
        return set()
    return {p.name for p in parameters if p.default is not Parameter.empty}


FUNCTIONS, METHODS = stubs("_C/_VariableFunctions.pyi"), stubs("_C/__init__.pyi", "TensorBase")
PLACES = (torch, torch.nn.functional, torch.autograd, torch.autograd.functional, torch.linalg)


def of_function(name):
    """Collect torch's options of a function, wherever it is."""
    return FUNCTIONS.get(name, set()).union(*(written(getattr(place, name, None)) for place in PLACES))


def of_method(name):
    """Collect torch's options of a method."""
    return METHODS.get(name, set()) | written(getattr(torch.Tensor, name, None))


CALLABLE = [name for name in ag.__all__ if callable(getattr(ag, name)) and not isinstance(getattr(ag, name), type)]
PUBLIC = [name for name in dir(ag.Tensor) if not name.startswith("_") and callable(getattr(ag.Tensor, name))]


def test_every_option_of_torchs_is_there_or_left_out_for_a_reason():
    """Of each function and method that both have."""
    pairs = [(name, getattr(ag, name), of_function(name)) for name in CALLABLE if name not in UNLIKE]
    pairs += [("." + name, getattr(ag.Tensor, name), of_method(name)) for name in PUBLIC]
    missing = {name: theirs - NOT_OURS - set(LEFT_OUT) - set(signature(f).parameters) for name, f, theirs in pairs}
    assert {name: options for name, options in missing.items() if options} == {}
    assert {"alpha", "dtype", "unbiased", "rounding_mode"} <= set().union(*(theirs for *_, theirs in pairs))


def described(result):
    """Return dtype, shape and elements."""
    return str(result.dtype).removeprefix("torch."), tuple(result.shape), result.tolist()


FLOATS, ROWS = [1.7, -2.5, 0.25], [[1.0, 2.5], [-3.0, 0.5]]


def same(f, *data):
    """Compare values and gradients."""
    found = []
    for lib in (ag, torch):
        xs = [lib.tensor(d, requires_grad=isinstance(np.ravel(d)[0], float)) for d in data]
        y = f(lib, *xs)
        if y.requires_grad:
            (y * y).sum().backward()
        found.append([described(y.detach()), *(x.grad is not None and described(x.grad) for x in xs)])
    for mine, theirs in zip(*found, strict=True):
        assert (mine is False) == (theirs is False)
        if mine:
            assert mine[:2] == theirs[:2]
            np.testing.assert_allclose(mine[2], theirs[2], rtol=1e-6)


@pytest.mark.parametrize("name", ["add", "sub"])
@pytest.mark.parametrize("alpha", [2, -0.5, 1, 0])
def test_what_is_added_may_have_a_factor(name, alpha):
    """Beside a tensor, a number, and a row that is broadcast; as a function and as a method."""
    same(lambda lib, x, y: getattr(lib, name)(x, y, alpha=alpha), ROWS, ROWS[0])
    same(lambda lib, x: getattr(x, name)(3.0, alpha=alpha), FLOATS)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *((name, dtype) for name in ("sum", "prod", "cumsum") for dtype in ("float64", "float32", "int32", "int64")),
        *((name, dtype) for name in ("mean", "softmax", "log_softmax") for dtype in ("float64", "float32")),
        ("sum", "bool"), ("prod", "bool"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("data", [ROWS, [[1, 2], [3, 0]], [[True, False], [True, True]]])
def test_a_reduction_can_be_made_in_another_dtype(name, dtype, data):
    """What comes out has it too, and the gradient has that of what went in; fractions that are cut off have none."""

    def reduced(lib, x):
        x = x if "float" in dtype else x.detach()  # torch has no gradient, and says so
        return getattr(lib, name)(x, 1, dtype=getattr(lib, dtype, np.dtype(dtype)))

    same(reduced, data)


@pytest.mark.parametrize("name", ["mean", "softmax", "log_softmax"])
def test_a_mean_of_integers_is_none(name):
    """Neither of those that are given nor of those that are asked for."""
    with pytest.raises(AutogradError, match="floating point"):
        getattr(ag, name)(ag.tensor(FLOATS), 0, dtype=ag.int64)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_norm_can_be_made_in_another_dtype(dtype):
    """Of floating point numbers."""
    norm = {ag: ag.vector_norm, torch: torch.linalg.vector_norm}
    same(lambda lib, x: norm[lib](x, 3, dtype=getattr(lib, dtype)), FLOATS)


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize(
    ("args", "options"),
    [
        ((), {"unbiased": False}), ((False,), {}), ((True,), {}), ((0, False), {}), ((1, True, True), {}),
        (((0, 1), False, True), {}), ((0,), {"correction": None}), ((), {"correction": 0.5}),
        ((), {"dim": 1, "unbiased": False, "keepdim": True}),
    ],
)  # fmt: skip
def test_a_variance_can_be_unbiased_or_not(name, args, options):
    """A boolean in the place of the dimension says so too, and no correction is the usual one."""
    same(lambda lib, x: getattr(x, name)(*args, **options), ROWS)


def test_unbiased_and_a_correction_may_contradict_each_other():
    """So one of them is enough."""
    with pytest.raises(AutogradError, match=r"unbiased=False came with correction=1\. Leave out unbiased"):
        ag.tensor(FLOATS).var(unbiased=False, correction=1)


@pytest.mark.parametrize("mode", ["floor", "trunc", None])
@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([5, -5, 7], [2, 2, -2]),
        (FLOATS, [0.5, 1.0, -0.5]),
        ([5.0, -5.0, 0.0], [0, 2, 0]),
        ([2**62 + 1, -7, 0], [3] * 3),
    ],
)
def test_a_quotient_can_be_rounded(x, y, mode):
    """Down or towards 0, where its gradient is 0; large integers keep their digits."""
    same(lambda lib, x, y: lib.div(x, y, rounding_mode=mode), x, y)
    if mode:
        found = [lib.tensor(x).div_(lib.tensor(y), rounding_mode=mode) for lib in (ag, torch)]
        np.testing.assert_array_equal(found[0].tolist(), found[1].tolist())


def test_integers_are_not_divided_by_0_and_not_rounded_in_unknown_ways():
    """A fraction would be infinite; an integer is nothing."""
    for mode in ("floor", "trunc"):
        with pytest.raises(AutogradError, match=r"div must be defined .* divided by 0"):
            ag.div(ag.tensor([1, 2]), 0, rounding_mode=mode)
    with pytest.raises(AutogradError, match=r'"floor" or "trunc", but it is \'up\''):
        ag.div(ag.tensor([1.0]), 2, rounding_mode="up")


def test_nan_may_be_close_to_nan():
    """If asked for."""
    for lib in (ag, torch):
        x = lib.tensor([1.0, float("nan")])
        assert [lib.allclose(x, x), lib.allclose(x, x, equal_nan=True), x.allclose(x, equal_nan=True)] == [0, 1, 1]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_a_squared_error_can_be_weighted(reduction):
    """The mean is divided by the sum of the weights, which have a gradient."""
    mse = {ag: ag.mse_loss, torch: torch.nn.functional.mse_loss}
    same(lambda lib, x, t, w: mse[lib](x, t, reduction=reduction, weight=w), ROWS, [[0.5, 1.0]] * 2, [[1.0, 2.0]] * 2)
    with pytest.raises(AutogradError, match=r"weight must have the shape of input, \(2, 2\), but it has \(2,\)"):
        ag.mse_loss(ag.tensor(ROWS), ag.tensor(ROWS), weight=ag.ones(2))


@pytest.mark.parametrize(
    ("args", "options"),
    [((5,), {}), ((1, 5), {}), ((1, 5, 2), {}), ((), {"end": 3}), ((2,), {"end": 5.0}), ((0, 1), {"step": 0.25}),
     ((), {"start": 3, "end": 0, "step": -1}), ((0,), {})],
)  # fmt: skip
def test_counting_takes_start_end_and_step_by_name(args, options):
    """One number alone is the end."""
    assert described(ag.arange(*args, **options)) == described(torch.arange(*args, **options))


def test_an_unused_input_can_have_a_gradient_of_zeros():
    """Of its shape and dtype, which can be differentiated if the others can."""
    for lib in (ag, torch):
        x, y = lib.ones(2, requires_grad=True), lib.ones(3, dtype=lib.float64, requires_grad=True)
        for create_graph in (False, True):
            dx, dy = lib.autograd.grad((x * x).sum(), [x, y], create_graph=create_graph, materialize_grads=True)
            assert (dx.tolist(), dy.tolist(), dy.dtype, dy.requires_grad) == (
                [2, 2],
                [0] * 3,
                lib.float64,
                create_graph,
            )


def test_the_array_of_a_tensor_with_a_gradient_can_be_forced_and_a_conversion_may_copy():
    """Both are torch's words for it."""
    for lib in (ag, torch):
        x = lib.ones(2, requires_grad=True)
        assert (x * 2).numpy(force=True).tolist() == [2, 2]
        y = lib.ones(2)
        assert y.to(lib.float32) is y
        assert y.to(lib.float32, copy=True) is not y


def test_what_becomes_an_integer_has_no_gradient():
    """The slope of rounding is 0, and not 1."""
    for lib in (ag, torch):
        x = lib.tensor([1.5, 2.5], requires_grad=True)
        assert not x.long().requires_grad
        assert not (x.long() * lib.ones(2)).requires_grad
        assert x.double().requires_grad
