"""The inventory of what is held for the backward pass."""

from itertools import pairwise

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.checkpoint import checkpoint

from course_lib.costs import mlp, training_cost
from course_lib.errors import InputError
from course_lib.profiling import count_flops, saved_activations


def test_each_entry_says_who_saved_what():
    """Module, operation, shape, dtype and bytes; the ReLU's result, which the next layer saves too, is there once."""
    model, x = nn.Sequential(nn.Linear(6, 7), nn.ReLU(), nn.Linear(7, 3)), torch.randn(5, 6)
    found = saved_activations(lambda: model(x).sum())
    assert [(e.module, e.op, e.shape, e.dtype, e.bytes) for e in found.activations] == [
        ("0", "addmm", (5, 6), "float32", 120),
        ("1", "relu", (5, 7), "float32", 140),
    ]
    assert (found.total_bytes, found.parameter_bytes) == (260, 4 * 7 * 3)
    assert found.by_module() == {"1": 140, "0": 120}


@pytest.mark.parametrize("widths", [(8, 16, 4), (8, 16, 16, 16, 4)])
def test_the_total_is_what_the_formula_says(widths):
    """Against course_lib.costs, which counts by shapes alone."""
    layers = [part for d, f in pairwise(widths) for part in (nn.Linear(d, f), nn.ReLU())][:-1]
    model, x = nn.Sequential(*layers), torch.randn(5, widths[0])
    assert saved_activations(lambda: model(x).sum()).total_bytes == training_cost(mlp(5, widths)).saved_bytes


def test_what_was_dropped_on_the_way_is_not_held():
    """A metric computed with a graph and thrown away is gone when the forward pass is over."""
    layer, x = nn.Linear(6, 7), torch.randn(5, 6)

    def forward():
        h = layer(x)
        float(h.exp().mean().detach())
        return h.sum()

    assert [entry.op for entry in saved_activations(forward).activations] == ["addmm"]


def test_what_a_backward_pass_within_it_has_read_is_not_held():
    """As where an inner gradient is taken on the way: its graph is gone when the result is there."""
    model, x = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)), torch.randn(4, 8)
    once = saved_activations(lambda: model(x).sum())
    after = saved_activations(lambda: [model(x).sum().backward(), model(x).sum()][1])
    assert [str(entry) for entry in after.activations] == [str(entry) for entry in once.activations]


def test_parameters_and_buffers_are_left_out():
    """Batch norm saves its weight and running statistics, which are in memory anyway; a raw leaf is a parameter too."""
    norm, w = nn.BatchNorm1d(4), torch.randn(4, 4, requires_grad=True)
    x = torch.randn(8, 4)
    found = saved_activations(lambda: norm(x @ w).relu().sum())
    own = {entry.shape for entry in found.activations}
    assert own == {(8, 4), (4,)}
    assert (
        sum(e.bytes for e in found.activations if e.shape == (4,)) == 2 * 16
    )  # mean and standard deviation of the batch
    frozen = nn.Linear(4, 4).requires_grad_(False)
    x.requires_grad_()
    assert saved_activations(lambda: frozen(x).sum()).parameter_bytes == 64


def test_a_slice_holds_its_whole_storage():
    """2 of 100 numbers keep 100 alive."""
    x = torch.rand(100, requires_grad=True) * 1
    (entry,) = saved_activations(lambda: x[:2].log().sum()).activations
    assert (entry.shape, entry.bytes, entry.op) == ((2,), 400, "log")


@pytest.mark.parametrize(
    ("forward", "name"),
    [
        (lambda x: nn.functional.max_pool2d(x, 2), "max_pool2d_with_indices"),
        (lambda x: nn.functional.smooth_l1_loss(x, x + 1), "smooth_l1_loss"),
        (lambda x: torch.log1p(x), "log1p"),
        (lambda x: nn.functional.interpolate(x**2, scale_factor=2, mode="bilinear", antialias=True).exp(), "exp"),
    ],
)
def test_operations_have_the_names_that_torch_gives_them(forward, name):
    """Also those with a digit in them."""
    x = 2 * torch.ones(1, 1, 4, 4, requires_grad=True)
    assert name in {entry.op for entry in saved_activations(lambda: forward(x).sum()).activations}
    assert hasattr(torch.ops.aten, name)


