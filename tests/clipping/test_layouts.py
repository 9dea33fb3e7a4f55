"""Clipping torch gradients that lie in memory with gaps, in parts, or on several processes."""

import math

import pytest
import torch
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor, init_device_mesh

from course_lib.clipping import clip_by_global_norm, clip_by_value
from course_lib.errors import InputError, NonFiniteError
from course_lib.training import run_processes


def test_a_gradient_with_gaps_between_its_entries_is_clipped():
    """Torch finds it too hard to say whether entries of such a view overlap; what lies in the gaps stays."""
    whole = torch.tensor([[3.0, 9.0, 0.0, 9.0], [0.0, 9.0, 4.0, 9.0]])
    p = torch.nn.Parameter(torch.zeros(2, 2))
    p.grad = whole[:, ::2]
    assert clip_by_global_norm(p, 2.5).item() == 5
    assert whole.tolist() == [[1.5, 9.0, 0.0, 9.0], [0.0, 9.0, 2.0, 9.0]]


def split_and_clipped(rank, clip, scale, dtype):
    """Clip the same gradients split by FSDP2 and whole, in one of two processes; return both, with their norms."""
    split, whole = (nn.Sequential(nn.Linear(5, 3), nn.Linear(3, 1, bias=False)).to(dtype) for _ in "ab")
    mesh, generator = init_device_mesh("cpu", (2,)), torch.Generator().manual_seed(0)
    fully_shard(split, mesh=mesh)
    for p, q in zip(split.parameters(), whole.parameters(), strict=True):
        q.grad = scale * torch.randn(q.shape, generator=generator, dtype=dtype)
        p.grad = distribute_tensor(q.grad, mesh, p.placements)
    options = [{}] if clip is clip_by_value else [{}, {"norm_type": 3}, {"norm_type": math.inf}]
    norms = [[clip(model, 0.5 * scale, **each).item() for each in options] for model in (split, whole)]
    return norms, [(p.grad.full_tensor(), q.grad) for p, q in zip(split.parameters(), whole.parameters(), strict=True)]


@pytest.mark.parametrize("clip", [clip_by_global_norm, clip_by_value])
def test_gradients_that_fsdp2_splits_are_clipped_as_whole_ones(clip):
    """In both processes alike, one of which holds no part of the last layer; also where squares are out of range."""

    def work(rank):
        return [split_and_clipped(rank, clip, s, d) for d in (torch.float32, torch.bfloat16) for s in (1, 1e-25, 1e25)]

    for found in run_processes(work):
        for norms, grads in found:
            assert norms[0] == pytest.approx(norms[1], rel=1e-6)
            for split, whole in grads:
                torch.testing.assert_close(split, whole, rtol=2e-2 if whole.dtype == torch.bfloat16 else 1e-6, atol=0)


def test_what_is_not_finite_in_one_process_is_known_to_all():
    """So that none clips, and none waits for another."""

    def work(rank):
        p = nn.Parameter(distribute_tensor(torch.zeros(4), mesh := init_device_mesh("cpu", (2,)), [Shard(0)]))
        p.grad = distribute_tensor(torch.tensor([1.0, 2.0, 3.0, math.nan]), mesh, [Shard(0)])
        try:
            clip_by_global_norm([p], 1.0)
        except NonFiniteError as error:
            return str(error), p.grad.full_tensor().tolist()

    for message, grad in run_processes(work):
        assert "holds NaN" in message
        assert grad[:3] == [1, 2, 3]


def test_a_gradient_that_is_not_added_up_yet_is_refused():
    """Each process has a summand, whose norm says nothing of the sum's."""
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        p = nn.Parameter(distribute_tensor(torch.ones(4), mesh := init_device_mesh("cpu", (1,)), [Replicate()]))
        p.grad = DTensor.from_local(torch.ones(4), mesh, [Partial()])
        with pytest.raises(InputError, match=r"have not added up.*redistribute"):
            clip_by_global_norm([p], 1.0)
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_a_nested_gradient_is_refused(layout):
    """By that word, whichever of torch's two kinds it is."""
    rows = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=layout)
    p = torch.nn.Parameter(rows)
    torch.nested.to_padded_tensor(p, 0.0).sum().backward()
    with pytest.raises(InputError, match=r"but it is nested\. Make it dense first"):
        clip_by_global_norm([p], 1.0)


def test_where_no_gradient_can_be_recorded_those_made_there_are_clipped():
    """In inference mode they can be written; elsewhere they are refused."""
    with torch.inference_mode():
        p = torch.nn.Parameter(torch.zeros(2))
        p.grad = torch.tensor([3.0, 4.0])
        assert clip_by_global_norm([p], 2.5).item() == 5
        assert p.grad.tolist() == [1.5, 2.0]


def test_a_gradient_that_is_retained_is_clipped():
    """Of a tensor that is no leaf; reading that of one which does not keep it would warn."""
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    h, passing = w * 1, w * 2
    h.retain_grad()
    (h**2 / 2 + passing).sum().backward()
    assert clip_by_global_norm([h, passing], 2.5).item() == 5
    assert h.grad.tolist() == [1.5, 2.0]


def test_a_gradient_has_its_own_name_whatever_kernel_measures_it():
    """Those of one dtype are measured together, and what is empty not at all."""
    sizes = [(1, torch.float32), (1, torch.float64), (0, torch.float32), (1, torch.float32)]
    params = [torch.nn.Parameter(torch.zeros(size, dtype=dtype)) for size, dtype in sizes]
    for p in params:
        p.grad = torch.ones_like(p)
    params[3].grad.fill_(math.nan)
    with pytest.raises(NonFiniteError, match=r"that of target\[3\] holds NaN\. Nothing"):
        clip_by_global_norm(params, 1.0)
