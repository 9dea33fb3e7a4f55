"""Norm, mean, deviation and largest value against NumPy in double precision, in every dtype and at every magnitude."""

import math
import re

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import distribute_tensor, init_device_mesh

from course_lib import autograd
from course_lib.errors import InputError, MonitorError
from course_lib.monitoring import GradientMonitor, compute_grad_norm, log_gradient_stats
from course_lib.monitoring.reading.read_torch_gradients import TorchReader
from course_lib.training import run_processes

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def model_of(*grads, dtype=torch.float32):
    """Return a model whose parameters have these gradients; None is none."""
    model = nn.ParameterList()
    for g in grads:
        p = nn.Parameter(torch.zeros(np.shape(0.0 if g is None else g), dtype=dtype))
        p.grad = None if g is None else torch.from_numpy(np.array(g)).to(dtype)
        model.append(p)
    return model


def oracle(grad):
    """Return norm, mean, deviation and largest, in units of the largest, in NumPy's longest precision."""
    g = grad.double().numpy().astype(np.longdouble).ravel()
    if not g.size:
        return 0.0, 0.0, 0.0, 0.0
    unit = np.abs(g).max() or np.longdouble(1)
    scaled = g / unit
    std = scaled.std(ddof=1) if g.size > 1 else 0.0
    return tuple(float(v * unit) for v in (np.sqrt((scaled**2).sum()), scaled.mean(), std, np.abs(scaled).max()))


def check(model, *, rtol):
    """Hold both what is measured at once and what a monitor keeps against the oracle."""
    with GradientMonitor(model) as monitor:
        monitor.step()
        monitor.step()
    frame = monitor.history
    for i, (name, row) in enumerate(log_gradient_stats(model).items()):
        if model[i].grad is None:
            assert math.isnan(row.norm)
            continue
        norm, mean, std, largest = oracle(model[i].grad)
        kept = frame[(frame.parameter == name) & (frame.step == 2)].iloc[0]
        for n, m, s, top in (
            (row.norm, row.mean, row.std, row.max),
            (kept["norm"], kept["mean"], kept["std"], kept["max"]),
        ):
            assert n == pytest.approx(norm, rel=rtol, abs=5e-324)
            assert top == pytest.approx(largest, rel=1e-12)
            assert m == pytest.approx(mean, rel=rtol, abs=max(rtol * largest, 5e-324))
            assert s == pytest.approx(std, rel=20 * rtol, abs=max(rtol * largest * 1e-3, 5e-324))


@st.composite
def gradients(draw):
    """Draw a dtype and a few gradients, all over the range of the dtype."""
    dtype = draw(st.sampled_from(DTYPES))
    info, made = torch.finfo(dtype), []
    low, high = math.log2(info.smallest_normal * info.eps), math.log2(info.max) - 1
    shapes = [(), (1,), (3,), (0,), (2, 5), (513,), (40, 30), (1, 1, 2), (2, 64), (8, 64), (8, 8, 8), (2, 0)]
    for _ in range(draw(st.integers(1, 6))):
        rng = np.random.default_rng(draw(st.integers(0, 1000)))
        shape = draw(st.sampled_from(shapes))
        centre = draw(st.sampled_from([0.0, 0.5, -1.0]))
        drawn = np.clip(centre + draw(st.sampled_from([1e-3, 0.3])) * rng.normal(size=shape), -1, 1)
        made.append(drawn * 2.0 ** draw(st.floats(low, high)))
    return dtype, made


@settings(max_examples=120, deadline=None)
@given(gradients())
@example((torch.float64, [1e307 * np.random.default_rng(0).normal(size=513)]))  # a norm beyond float64
def test_agrees_with_long_precision_from_subnormal_to_the_largest(drawn):
    """In every dtype, also where squares overflow or vanish, and where the mean is a thousand deviations."""
    dtype, grads = drawn
    check(model_of(*grads, dtype=dtype), rtol=2e-5 if dtype != torch.float64 else 1e-10)


