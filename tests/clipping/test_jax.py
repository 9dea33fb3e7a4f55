"""Clipping JAX pytrees: traced or not, against optax and float64."""

import math
from collections import UserDict, deque

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.clipping import clip_by_global_norm, clip_by_value
from course_lib.errors import InputError, NonFiniteError

DTYPES = [jnp.float16, jnp.bfloat16, jnp.float32]
TREE = {"w": jnp.array([[3.0, 0.0]]), "b": [jnp.array(4.0), None]}


@pytest.mark.parametrize("bound", [0.1, 2.0, 100.0])
def test_agrees_with_optax_on_ordinary_gradients(bound):
    """The clipped tree and the norm, jitted and not."""
    keys = jax.random.split(jax.random.key(0), 3)
    tree = {"w": jax.random.normal(keys[0], (4, 5)), "b": (jax.random.normal(keys[1], (5,)), jnp.zeros((3,)))}
    right, _ = optax.clip_by_global_norm(bound).update(tree, optax.EmptyState())
    for clip in (clip_by_global_norm, jax.jit(clip_by_global_norm, static_argnums=1), jax.jit(clip_by_global_norm)):
        clipped, norm = clip(tree, bound)
        assert float(norm) == pytest.approx(float(optax.tree.norm(tree)), rel=1e-6)
        for f, r in zip(jax.tree.leaves(clipped), jax.tree.leaves(right), strict=True):
            np.testing.assert_allclose(f, r, rtol=1e-6)


@pytest.mark.parametrize("p", [0.5, 1, 3, math.inf])
@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_another_norm_is_that_of_numpy(p, scale):
    """Of JAX's arrays and of NumPy's; traced, and where powers are out of range."""
    here = {"w": np.array([3.0, -4.0], np.float32) * np.float32(scale), "b": np.array([[1.0]], np.float32) * scale}
    there = jax.tree.map(jnp.float32, here)
    flat = np.array([3.0, 4.0, 1.0])
    right = scale * (flat.max() if p == math.inf else (flat**p).sum() ** (1 / p))
    compiled = jax.jit(lambda tree: clip_by_global_norm(tree, scale / 2, norm_type=p))
    for clipped, norm in (
        clip_by_global_norm(here, scale / 2, norm_type=p),
        clip_by_global_norm(there, scale / 2, norm_type=p),
        compiled(there),
    ):
        assert float(norm) == pytest.approx(right, rel=1e-5)
        for name in here:
            np.testing.assert_allclose(clipped[name], here[name] * (scale / 2 / right), rtol=1e-5)


@pytest.mark.parametrize("g", [[0.0, 0.0], [1e-30, 0.0], [0.3, 0.4], [3.0, 4.0], [3e19, 4e19]])
def test_can_be_differentiated(g):
    """The clipped and the norm, against float64 by hand; at 0 they are the gradient itself, and 0."""
    x, v = np.array(g), np.array([1.0, 2.0])
    norm = np.linalg.norm(x)
    unit = x / norm if norm else x
    right = (v - unit * (unit @ v)) / norm if norm > 1 else v
    came = jax.grad(lambda x: clip_by_global_norm({"w": x}, 1.0)[0]["w"] @ v.astype(np.float32))(jnp.array(g))
    np.testing.assert_allclose(np.asarray(came, float), right, rtol=1e-5, atol=1e-6 * np.abs(right).max())
    slope = jax.grad(lambda x: clip_by_global_norm([x], 1.0)[1])(jnp.array(g))
    np.testing.assert_allclose(slope, unit, rtol=1e-5)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(DTYPES), st.data())
def test_norm_and_clipped_agree_with_float64_over_all_normal_magnitudes(dtype, data):
    """XLA flushes subnormal numbers to zero, so they are left out here."""
    info = jnp.finfo(dtype)
    low, high = math.log2(float(info.tiny)) + 1, math.log2(float(info.max)) - 1.1
    exponents = st.floats(low, high)
    entries = [data.draw(st.sampled_from([-1, 1])) * 2.0 ** data.draw(exponents) for _ in range(3)]
    tree = [jnp.array(entries[:1], dtype), jnp.array(entries[1:], dtype)]
    bound = 2.0 ** data.draw(st.floats(-80, 40))
    g = np.concatenate([np.asarray(x, np.float64) for x in tree])
    right_norm = np.linalg.norm(g)
    clipped, norm = clip_by_global_norm(tree, bound)
    assert norm.dtype == jnp.float32
    assert float(norm) == pytest.approx(right_norm, rel=1e-6)
    found = np.concatenate([np.asarray(x, np.float64) for x in clipped])
    np.testing.assert_allclose(
        found, g * min(1, bound / right_norm), rtol=4 * float(info.eps), atol=2 * float(info.tiny)
    )
    if right_norm < bound:
        assert all(jax.tree.leaves(jax.tree.map(jnp.array_equal, clipped, tree)))


