"""Clipping torch parameters, in place, against float64 oracles and torch's own functions."""

import math
import sys
from collections import Counter
from fractions import Fraction

import jax  # noqa: F401 - what torch.compile must not trace into
import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch.overrides import TorchFunctionMode

from course_lib.clipping import clip_by_global_norm, clip_by_value
from course_lib.clipping.torch_clipper import TorchClipper
from course_lib.errors import InputError, NonFiniteError
from course_lib.monitoring import compute_grad_norm
from course_lib.norms import _scales_and_sums

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
SYNCS = {"item", "tolist", "numpy", "cpu", "__bool__", "__float__", "__int__", "__index__", "is_nonzero", "equal"}


class CountSyncs(TorchFunctionMode):
    """Counts the calls that would wait for a GPU."""

    def __init__(self):
        self.seen = Counter()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.seen[function.__name__] += function.__name__ in SYNCS
        return function(*args, **(kwargs or {}))

    @property
    def count(self):
        """How many there were."""
        return sum(self.seen.values())


def parameters(*grads, dtype=torch.float32):
    """Return parameters with these gradients; None is none."""
    made = []
    for g in grads:
        p = torch.nn.Parameter(torch.zeros(np.shape(0.0 if g is None else g), dtype=dtype))
        p.grad = None if g is None else torch.tensor(g, dtype=dtype)
        made.append(p)
    return made


def in_float64(params):
    return [p.grad.double().numpy().copy() for p in params if p.grad is not None]


def oracle(grads, bound):
    """Clip in float64, in units of the largest entry; return the gradients and the norm."""
    flat = np.concatenate([g.ravel() for g in grads])
    unit = float(np.abs(flat).max(initial=0.0))
    scaled = float(np.sqrt(np.square(flat / unit).sum())) if unit else 0.0  # their product can be beyond float64
    if not unit or math.log(unit) + math.log(scaled) <= math.log(bound):
        return grads, unit * scaled
    factor = Fraction(bound) / Fraction(unit) / Fraction(scaled)  # as floats, products on the way lose digits
    exact = np.vectorize(lambda x: float(Fraction(x) * factor), otypes=[float])
    return [exact(g) for g in grads], unit * scaled


def close(found, right, dtype):
    """Compare to rounding: some units in the last place, or one of the smallest number."""
    info = torch.finfo(dtype)
    tiny = info.smallest_normal * info.eps
    for f, r in zip(found, right, strict=True):
        np.testing.assert_allclose(f, r, rtol=4 * info.eps, atol=2 * tiny)


@st.composite
def gradients(draw):
    """Draw a dtype, two or three gradients of one magnitude or of several, and a bound."""
    dtype = draw(st.sampled_from(DTYPES))
    info = torch.finfo(dtype)
    low, high = math.log2(info.smallest_normal * info.eps), math.log2(info.max) - 0.01
    exponents = st.floats(low, high)
    shared = draw(exponents)
    grads = []
    for _ in range(draw(st.integers(1, 3))):
        exponent = draw(st.one_of(st.just(shared), exponents))
        shape = draw(st.sampled_from([(), (1,), (3,), (2, 2)]))
        signed = [draw(st.sampled_from([-1.0, 1.0])) * draw(st.floats(0.5, 1.0)) for _ in range(math.prod(shape))]
        grads.append(np.reshape(signed, shape) * 2.0**exponent)
    return dtype, grads, 2.0 ** draw(st.floats(-140, 60))


@settings(max_examples=200, deadline=None)
@given(gradients())
@example((torch.float64, [np.array(-2.93e-171), np.array(-1.56e144)], 8.0))  # the result is subnormal
def test_norm_and_clipped_agree_with_float64_from_subnormal_to_the_largest(drawn):
    """In every dtype, also where the squares overflow or underflow, and where the factor would be subnormal."""
    dtype, grads, bound = drawn
    params = parameters(*grads, dtype=dtype)
    before = in_float64(params)
    right, norm_before = oracle(before, bound)
    norm = clip_by_global_norm(params, bound)
    assert norm.dtype == torch.float64
    assert norm.item() == pytest.approx(norm_before, rel=1e-6)
    close(in_float64(params), right, dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("bound", "p"), [(0.1, 2), (1.0, 2), (7.0, 2), (1e3, 2), (0.1, 1), (0.1, 3), (0.1, math.inf)])