EXPONENTS = st.sampled_from([None, -148.0, -126.0, -100.0, -60.0, 0.0, 40.0, 90.0, 127.0])
ZERO = None


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(EXPONENTS, EXPONENTS, EXPONENTS, EXPONENTS), min_size=2, max_size=8), st.integers(0, 1000))
@example([(ZERO, -100.0, 0.0, -60.0), (-148.0, -100.0, 0.0, -60.0), (0.0, -100.0, 0.0, -60.0)], 0)
def test_each_step_is_right_whatever_was_before(steps, seed):
    """What one step leaves behind for the next, such as another precision, changes no number that is read."""
    rng, sizes = np.random.default_rng(seed), (1, 3, 70, 600)
    model = model_of(*map(np.zeros, sizes))
    with GradientMonitor(model, update_every=None) as monitor:
        for exponents in steps:
            for p, e in zip(model, exponents, strict=True):
                drawn = rng.uniform(-1, 1, p.shape) + rng.choice([0, 1e3])  # which hides the deviation
                p.grad = torch.from_numpy(0 * drawn if e is ZERO else drawn / np.abs(drawn).max() * 2.0**e).float()
            monitor.step()
            frame = monitor.history
            for p, row in zip(model, frame[frame.step == frame.step.max()].itertuples(), strict=True):
                norm, mean, std, largest = oracle(p.grad)
                assert row.norm == pytest.approx(norm, rel=2e-5, abs=5e-324)
                assert row.max == largest
                assert row.mean == pytest.approx(mean, rel=2e-5, abs=2e-5 * largest)
                assert row.std == pytest.approx(std, rel=4e-4, abs=1e-7 * largest)
                assert not row.nonfinite


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_tensors_are_measured_where_they_lie(dtype):
    """More than 65,536 elements, not a multiple of a row, and not contiguous."""
    rng = np.random.default_rng(0)
    model = model_of(rng.normal(size=(300, 301)), rng.normal(size=5), dtype=dtype)
    model[0].grad = model[0].grad.T.contiguous().T
    check(model, rtol=2e-6)


def test_neighbours_of_different_precision_and_layout():
    """Tensors that could be joined if they were all of one precision, and contiguous."""
    rng = np.random.default_rng(1)
    rows = [rng.normal(size=(n, 64)) for n in (3, 8, 7)]
    model = model_of(*(rng.normal(size=(4, 8, 8, 8)) for _ in range(4)), *rows)
    model[1].data = model[1].data.half()
    model[1].grad = torch.from_numpy(rng.normal(size=(4, 8, 8, 8))).half()
    model[2].grad = model[2].grad.contiguous(memory_format=torch.channels_last)
    model[5].grad = model[5].grad.T.contiguous().T
    check(model, rtol=2e-6)
    model[4].grad = None
    check(model, rtol=2e-6)


class Elsewhere(torch.Tensor):
    """A tensor that keeps its elements in another one, as quantized ones do."""

    @staticmethod
    def __new__(cls, elements):
        """Look like the other one."""
        return torch.Tensor._make_wrapper_subclass(cls, elements.shape, dtype=elements.dtype)

    def __init__(self, elements):
        self.elements = elements

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        """Do everything with the other one."""
        return function(*(a.elements if isinstance(a, cls) else a for a in args), **(kwargs or {}))


def test_gradients_may_become_others_while_they_are_watched():
    """Of another precision, sparse, not contiguous, one number for all, of a class of their own, gone; and back."""
    rng = np.random.default_rng(2)
    first = [rng.normal(size=(4, 6)) for _ in range(7)]
    model = model_of(*first)
    others = [torch.from_numpy(rng.normal(size=(4, 6))) for _ in range(4)]
    changed = [
        others[0].half(),
        others[1].float().to_sparse(),
        others[2].float().T.contiguous().T,
        Elsewhere(others[3].float()),
        torch.randn(4, 12)[:, ::2],
        torch.tensor(2.0).expand(4, 6),
        None,
    ]
    with GradientMonitor(model, update_every=1) as monitor:
        for grads in ([p.grad for p in model], changed, [p.grad for p in model]):
            for p, g in zip(model, grads, strict=True):
                p.grad, p.data = None, p.data.to(g.dtype if g is not None else p.dtype)
                p.grad = g
            monitor.step()
    seen = [np.full(1, math.nan) if g is None else getattr(g, "elements", g).to_dense().numpy() for g in changed]
    norms = [float(np.linalg.norm(g.astype(np.float64))) for g in (*first, *seen, *first)]
    assert monitor.history.norm.tolist() == pytest.approx(norms, rel=1e-6, nan_ok=True)
    assert monitor.history.weight_norm.tolist() == [0.0] * 21