def test_float64_in_its_whole_range():
    """With x64 on, norms above and below where squares exist."""
    with jax.enable_x64(True):
        for unit in (1e300, 1e-300):
            clipped, norm = jax.jit(lambda g: clip_by_global_norm(g, 1e-305))([jnp.array([3.0, 4.0]) * unit])
            assert norm.dtype == jnp.float64
            assert float(norm) == pytest.approx(5 * unit, rel=1e-14)
            np.testing.assert_allclose(clipped[0] * 1e300, [0.6e-5, 0.8e-5], rtol=1e-12)
        mixed, norm = clip_by_global_norm([jnp.array([3e300]), jnp.ones(1, jnp.float32)], 1.5e300)
        assert (float(norm), mixed[0].tolist(), mixed[1].tolist()) == (3e300, [1.5e300], [0.5])


def test_the_largest_gradient_can_be_made_as_small_as_the_least():
    """The factor, about 2^-250, is no number of float32, so it is multiplied by in parts."""
    clipped, norm = clip_by_global_norm(jnp.array([3e38]), 1.2e-37)
    np.testing.assert_allclose([clipped[0], norm], [1.2e-37, 3e38], rtol=1e-6)


def test_finite_gradients_that_optax_silences():
    """[3e19, 4e19]."""
    g = jnp.array([3e19, 4e19])
    silenced, _ = optax.clip_by_global_norm(1.0).update(g, optax.EmptyState())
    assert silenced.tolist() == [0, 0]
    clipped, norm = clip_by_global_norm(g, 1.0)
    assert float(norm) == pytest.approx(5e19)
    np.testing.assert_allclose(clipped, [0.6, 0.8], rtol=1e-6)


def test_vmapped_each_row_has_its_own_norm():
    """Clipping per example, as differential privacy does."""
    rows = jnp.array([[3.0, 4.0], [0.3, 0.4], [3e19, 4e19], [0.0, 0.0]])
    clipped, norms = jax.vmap(lambda g: clip_by_global_norm(g, 1.0))(rows)
    np.testing.assert_allclose(norms, [5, 0.5, 5e19, 0], rtol=1e-6)
    np.testing.assert_allclose(clipped, [[0.6, 0.8], [0.3, 0.4], [0.6, 0.8], [0, 0]], rtol=1e-6)


def test_only_leaves_that_are_floating_point_are_clipped():
    """None stays, and so does the float0 that JAX gives for integers."""
    clipped, norm = clip_by_global_norm(TREE, 1.0)
    assert (float(norm), clipped["b"][1]) == (5, None)
    np.testing.assert_allclose(clipped["w"], [[0.6, 0]], rtol=1e-6)
    grads = jax.grad(lambda p: p["x"] * 10.0, allow_int=True)({"x": 2.0, "n": 3})
    clipped, norm = clip_by_global_norm(grads, 1.0)
    assert clipped["n"].dtype == jax.dtypes.float0
    assert float(clipped["x"]) == 1
    with pytest.raises(NonFiniteError, match=r"that of target\['x'\] holds inf\. Nothing"):
        clip_by_global_norm({**grads, "x": jnp.inf * grads["x"]}, 1.0)


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_what_is_not_finite_outside_jit(value):
    """Refused by its path; untouched; or zeros."""
    tree = {"a": jnp.array([5.0]), "b": [jnp.array([1.0]), jnp.array([value, 2.0])]}
    with pytest.raises(NonFiniteError, match=r"target\['b'\]\[1\] holds (inf|NaN)"):
        clip_by_global_norm(tree, 1.0)
    clipped, norm = clip_by_global_norm(tree, 1.0, nonfinite="skip")
    assert str(float(norm)) == str(value)
    np.testing.assert_array_equal(clipped["b"][1], [value, 2.0])
    clipped, norm = clip_by_value(tree, 1.0, nonfinite="zero")
    assert not math.isfinite(norm)
    assert [x.tolist() for x in jax.tree.leaves(clipped)] == [[0.0], [0.0], [0.0, 0.0]]


