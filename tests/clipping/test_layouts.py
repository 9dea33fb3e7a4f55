"""Clipping torch gradients that lie in memory with gaps, in parts, or on several processes."""

import math

import pytest
import torch
from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh

from course_lib.clipping import clip_by_global_norm
from course_lib.errors import InputError, NonFiniteError


def test_a_gradient_with_gaps_between_its_entries_is_clipped():
    """Torch finds it too hard to say whether entries of such a view overlap; what lies in the gaps stays."""
    whole = torch.tensor([[3.0, 9.0, 0.0, 9.0], [0.0, 9.0, 4.0, 9.0]])
    p = torch.nn.Parameter(torch.zeros(2, 2))
    p.grad = whole[:, ::2]
    assert clip_by_global_norm(p, 2.5).item() == 5
    assert whole.tolist() == [[1.5, 9.0, 0.0, 9.0], [0.0, 9.0, 2.0, 9.0]]


def test_the_part_of_one_process_is_refused():
    """Its norm is that of the whole only if the processes talk to each other, which nothing here does."""
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        part = distribute_tensor(torch.ones(4), init_device_mesh("cpu", (1,)), [Shard(0)])
        (p := torch.nn.Parameter(part)).sum().backward()
        with pytest.raises(InputError, match=r"DTensor.*holds a part"):
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