def test_what_was_read_stays_as_it_was():
    """Whatever the gradients become, and though the numbers are worked out much later."""
    model = model_of(np.zeros(1000), np.zeros(3))
    reader, readings = TorchReader(list(model)), []
    for k in range(30):
        for p in model:
            p.grad.fill_(k)
        readings.append(reader.measure(k, weights=True))
    assert [reading.measures.largest.tolist() for reading in readings] == [[k, k] for k in range(30)]


def test_a_gradient_that_is_gone_is_not_seen_again():
    """A vector that had a gradient at the first step and has none at the second."""
    model = model_of([1.0, 0.0], [1.0, 1.0])
    reader = TorchReader(list(model))
    reader.measure(1)
    model[0].grad = None
    reader.measure(2)
    assert [seen.tolist() for seen in reader.last_seen().values()] == [[1, 0], [2, 2]]


def test_agrees_with_torch():
    """torch's own norm, mean, std and max of ordinary gradients."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 30), nn.Tanh(), nn.Linear(30, 2))
    model(torch.randn(16, 20)).square().sum().backward()
    for name, row in log_gradient_stats(model).items():
        g = model.get_parameter(name).grad
        expected = torch.linalg.vector_norm(g), g.mean(), g.std(), g.abs().max()
        assert (row.norm, row.mean, row.std, row.max) == pytest.approx([v.item() for v in expected], rel=1e-5)
    flat = torch.cat([p.grad.flatten() for p in model.parameters()])
    assert compute_grad_norm(model, "inf") == compute_grad_norm(model, math.inf)
    for p in (0.5, 1, 2, 3, math.inf):
        assert compute_grad_norm(model, p) == pytest.approx(torch.linalg.vector_norm(flat.double(), p).item(), rel=1e-5)
    assert compute_grad_norm(model) == pytest.approx(
        nn.utils.get_total_norm([p.grad for p in model.parameters()]).item()
    )


def test_torch_and_the_courses_engine_agree():
    """The same weights and data through both."""
    theirs = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1)).double()
    ours = autograd.nn.Sequential(autograd.nn.Linear(4, 6), autograd.nn.ReLU(), autograd.nn.Linear(6, 1))
    with autograd.no_grad():
        for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
            p.zero_().add_(autograd.tensor(q.detach().numpy()))
    x = np.random.default_rng(0).normal(size=(5, 4))
    theirs(torch.tensor(x)).square().mean().backward()
    (ours(autograd.tensor(x.astype(np.float32))) ** 2).mean().backward()
    for a, b in zip(log_gradient_stats(ours).values(), log_gradient_stats(theirs).values(), strict=True):
        assert (a.norm, a.mean, a.std, a.max) == pytest.approx((b.norm, b.mean, b.std, b.max), rel=1e-5)
    assert compute_grad_norm(ours) == pytest.approx(compute_grad_norm(theirs), rel=1e-6)


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_not_finite_is_flagged_and_nothing_else(bad, dtype):
    """The norm and the largest are infinite or NaN; the gradient beside it keeps its numbers."""
    model = model_of([1.0, bad, 2.0], [3.0, 4.0], dtype=dtype)
    broken, sound = log_gradient_stats(model).values()
    assert TorchReader(list(model)).measure().nonfinite
    assert broken.nonfinite
    assert math.isnan(broken.norm) if math.isnan(bad) else broken.norm == math.inf == broken.max
    assert (sound.norm, sound.nonfinite) == (pytest.approx(5.0), False)
    total = compute_grad_norm(model)
    assert math.isnan(total) if math.isnan(bad) else total == math.inf


def test_squares_that_overflow_or_vanish_do_not_spoil_the_norm():
    """Where torch's norm in the same dtype is infinite, or 0."""
    assert compute_grad_norm(model_of([3e19, 4e19])) == pytest.approx(5e19)
    assert compute_grad_norm(model_of([3e-30, 4e-30])) == pytest.approx(5e-30)
    assert compute_grad_norm(model_of([3e200, 4e200], dtype=torch.float64)) == pytest.approx(5e200)
    half = log_gradient_stats(model_of([3e4, 4e4], [6e4] * 4, dtype=torch.float16))
    assert half.total_norm == pytest.approx(math.hypot(5e4, 1.2e5), rel=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_norm_of_small_power_is_finite_where_it_can_be(dtype):
    """The sum of the powers is a small number, its twentieth power a large one."""
    g = np.random.default_rng(0).uniform(size=100)
    assert compute_grad_norm(model_of(g, dtype=dtype), 0.05) == pytest.approx((g**0.05).sum() ** 20, rel=1e-4)
    ours = autograd.nn.Linear(100, 1, bias=False)
    ours(autograd.tensor(g[None].astype(np.float32))).sum().backward()
    assert compute_grad_norm(ours, 0.05) == pytest.approx((g**0.05).sum() ** 20, rel=1e-4)
    assert compute_grad_norm(model_of(g, dtype=dtype), 1e-3) == math.inf


def test_sparse_shared_absent_and_frozen():
    """A sparse gradient counts as dense, a shared parameter once, an absent one is NaN, a frozen one is left out."""

    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(50, 3, sparse=True)
            self.first, self.again, self.unused, self.frozen = (nn.Linear(3, 3, bias=False) for _ in "abcd")
            self.again.weight = self.first.weight
            self.frozen.requires_grad_(False)

        def forward(self, x):
            return self.frozen(self.again(self.first(self.words(x))))

    model = Odd()
    model(torch.tensor([1, 1, 7])).square().sum().backward()
    stats = log_gradient_stats(model)
    assert list(stats) == ["words.weight", "first.weight", "unused.weight"]
    assert stats["words.weight"].norm == pytest.approx(model.words.weight.grad.to_dense().norm().item(), rel=1e-5)
    assert math.isnan(stats["unused.weight"].norm)
    assert re.search(r"^unused.weight +3x3 +none$", str(stats), re.MULTILINE)
    both = [model.words.weight.grad.to_dense().norm().item(), model.first.weight.grad.norm().item()]
    assert stats.total_norm == pytest.approx(math.hypot(*both), rel=1e-5)
    assert compute_grad_norm(model) == pytest.approx(stats.total_norm, rel=1e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_a_sparse_gradient_has_the_measures_of_the_dense_one(dtype):
    """Whatever it holds from step to step: rows several times, other rows, none, something infinite; and vectors."""
    model = nn.ParameterList(
        [torch.zeros(40, 3, dtype=dtype), torch.zeros(4, dtype=dtype), torch.zeros(40, dtype=dtype)]
    )
    with GradientMonitor(model, update_every=None) as monitor:
        for step, rows in enumerate([[1, 1, 7], [3, 30], [], [5, 5, 5, 39], range(40)]):
            values = torch.randn(len(rows), 3, dtype=dtype)
            values[:1] *= math.inf if step == 3 else 1
            at = torch.tensor([[*rows]], dtype=torch.int64)
            model[0].grad = torch.sparse_coo_tensor(at, values, (40, 3), check_invariants=True)
            model[1].grad = torch.randn(4, dtype=dtype)
            model[2].grad = torch.sparse_coo_tensor(at, values[:, 0], (40,), check_invariants=True)
            monitor.step()
            found = monitor.history.query(f"step == {step + 1}").set_index("parameter")
            assert compute_grad_norm(model) == pytest.approx(monitor.scalars()["gradient_norm/total"], rel=1e-5)
            for name, p in enumerate(model):
                dense = p.grad.to_dense().double()
                expected = [dense.norm().item(), dense.mean().item(), dense.std().item(), dense.abs().max().item()]
                row = found.loc[str(name), ["norm", "mean", "std", "max"]].tolist()
                if step == 3 and name != 1:
                    assert (row[0], row[3], found.nonfinite[str(name)]) == (math.inf, math.inf, True)
                else:
                    assert row == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_complex_gradients_count_as_pairs_of_real_numbers():
    """As optimizers take them; so the norm is that of the complex vector."""
    model = model_of([3 + 4j, 12j], dtype=torch.complex64)
    (row,) = log_gradient_stats(model).values()
    assert row.norm == pytest.approx(13.0)
    assert row.max == 12
    assert compute_grad_norm(model) == pytest.approx(13.0)


def test_a_scaled_loss_scales_every_number():
    """The monitor reads what is there: under a GradScaler, after ``unscale_``."""
    model = nn.Linear(3, 1)
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cpu", init_scale=2.0**16)
    scaler.scale(model(torch.ones(2, 3)).mean()).backward()
    scaled = compute_grad_norm(model)
    scaler.unscale_(optimizer)
    assert scaled == pytest.approx(2.0**16 * compute_grad_norm(model))
    assert compute_grad_norm(model) == pytest.approx(2.0)


@pytest.mark.parametrize("p", [0, -1, math.nan, "two", None])
def test_a_norm_below_zero_is_refused(p):
    """There is none."""
    with pytest.raises(InputError, match=r"norm_type must be above 0, or math.inf, but it is"):
        compute_grad_norm(model_of([1.0]), p)


@pytest.mark.parametrize("engine", [nn, autograd.nn], ids=["torch", "autograd"])
def test_the_norm_of_parameters_is_that_of_their_model(engine):
    """In a generator, as clipping takes them, or a list; one that is listed twice counts once, a frozen one not."""
    model = engine.Sequential(engine.Linear(3, 4), engine.Linear(4, 2))
    made = torch.ones if engine is nn else autograd.ones
    with pytest.raises(MonitorError, match=r"the \.grad of all 4 parameters is None"):
        compute_grad_norm(model.parameters())
    (model(made(5, 3)) ** 2).sum().backward()
    for norm_type in (2, 1, math.inf):
        right = compute_grad_norm(model, norm_type)
        assert compute_grad_norm(model.parameters(), norm_type) == right
        assert compute_grad_norm([*model.parameters(), *model.parameters(), made(2)], norm_type) == right
    weight = next(iter(model.parameters()))
    assert compute_grad_norm((weight,)) == pytest.approx(np.linalg.norm(weight.grad.numpy()), rel=1e-6)


@pytest.mark.parametrize("function", [compute_grad_norm, log_gradient_stats])
def test_before_backward_there_is_nothing_to_see(function):
    """The message says when to call."""
    with pytest.raises(MonitorError, match=r"all 2 parameters is None\. Call this after loss\.backward"):
        function(nn.Linear(2, 2))


@pytest.mark.parametrize("function", [compute_grad_norm, log_gradient_stats, GradientMonitor])
def test_what_is_no_model_is_refused(function):
    """Parameters, a frozen model, and one whose shapes are not known yet."""
    with pytest.raises(InputError, match=r"named_parameters\(\) is needed.*got a list"):
        function([torch.zeros(2)])
    with pytest.raises(InputError, match=r"got the class Linear\. Make an instance first"):
        function(nn.Linear)
    with pytest.raises(InputError, match=r"requires grad, but Linear has none"):
        function(nn.Linear(2, 2).requires_grad_(False))
    with pytest.raises(InputError, match=r"weight has no shape yet\. Run a batch"):
        function(nn.LazyLinear(3))
    shard = nn.Linear(2, 2)
    shard.bias._fsdp_flattened = True
    with pytest.raises(InputError, match=r"must be whole, .*a part of bias"):
        function(shard)


@pytest.mark.parametrize("last", [[0.0, 1e-30, 2e-30], [0.0, 1e30, 2e30], [1e3, 1e3 + 1, 1e3], [1.0, math.nan, 0.0]])
@pytest.mark.parametrize("zeros", [1, 2])
def test_a_row_of_zeros_hides_nothing(last, zeros):
    """While one gradient is zero, and after: what single precision is not enough for is measured all the same."""
    model = model_of([1.0, 2.0, 3.0], [3.0, 4.0, 5.0])
    zero, ordinary = [0.0, 0.0, 0.0], [4.0, -5.0, 6.0]
    steps = [(ordinary, ordinary), *[(zero, ordinary)] * zeros, (zero, last), (ordinary, last)]
    with GradientMonitor(model, update_every=None) as monitor:
        for grads in steps:
            for p, g in zip(model, grads, strict=True):
                p.grad = torch.tensor(g)
            monitor.step()
    g = torch.tensor(steps, dtype=torch.float32).double()
    for name, expected in {
        "norm": torch.linalg.vector_norm(g, dim=2),
        "mean": g.mean(2),
        "std": g.std(2),
        "max": g.abs().amax(2),
    }.items():
        found = torch.tensor(monitor.history[name].to_numpy()).reshape(expected.shape)
        assert torch.allclose(found[~g.isnan().any(2)], expected[~g.isnan().any(2)], rtol=1e-5, atol=0)
    assert monitor.history["nonfinite"].tolist() == g.isnan().any(2).reshape(-1).tolist()


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_that_are_nan_are_read_in_any_precision(dtype, power):
    """Whether the gradients are finite still, as they are of a sum, or not, with several rows to a tensor."""
    model = nn.Linear(1, 600).to(dtype)
    monitor = GradientMonitor(model)
    with torch.no_grad():
        model.weight[0] = math.nan
    (model(torch.ones(4, 1, dtype=dtype)) ** power).mean().backward()
    monitor.step()
    assert monitor.diagnose().kinds == (("non-finite",) if power == 2 else ("healthy",))
    assert monitor.history.weight_norm.isna().tolist() == [True, False]


def test_a_gradient_of_another_size_is_refused():
    """Which torch allows in place."""
    model = nn.Linear(3, 2)
    model(torch.ones(1, 3)).sum().backward()
    reader = TorchReader(list(model.parameters()))
    reader.measure(1)
    model.bias.grad.resize_(5)
    with pytest.raises(MonitorError, match=r"must keep their shape, which was \(2,\) .* one has shape \(5,\)"):
        reader.measure(2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("unit", [1.0, 1e-30, 3e19, math.inf, math.nan])
def test_the_norm_of_all_is_the_same_taken_by_one_call_and_one_by_one(dtype, unit):
    """A sparse gradient beside the others has them taken one by one."""
    grads = [np.arange(1.0, 20.0) * unit, [[1.0, -2.0]], 3.0, []]
    model = model_of(*grads, dtype=dtype)
    alone = compute_grad_norm(model)
    model.append(nn.Parameter(torch.zeros(2, dtype=dtype)))
    model[-1].grad = torch.zeros(2, dtype=dtype).to_sparse()
    assert compute_grad_norm(model) == pytest.approx(alone, rel=1e-6, nan_ok=True)


def test_a_generator_read_twice_is_named_as_such():
    """The second reading finds nothing, and the message says why, not that parameters cannot be passed."""
    model = nn.Linear(2, 1)
    model(torch.ones(1, 2)).sum().backward()
    parameters = model.parameters()
    compute_grad_norm(parameters)
    with pytest.raises(InputError, match=r"the list is empty\. Pass .*parameters\(\) anew"):
        compute_grad_norm(parameters)


def test_the_norm_of_a_model_that_fsdp2_splits_is_that_of_the_whole():
    """In both processes, for any p, and where one process holds nothing of a layer."""

    def work(_):
        split, whole = (nn.Sequential(nn.Linear(6, 5), nn.Linear(5, 1)) for _ in "ab")
        split.load_state_dict(whole.state_dict())
        mesh = init_device_mesh("cpu", (2,))
        fully_shard(split, mesh=mesh)
        for p, q in zip(split.parameters(), whole.parameters(), strict=True):
            q.grad = torch.arange(1.0, q.numel() + 1).reshape(q.shape) * 1e20
            p.grad = distribute_tensor(q.grad, mesh, p.placements)
        return [[compute_grad_norm(model, p) for model in (split, whole)] for p in (1, 2, 3, math.inf)]

    for found in run_processes(work):
        for of_parts, of_whole in found:
            assert of_parts == pytest.approx(of_whole, rel=1e-6)