@pytest.mark.parametrize("clip", [clip_by_global_norm, clip_by_value])
def test_what_is_not_finite_under_jit_is_loud(clip):
    """Nothing can be raised there, so "error" makes every gradient NaN: no step can look healthy."""
    tree = [jnp.array([5.0]), jnp.array([jnp.inf, 2.0])]
    clipped, norm = jax.jit(lambda t: clip(t, 1.0))(tree)
    assert norm == jnp.inf
    assert all(bool(jnp.isnan(x).all()) for x in clipped)
    for policy, right in {"skip": tree, "zero": [jnp.zeros(1), jnp.zeros(2)]}.items():
        clipped, norm = jax.jit(lambda t, policy=policy: clip(t, 1.0, nonfinite=policy))(tree)
        assert norm == jnp.inf
        assert all(map(jnp.array_equal, clipped, right))


def test_a_traced_bound():
    """It can be a schedule's; one that is not above 0 makes NaN, never a turned gradient."""
    clip = jax.jit(clip_by_global_norm)
    g = jnp.array([3.0, 4.0])
    np.testing.assert_allclose(clip(g, 1.0)[0], [0.6, 0.8], rtol=1e-6)
    assert clip(g, jnp.inf)[0].tolist() == [3, 4]
    for bad in (0.0, -1.0, jnp.nan):
        assert jnp.isnan(clip(g, bad)[0]).all()
        assert jnp.isnan(jax.jit(clip_by_value)(g, bad)[0]).all()


@pytest.mark.parametrize("clip", [clip_by_global_norm, clip_by_value])
def test_a_traced_bound_is_one_number(clip):
    """Two would be broadcast, and change the shape of the gradients."""
    with pytest.raises(InputError, match=r"a number, .*shape \(2,\)"):
        jax.jit(lambda g, bound: clip(g, bound))(TREE, jnp.array([1.0, 2.0]))


@pytest.mark.parametrize("clip", [clip_by_global_norm, clip_by_value])
@pytest.mark.parametrize("bound", [1.0, jnp.array(1.0)], ids=["float", "array"])
def test_without_jit_the_result_is_the_same(clip, bound):
    """As where somebody looks for a bug under disable_jit."""
    right, _ = clip(TREE, 1.0)
    with jax.disable_jit():
        clipped, norm = clip(TREE, bound)
    assert float(norm) == 5
    assert jax.tree.all(jax.tree.map(jnp.allclose, clipped, right))


@pytest.mark.parametrize(
    "form",
    [lambda t: deque(t.values()), UserDict, lambda t: [iter(t.values())], lambda t: [t.values()], lambda t: {0: t} | t],
    ids=["deque", "UserDict", "generator", "values", "keys that cannot be sorted"],
)
def test_arrays_in_no_pytree_are_refused(form):
    """JAX does not look in there, and iterating over its arrays would go on for their entries."""
    with pytest.raises(InputError, match=r"in a pytree, but target\[.* is not"):
        clip_by_global_norm(form({"w": jnp.ones(2), "b": jnp.array(1.0)}), 1.0)


@pytest.mark.parametrize("form", [lambda t: iter(t.values()), lambda t: t.values()], ids=["generator", "values"])
def test_what_can_be_read_once_becomes_a_list(form):
    """At the top; a list is a pytree."""
    clipped, norm = clip_by_global_norm(form({"w": jnp.array([3.0]), "b": jnp.array([4.0])}), 2.5)
    assert ([x.tolist() for x in clipped], float(norm)) == ([[1.5], [2.0]], 5)