def test_custom_functions_are_named_by_their_class():
    """And what checkpointing holds is the region's input."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x**2

    x = torch.ones(3, requires_grad=True)
    (entry,) = saved_activations(lambda: Cube.apply(x * 2).sum()).activations
    assert (entry.module, entry.op) == ("(outside modules)", "Cube")
    layers = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 3))
    h = x * 2
    held = saved_activations(lambda: checkpoint(layers, h, use_reentrant=False).sum())
    assert held.total_bytes == 12


def test_nothing_stays_behind():
    """No hook on any module afterwards, not even if the forward pass raises; random numbers as they were."""
    hooks = torch.nn.modules.module
    model, state = nn.Sequential(nn.Linear(3, 3), nn.Dropout()), torch.get_rng_state()
    saved_activations(lambda: model(torch.ones(2, 3)).sum())
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        saved_activations(lambda: model(torch.ones(2, 4)).sum())
    assert not hooks._global_forward_hooks
    assert not hooks._global_forward_pre_hooks
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("result", [None, 3.0])
def test_a_forward_pass_that_keeps_nothing_is_refused(result):
    """Its graph would be gone before it could be looked at."""
    with pytest.raises(InputError, match=f"it returned {type(result).__name__}"):
        saved_activations(lambda: result)


def test_what_is_computed_already_is_refused():
    """A loss in place of the function that computes it; FLOPs are counted in the same way."""
    for look in (saved_activations, count_flops):
        with pytest.raises(InputError, match=r"but got a Tensor.*Pass lambda: "):
            look(torch.ones(1))


def test_it_prints_as_a_table():
    """The largest first, the rest counted."""
    model = nn.Sequential(*(part for n in range(1, 16) for part in (nn.Linear(n, n + 1), nn.ReLU())))
    text = repr(saved_activations(lambda: model(torch.ones(2, 1)).sum()))
    lines = text.splitlines()
    assert lines[0].split() == ["module", "operation", "shape", "dtype", "size"]
    assert lines[1].split() == ["29", "relu", "(2,", "16)", "float32", "128", "B"]
    assert lines[-2] == "and 4 smaller"


@pytest.mark.parametrize("fake", [False, True])
def test_tensors_without_memory_are_told_apart(fake):
    """On the meta device, and under FakeTensorMode: the same inventory as of real ones."""

    def seen():
        model = nn.Sequential(nn.Linear(6, 7), nn.BatchNorm1d(7), nn.ReLU(), nn.Linear(7, 3))
        return saved_activations(lambda: model(torch.randn(5, 6)).sum())

    with FakeTensorMode() if fake else torch.device("meta"):
        found = seen()
    assert found == seen()
    assert found.total_bytes > 0


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
@pytest.mark.parametrize(("layout", "sizes"), [("coo", [80, 60, 20]), ("csr", [40, 60, 48, 20])])
def test_a_sparse_tensor_is_held_as_its_parts(layout, sizes):
    """Indices and values of each of the five entries; for rows that are packed, where each begins."""
    rows = torch.arange(6)
    packed = torch.sparse_csr_tensor(rows, rows[:5].clone(), torch.ones(5), size=(5, 5), check_invariants=True)
    graph = torch.eye(5).to_sparse() if layout == "coo" else packed
    layer, x = nn.Linear(3, 4), torch.randn(5, 3)
    found = saved_activations(lambda: torch.sparse.mm(graph, layer(x)).sum())
    assert sorted(e.bytes for e in found.activations) == sorted(sizes)
    assert {e.op for e in found.activations} == {"sparse_addmm", "addmm"}


def test_a_jagged_tensor_is_held_as_its_parts():
    """Six rows of three numbers, and where each of the two sequences begins and ends."""
    layer = nn.Linear(3, 4)
    x = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
    found = saved_activations(lambda: layer(x).values().sum())
    assert {(e.shape, e.bytes) for e in found.activations} >= {((6, 3), 72), ((3,), 24)}
    assert all(e.bytes for e in found.activations)


def test_what_a_forward_pass_moves_away_itself_is_not_seen():
    """As documented: its own hooks come first."""
    layer = nn.Linear(3, 4)

    def forward():
        with torch.autograd.graph.save_on_cpu():
            return layer(torch.ones(2, 3)).sum()

    assert saved_activations(forward).total_bytes == 0


def test_memory_that_runs_out_while_a_region_runs_again_is_passed_on():
    """It looks like a tensor that was changed in place, which is no reason to stop."""
    runs = []

    def region(x):
        runs.append(None)
        if len(runs) > 1:
            raise torch.OutOfMemoryError("out of memory")
        return x.sin()

    x = torch.ones(3, requires_grad=True)
    with pytest.raises(torch.OutOfMemoryError):
        saved_activations(lambda: checkpoint(region, x, use_reentrant=False).sum())
