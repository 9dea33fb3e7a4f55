"""Models that are split over processes (FSDP2, tensor parallelism): the numbers of one process, in all of them."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from course_lib.clipping import clip_by_global_norm
from course_lib.monitoring import GradientMonitor, compute_grad_norm, log_gradient_stats
from course_lib.training import run_processes

STEPS = 14


def network(dtype=torch.float32, *, scale=1.0):
    """Dead units but one, a frozen weight, and a last layer of one row, of which a process holds nothing."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 21), nn.ReLU(), nn.Linear(21, 5), nn.ReLU(), nn.Linear(5, 1)).to(dtype)
    with torch.no_grad():
        model[0].bias[:20] = -100.0
        model[4].weight.mul_(scale)
    model[2].weight.requires_grad_(False)
    return model


def shard(model):
    """Split the layers and the rest over both processes."""
    mesh = init_device_mesh("cpu", (2,))
    for layer in model[0], model[2]:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def watch(model, *, bad_batch=None):
    """Train, watched; return the history as numbers, what was said, and the statistics of the last step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    torch.manual_seed(1)
    monitor = GradientMonitor(model)
    for step in range(STEPS):
        optimizer.zero_grad()
        x = torch.randn(8, 6, dtype=model[0].weight.dtype)
        model(x if step != bad_batch else x * math.nan).square().mean().backward()
        monitor.step()
        stats, norm = log_gradient_stats(model), compute_grad_norm(model)
        optimizer.step()
    said = monitor.diagnose()  # on one process alone, it would not wait for others
    monitor.close()
    rows = [list(vars(row).values())[1:] for row in stats.values()]
    return monitor.history.drop(columns="parameter").to_numpy(float), said.kinds, str(said), rows, norm, list(stats)


CASES = [
    (torch.float32, 1.0, None),
    (torch.float64, 1e-170, None),
    (torch.float32, 1.0, 5),
    (torch.bfloat16, 1.0, None),
]


def test_what_is_measured_of_a_split_model_is_that_of_one_process():
    """Statistics, updates, what is dead and what is said; also where squares underflow, and from a NaN on."""

    def work(_):
        return [watch(shard(network(dtype, scale=scale)), bad_batch=bad) for dtype, scale, bad in CASES]

    for of_process in run_processes(work):
        for (dtype, scale, bad), found in zip(CASES, of_process, strict=True):
            history, kinds, said, rows, norm, names = watch(network(dtype, scale=scale), bad_batch=bad)
            close = {"rtol": 2e-2 if dtype == torch.bfloat16 else 2e-4, "atol": 0 if dtype == torch.float64 else 1e-7}
            np.testing.assert_allclose(found[0], history, **close)
            np.testing.assert_allclose(np.array(found[3], float), np.array(rows, float), **close)
            assert found[4] == pytest.approx(norm, rel=close["rtol"], nan_ok=True)
            assert (found[1], found[5]) == (kinds, names)
            assert kinds[:1] == ("non-finite",) if bad else kinds == ("dead",), said
            assert ("dead" in found[2]) == ("dead" in said)


def test_a_model_split_by_fsdp2_and_by_tensor_parallelism_has_the_norm_of_the_whole():
    """Where the one splits what the other has split, torch does not call it a shard."""

    def work(_):
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor"))
        plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
        torch.manual_seed(0)
        whole = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 1))
        split = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 1))
        split.load_state_dict(whole.state_dict())
        fully_shard(parallelize_module(split, mesh["tensor"], plan), mesh=mesh["data"])
        x = torch.randn(4, 6)
        for model in (split, whole):
            model(x).square().mean().backward()
        table = [log_gradient_stats(model).frame().drop(columns="shape").to_numpy(float) for model in (split, whole)]
        return [[compute_grad_norm(m), clip_by_global_norm(m, 0.1).item()] for m in (split, whole)], table

    for (of_parts, of_whole), (parts, whole) in run_processes(work, 4):
        assert of_parts == pytest.approx(of_whole, rel=1e-5)
        np.testing.assert_allclose(parts, whole, rtol=1e-5)


def test_summands_that_the_processes_hold_are_added_up_before_they_are_measured():
    """As of a replicated weight whose inputs are split: what counts is the sum."""

    def work(rank):
        mesh = init_device_mesh("cpu", (2,))
        model = nn.ParameterList()
        for placement in Replicate(), Shard(0):
            model.append(
                nn.Parameter(DTensor.from_local(torch.zeros(4), mesh, [Replicate()]).redistribute(mesh, [placement]))
            )
            model[-1].grad = DTensor.from_local(torch.arange(4.0) * (rank + 1), mesh, [Partial()])
        return compute_grad_norm(model), [row.max for row in log_gradient_stats(model).values()]

    for norm, largest in run_processes(work):
        assert norm == pytest.approx(math.sqrt(2 * 9 * 14))
        assert largest == [9, 9]


def test_one_exchange_is_made_for_each_step_that_is_measured():
    """However many parameters there are: ten numbers of each travel together."""

    def work(_):
        model, gathered = shard(network()), []
        gather = torch.distributed.all_gather
        torch.distributed.all_gather = lambda *args, **options: gathered.append(args) or gather(*args, **options)
        with GradientMonitor(model, every=2) as monitor:
            for _ in range(4):
                model(torch.ones(2, 6)).square().mean().backward()
                monitor.step()
        return len(gathered)

    assert run_processes(work) == [2, 2]


def test_the_histograms_of_the_processes_add_up_to_that_of_the_whole():
    """Each counts the elements that it holds."""

    def count(model):
        torch.manual_seed(1)
        model(torch.randn(8, 6)).square().mean().backward()
        with GradientMonitor(model, histogram_every=1) as monitor:
            monitor.step()
        return monitor._history.histograms[-1][1]

    parts = run_processes(lambda _: count(shard(network())))
    assert sum(parts).tolist() == count(network()).tolist()