def test_float64_of_numpy_must_fit_what_jax_computes_with():
    """1e200 is not infinite until JAX makes float32 of it; smaller numbers, and infinities, pass as ever."""
    tree = {"a": jnp.zeros(2), "b": np.array([1e200])}
    with pytest.raises(InputError, match=r"target\['b'\] .*beyond float32.*jax_enable_x64"):
        clip_by_global_norm(tree, 1.0)
    with jax.enable_x64(True):
        assert clip_by_global_norm(tree, 1.0)[0]["b"].tolist() == [1]
    assert clip_by_global_norm({**tree, "b": np.array([1e20])}, 1.0)[0]["b"].tolist() == [1]
    with pytest.raises(NonFiniteError, match=r"target\['b'\] holds inf"):
        clip_by_global_norm({**tree, "b": np.array([np.inf])}, 1.0)


def test_by_value_agrees_with_optax():
    """Also in half precision with a bound beyond its range."""
    right, _ = optax.clip(1.0).update(TREE, optax.EmptyState())
    clipped, norm = clip_by_value(TREE, 1.0)
    assert float(norm) == 5
    assert jax.tree.all(jax.tree.map(jnp.array_equal, clipped, right))
    assert clip_by_value(jnp.array([6e4], jnp.float16), 1e6)[0].tolist() == [6e4]


def test_refuses_what_has_no_norm():
    """Integers and complex numbers, traced ones too; and Python's numbers, which have no dtype."""
    with pytest.raises(InputError, match=r"target\[0\] must be .* int32"):
        jax.jit(lambda g: clip_by_global_norm(g, 1.0))([jnp.arange(3)])
    with pytest.raises(InputError, match="complex64"):
        clip_by_global_norm(jnp.ones(2, jnp.complex64), 1.0)
    with pytest.raises(InputError, match=r"target\[1\] must be .* float\. Convert it"):
        clip_by_global_norm([jnp.ones(2), 3.0], 1.0)


def test_an_axis_over_which_gradients_are_split():
    """``vmap`` has such axes as well: one norm for all rows, through which gradients can be taken."""
    g = jnp.arange(6.0).reshape(2, 3)

    def clipped(g):
        return jax.vmap(lambda row: clip_by_global_norm(row, 1.0, axis_name="rows"), axis_name="rows")(g)

    right, norm = clip_by_global_norm(g, 1.0)
    np.testing.assert_allclose(clipped(g)[0], right, rtol=1e-6)
    np.testing.assert_allclose(clipped(g)[1], [norm, norm], rtol=1e-6)
    slope = jax.grad(lambda g: (clipped(g)[0] ** 3).sum())(g)
    expected = jax.grad(lambda g: (clip_by_global_norm(g, 1.0)[0] ** 3).sum())(g)
    np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("clip", [clip_by_global_norm, clip_by_value])
def test_an_axis_is_for_jax_alone(clip):
    """NumPy's arrays lie in one process."""
    with pytest.raises(InputError, match="axis_name is for JAX arrays, but it is 'd'"):
        clip([np.ones(3)], 1.0, axis_name="d")


def test_compiles_once_whatever_the_bound():
    """The bound is an argument of what is compiled, not a part of it."""
    from course_lib.clipping.jax_clipper import _compiled_clip

    clip_by_global_norm(TREE, 1.0)
    before = _compiled_clip()._cache_size()
    for bound in (0.5, 2.0, math.inf):
        clip_by_global_norm(TREE, bound)
    assert _compiled_clip()._cache_size() == before


@pytest.mark.parametrize("scale", [1e20, 1e-22, 1e-30])
@pytest.mark.parametrize("parts", [("constant",), ("constant", "other")])
def test_a_gradient_that_the_compiler_knows_is_clipped_as_any_other(scale, parts):
    """Of a linear loss it is a constant, of which XLA would multiply the squares first: they overflow or vanish."""

    def clipped(w):
        grads = jax.grad(lambda w: (scale * w["constant"]).sum() + (scale * w.get("other", jnp.zeros(1)) ** 2).sum())(w)
        return clip_by_global_norm(grads, scale)

    w = {name: jnp.ones(3) for name in parts}
    for found, expected in zip(jax.tree.leaves(jax.jit(clipped)(w)), jax.tree.leaves(clipped(w)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_norm_that_is_a_power_of_two_is_clipped_as_any_other():
    """In its own unit it is exactly 1, which is not 0."""
    clipped, norm = clip_by_global_norm([jnp.ones(4)], 1.0)
    assert float(norm) == 2
    assert clipped[0].tolist() == [0.5] * 4