def test_agrees_with_torch_on_ordinary_gradients(dtype, bound, p):
    """To rounding and torch's epsilon of 1e-6, over layers of many shapes."""
    ours, theirs = (torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.GELU(), torch.nn.Linear(5, 3)) for _ in "ab")
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(11, 7, generator=torch.Generator().manual_seed(0), dtype=dtype)
    for model in (ours, theirs):
        (model.to(dtype)(x).square().sum() * 3).backward()
    norm = clip_by_global_norm(ours, bound, norm_type=p)
    expected = torch.nn.utils.clip_grad_norm_(theirs.parameters(), bound, norm_type=p)
    assert norm.item() == pytest.approx(expected.item(), rel=1e-6)
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-5, atol=1e-7)


def test_finite_gradients_that_torch_silences():
    """[3e19, 4e19] has norm 5e19 and a direction; torch makes zeros of it."""
    ours, theirs = (parameters([3e19, 4e19]) for _ in "ab")
    torch.nn.utils.clip_grad_norm_(theirs, 1.0)
    assert theirs[0].grad.tolist() == [0, 0]
    assert clip_by_global_norm(ours, 1.0).item() == pytest.approx(5e19)
    torch.testing.assert_close(ours[0].grad, torch.tensor([0.6, 0.8]))


def test_a_norm_beyond_the_dtype_is_finite():
    """Half precision ends at 65504, and float32 at 3.4e38; the norm is float64."""
    assert clip_by_global_norm(parameters([6e4] * 4, dtype=torch.float16), 1.0).item() == pytest.approx(1.2e5, rel=1e-3)
    assert clip_by_global_norm(parameters([3e38] * 4), 1.0).item() == pytest.approx(6e38)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_large_gradient_ends_on_the_bound_not_below(dtype):
    """No epsilon: the clipped norm is max_norm to rounding, also when max_norm is small."""
    for bound in (1e-6, 1.0):
        params = parameters(*np.random.default_rng(0).normal(size=(3, 50)) * 100, dtype=dtype)
        clip_by_global_norm(params, bound)
        after = math.hypot(*np.concatenate(in_float64(params)))
        least = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
        assert after == pytest.approx(bound, rel=torch.finfo(dtype).eps, abs=least * 150**0.5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_within_the_bound_keep_every_bit(dtype):
    """At the bound, below it, subnormal, and negative zero."""
    info = torch.finfo(dtype)
    tiny = info.smallest_normal * info.eps
    for grads, bound in [([3.0, 4.0], 5.0), ([0.1, -0.3], 1.0), ([tiny, -tiny], 1.0), ([-0.0, 0.0], 1e-30)]:
        params = parameters(grads, dtype=dtype)
        before = params[0].grad.clone()
        clip_by_global_norm(params, bound)
        assert torch.equal(params[0].grad.signbit(), before.signbit())
        assert torch.equal(params[0].grad, before)


@pytest.mark.parametrize("p", [0.5, 1, 3, math.inf])
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_another_norm_is_right_where_powers_are_out_of_range(p, scale):
    """And what is clipped has the bound for its norm."""
    params = parameters([3.0 * scale, -4.0 * scale], [[1.0 * scale]])
    flat = np.concatenate([g.ravel() for g in in_float64(params)]) / scale
    right = np.abs(flat).max() if p == math.inf else (np.abs(flat) ** p).sum() ** (1 / p)
    assert clip_by_global_norm(params, scale / 2, norm_type=p).item() == pytest.approx(right * scale, rel=1e-6)
    after = compute_grad_norm(params, p)
    assert after == pytest.approx(scale / 2, rel=1e-6)


def test_what_is_no_norm_is_refused():
    """torch takes a p below 0, and 0."""
    for p in (0, -2, "two", math.nan):
        with pytest.raises(InputError, match=r"norm_type must be above 0, or math\.inf"):
            clip_by_global_norm(parameters([3.0]), 1.0, norm_type=p)


def test_infinity_only_measures():
    """max_norm=inf changes nothing, and makes no NaN."""
    params = parameters([3.0], [4.0])
    assert clip_by_global_norm(params, math.inf).item() == 5
    assert clip_by_value(params, math.inf).item() == 5
    assert [p.grad.item() for p in params] == [3, 4]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("clip", [clip_by_global_norm, clip_by_value])
def test_what_is_not_finite_is_refused_by_name_and_nothing_changes(dtype, value, clip):
    """The first of the module's bad gradients is named, with what it holds."""
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)).to(dtype)
    for p in model.parameters():
        p.grad = torch.full_like(p, 9.0)
    model[1].weight.grad[0, 1] = value
    before = [p.grad.clone() for p in model.parameters()]
    with pytest.raises(NonFiniteError, match=rf"1\.weight holds {'NaN' if value != value else 'inf'}"):
        clip(model, 1.0)
    for p, g in zip(model.parameters(), before, strict=True):
        torch.testing.assert_close(p.grad, g, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("clip", [clip_by_global_norm, clip_by_value])
def test_skip_leaves_and_zero_zeroes_all_gradients(clip):
    """Both return a norm that is not finite; a NaN beside an infinity makes it NaN."""
    for policy, right in {"skip": [[9.0], [math.inf, 1.0]], "zero": [[0.0], [0.0, 0.0]]}.items():
        params = parameters([9.0], [math.inf, 1.0])
        assert clip(params, 1.0, nonfinite=policy).item() == math.inf
        assert [p.grad.tolist() for p in params] == right
    assert clip(parameters([math.inf], [math.nan]), 1.0, nonfinite="zero").isnan()


def test_gradients_that_require_grad_are_zeroed_too():
    """As create_graph leaves them, or somebody's assignment."""
    (p,) = parameters([math.inf, 1.0])
    p.grad.requires_grad_()
    clip_by_global_norm(p, 1.0, nonfinite="zero")
    assert p.grad.tolist() == [0, 0]


def test_keys_that_cannot_be_sorted_are_nobodys_business():
    """JAX would sort them, but these gradients are torch's."""
    p, q = parameters([3.0], [4.0])
    assert clip_by_global_norm({0: p, "b": q}, 1.0).item() == 5


def test_a_bound_without_a_value_is_refused():
    """A tensor on the meta device, or of two entries."""
    params = parameters([3.0])
    for bound in (torch.ones((), device="meta"), torch.ones(2)):
        with pytest.raises(InputError, match="max_norm must be a number, but it is tensor"):
            clip_by_global_norm(params, bound)


def test_takes_what_people_pass():
    """A module, its parameters, named ones, a generator, a dict, a list of modules, one parameter."""

    def fresh():
        model = torch.nn.Linear(2, 1)
        model.weight.grad, model.bias.grad = torch.tensor([[2.0, 1.0]]), torch.tensor([2.0])
        return model

    for target in (
        fresh(),
        list(fresh().parameters()),
        fresh().parameters(),
        fresh().named_parameters(),
        dict(fresh().named_parameters()),
        dict(fresh().named_parameters()).values(),
        [fresh()],
        set(fresh().parameters()),
        filter(lambda p: p.requires_grad, fresh().parameters()),
    ):
        assert clip_by_global_norm(target, 1.0).item() == pytest.approx(3)
    alone = fresh()
    assert clip_by_global_norm(alone.bias, 1.0).item() == 2
    assert (alone.bias.grad.item(), alone.weight.grad.tolist()) == (1, [[2, 1]])


def test_parameters_without_gradient_and_without_entries_are_passed_over():
    """A frozen layer, and an empty one, have no part in the norm."""
    params = parameters(None, [3.0], [], [4.0], None)
    assert clip_by_global_norm(params, 1.0).item() == 5
    assert params[0].grad is None
    assert clip_by_global_norm(parameters([]), 1.0).item() == 0


def test_mixed_dtypes_have_one_norm():
    """Half precision beside double."""
    params = [q for dtype in DTYPES for q in parameters([3.0, 4.0], dtype=dtype)]
    assert clip_by_global_norm(params, 5.0).item() == 10
    assert [p.grad.dtype for p in params] == DTYPES
    assert all(p.grad.tolist() == [1.5, 2.0] for p in params)


def test_a_parameter_counts_once_however_often_it_is_listed():
    """Tied weights: torch counts and scales them twice."""
    (p,) = parameters([3.0, 4.0])
    assert clip_by_global_norm([p, p], 2.5).item() == 5
    assert p.grad.tolist() == [1.5, 2.0]


def test_one_tensor_as_gradient_of_two_parameters_is_scaled_once():
    """It counts twice, since both parameters will move by it."""
    p, q = parameters([3.0, 4.0], None)
    q = torch.nn.Parameter(torch.zeros(2))
    q.grad = p.grad
    assert clip_by_global_norm([p, q], 2.5).item() == pytest.approx(5 * 2**0.5)
    assert torch.linalg.vector_norm(torch.cat([p.grad, q.grad])).item() == pytest.approx(2.5)


def test_by_value_agrees_with_torch():
    """Entries beyond the bound end on it, and half precision takes a bound beyond its range."""
    ours, theirs = (parameters([0.5, -3.0], [[4.0]]) for _ in "ab")
    torch.nn.utils.clip_grad_value_(theirs, 1.0)
    assert clip_by_value(ours, 1.0).item() == pytest.approx(math.sqrt(0.25 + 9 + 16))
    assert all(torch.equal(p.grad, q.grad) for p, q in zip(ours, theirs, strict=True))
    (half,) = parameters([6e4, -6e4] * 200, dtype=torch.float16)
    assert clip_by_value(half, 1e6).item() == pytest.approx(1.2e6)
    assert half.grad.tolist() == [6e4, -6e4] * 200


@pytest.mark.parametrize(("grads", "waits"), [([3.0, 4.0], 1), ([0.1], 1), ([3e19, 4e19], 2), ([1e-30], 2)], ids=str)
def test_asks_for_the_norm_once_and_again_only_where_float32_is_not_enough(grads, waits):
    """However many gradients there are."""
    params = parameters(*[grads] * 30)
    with CountSyncs() as syncs:
        clip_by_global_norm(params, 1.0)
    assert syncs.count == waits
    with CountSyncs() as syncs, pytest.raises(NonFiniteError):
        clip_by_global_norm([*params, *parameters(math.nan)], 1.0)
    assert syncs.count == 2


def test_a_long_gradient_is_measured_as_well_as_a_short_one():
    """A CPU adds up squares of float32 one after another: of ten million, torch's norm is off by 0.02%."""
    p = torch.nn.Parameter(torch.zeros(10_000_000))
    p.grad = torch.rand(p.shape, generator=torch.Generator().manual_seed(0))
    right = torch.linalg.vector_norm(p.grad, dtype=torch.float64).item()
    assert abs(torch.nn.utils.get_total_norm([p.grad]).item() / right - 1) > 1e-5
    assert clip_by_global_norm([p], math.inf).item() == pytest.approx(right, rel=2e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_falls_back_to_the_host(dtype):
    """On the meta device, reading a number would raise: measuring and scaling ask for none."""
    on_host = TorchClipper(parameters([3.0, 4.0], [1.0], dtype=dtype), ["p", "q"])
    on_meta = [g.to("meta") for g in on_host.grads]
    assert _scales_and_sums(torch, on_meta, 2).device.type == "meta"
    on_host._multiply(on_meta, 0.5)


def test_reads_no_graph_and_keeps_none():
    """Gradients that have a graph of their own are clipped all the same, without recording it."""
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    (x.grad,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    norm = clip_by_global_norm(x, 1.0)
    assert not norm.requires_grad
    assert torch.linalg.vector_norm(x.grad).item() == pytest.approx(1)


def test_refuses_what_it_would_get_wrong():
    """Sparse, complex, integer and meta gradients, each with what to do."""
    table = torch.nn.Embedding(5, 2, sparse=True)
    table(torch.tensor([1])).sum().backward()
    with pytest.raises(InputError, match=r"weight must be dense .*sparse_coo.*Make it dense"):
        clip_by_global_norm(table, 1.0)
    z = torch.nn.Parameter(torch.ones(2, dtype=torch.complex64))
    z.grad = torch.ones_like(z)
    with pytest.raises(InputError, match=r"target\[0\] .*complex64\. Use torch\.nn\.utils\.clip_grad_norm_"):
        clip_by_global_norm([z], 1.0)
    m = torch.nn.Parameter(torch.ones(2, device="meta"))
    m.grad = torch.ones_like(m)
    with pytest.raises(InputError, match="on the meta device"):
        clip_by_value(m, 1.0)
    n = torch.nn.Parameter(torch.ones(2, dtype=torch.int64), requires_grad=False)
    n.grad = torch.ones_like(n)
    with pytest.raises(InputError, match=r"but it is int64\. Leave that parameter out\."):
        clip_by_global_norm([n], 1.0)


@pytest.mark.parametrize("clip", [clip_by_global_norm, clip_by_value])
def test_gradients_that_cannot_be_written_are_refused_before_any_is(clip):
    """torch finds out half-way, when the first ones have been scaled."""
    first, broken = (torch.nn.Parameter(torch.zeros(3)) for _ in range(2))
    with torch.inference_mode():
        made_there = torch.ones(3)
    for grad, message in ((torch.ones(1).expand(3), "share memory"), (made_there, "made in inference mode")):
        first.grad, broken.grad = torch.ones(3), grad
        with pytest.raises(InputError, match=rf"target\[1\] must be .*{message}.*p\.grad\.clone"):
            clip([first, broken], 0.5)
        assert torch.equal(first.grad, torch.ones(3))
        broken.grad = broken.grad.clone()
        clip([first, broken], 0.5)


@pytest.mark.parametrize("clip", [clip_by_global_norm, clip_by_value])
def test_gradients_that_are_tensors_are_refused_with_what_scales_them(clip):
    """What transforms return, and a list of .grad, which would stay as it is; the advice clips, for each sample too."""
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 2)
    parameters = {name: p.detach() for name, p in layer.named_parameters()}

    def loss(parameters, x):
        return torch.func.functional_call(layer, parameters, (x,)).square().sum()

    functional = torch.func.grad(loss)(parameters, torch.ones(3))
    returned = torch.autograd.grad(layer(torch.ones(3)).square().sum(), layer.parameters(), create_graph=True)
    layer(torch.ones(3)).square().sum().backward()
    for grads in (functional, returned, [p.grad for p in layer.parameters()], functional["bias"]):
        with pytest.raises(InputError, match=r"look like gradients.*Pass the parameters.*get_total_norm"):
            clip(grads, 0.5)

    def clipped(x):
        grads = torch.func.grad(loss)(parameters, x)
        norm = torch.nn.utils.get_total_norm(grads.values(), foreach=False)
        return [g * (0.5 / norm).clamp(max=1) for g in grads.values()]

    weight, bias = torch.func.vmap(clipped)(torch.arange(10.0, 22.0).reshape(4, 3))  # long enough to be clipped
    norms = torch.cat([weight.flatten(1), bias], dim=1).norm(dim=1)
    assert norms.tolist() == pytest.approx([0.5] * 4)


def test_refuses_where_nothing_has_a_gradient():
    """Before backward(), also if all are frozen, or gradients passed for parameters, torch says 0 and does nothing."""
    model = torch.nn.Linear(2, 2)
    for target in (model, [torch.nn.Parameter(p, requires_grad=False) for p in model.parameters()]):
        with pytest.raises(InputError, match=r"none of the 2 has\. Call backward"):
            clip_by_global_norm(target, 1.0)
    model(torch.ones(1, 2)).sum().backward()
    with pytest.raises(InputError, match="not their gradients"):
        clip_by_global_norm([p.grad for p in model.parameters()], 1.0)
    spent = model.parameters()
    list(spent)
    with pytest.raises(InputError, match="a generator can be read once"):
        clip_by_global_norm(spent, 1.0)


@pytest.mark.parametrize("form", ["module", "list", "generator"])
def test_a_compiled_step_clips_as_well(form):
    """Torch's compiler cannot trace into JAX, so nothing asks JAX whose the gradients are."""
    assert "jax" in sys.modules  # else there is nothing to trace into
    layer = torch.nn.Linear(2, 2)
    target = {"module": lambda: layer, "list": lambda: list(layer.parameters()), "generator": layer.parameters}[form]

    def step(x):
        layer(x).sum().backward()
        return clip_by_global_norm(target(), 1.0)

    norm = torch.compile(step, backend="eager")(torch.ones(1, 2))
    assert norm.item() == pytest.approx(math.sqrt(6))
    assert torch.nn.utils.get_total_norm([p.grad for p in layer.parameters()]).item() == pytest.approx(1.0)


def test_the_norm_is_on_the_cpu_whatever_the_default_device_is():
    """Reading it must not wait for a device, nor be impossible on it."""
    p = torch.nn.Parameter(torch.ones(4))
    p.grad = torch.ones(4)
    torch.set_default_device("meta")
    try:
        norms = clip_by_global_norm([p], 1.0), clip_by_value([p], 0.25)
    finally:
        torch.set_default_device(None)
    assert [float(norm) for norm in norms] == pytest.approx([2.0, 1.0])


def test_a_shard_of_fsdp_is_refused():
    """It is a plain tensor, whose norm is only that of one process's part."""
    p = torch.nn.Parameter(torch.ones(4))
    p.grad, p._fsdp_flattened = torch.ones(4), True
    with pytest.raises(InputError, match=r"one process's part.*own clip_grad_norm_"):
        clip_by_global_norm([p], 1.0)
    assert p.grad.tolist() == [1.0] * 4


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_gradient_of_zeros_has_norm_zero_and_spoils_no_other(dtype):
    """Its largest entry is no unit: 0 / 0 would be NaN."""
    assert clip_by_global_norm(parameters([0.0, 0.0], dtype=dtype), 1.0).item() == 0
    params = parameters([0.0], [3.0, 4.0], dtype=dtype)
    assert clip_by_global_norm(params, 2.5).item() == 5
    assert [p.grad.tolist() for p in params] == [[0.0], [1.5, 2.0]]


def test_what_is_advised_for_complex_gradients_works():
    """By norm and by value."""
    z = torch.nn.Parameter(torch.ones(2, dtype=torch.complex64))
    z.grad = torch.full_like(z, 3 + 4j)
    assert torch.nn.utils.clip_grad_norm_([z], 1.0).item() == pytest.approx(5 * 2**0.5)
    torch.view_as_real(z.grad).clamp_(-0.5, 0.5)
    assert z.grad.abs().max() <= 0.5 * 2**0.5


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("clip", [clip_by_global_norm, clip_by_value])
def test_a_list_of_parameters_is_clipped_as_one_that_is_looked_through(clip, dtype):
    """By names, nothing is skipped; gradients within the bound beside others beyond it."""
    grads = [[3.0, -4.0], [0.1], [2.0, 0.0], [-2.5], [1e-6] * 3, []]
    alone, named = (parameters(*grads, dtype=dtype) for _ in "ab")
    norms = clip(alone, 2.0), clip([(f"{i}", p) for i, p in enumerate(named)], 2.0)
    assert norms[0] == norms[1]
    assert all(torch.equal(p.grad, q.grad) for p, q in zip(alone, named, strict=True))
    if clip is clip_by_value:
        assert [p.grad.tolist() for p in alone[:4]] == [[2, -2], named[1].grad.tolist(), [2, 0], [-2]]


def test_by_value_writes_only_what_is_beyond():
    """The version of a tensor tells whether it was written to."""
    params = parameters([3.0], [0.5], [1.0])
    before = [p.grad._version for p in params]
    clip_by_value(params, 1.0)
    assert [p.grad._version > v for p, v in zip(params, before, strict=True)][:2] == [True, False]
    assert [p.grad.item() for p in params] == [1, 0.5, 1]


def test_an_optimizer_inside_of_backward_is_named_where_no_gradient_is_left():
    """And not the order of calls."""
    layer = torch.nn.Linear(2, 2)
    for p in layer.parameters():
        p.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None))
    layer(torch.ones(1, 2)).sum().backward()
    with pytest.raises(InputError, match=r"none of the 2 has\. Hooks run"):
        clip_by_global_norm(layer, 1.0)
