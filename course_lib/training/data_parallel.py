"""Processes that train one model together, as DDP's and FSDP2's do: what each has, added up or gathered."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from course_lib.extras import load

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

__all__ = ["add_over_processes", "gather_over_processes", "rank_among_processes", "reshard"]


def add_over_processes(numbers: Sequence[float], model: Any) -> list[float]:
    """Return the sums of some numbers over the processes of a torch model, the same in all of them, in one exchange."""
    groups = _process_groups(getattr(model, "_orig_mod", model))  # of a model that torch.compile wraps
    if not groups:
        return list(numbers)
    torch = load("torch", extra="torch")
    sums = torch.tensor(numbers, dtype=torch.float64, device=next(model.parameters()).device)
    for group in groups:
        torch.distributed.all_reduce(sums, group=group)
    found: list[float] = sums.tolist()
    return found


def gather_over_processes(value: Any, model: Any) -> list[Any]:
    """Return the plain values that the processes of a torch model have, by their ranks."""
    found = [value]
    for group in _process_groups(getattr(model, "_orig_mod", model)):
        found = [None] * group.size()
        load("torch", extra="torch").distributed.all_gather_object(found, value, group=group)
    return found


def rank_among_processes(model: Any) -> int:
    """Return the rank of this process among those that train a torch model of DDP's; 0 if it trains alone."""
    return next((group.rank() for group in _process_groups(getattr(model, "_orig_mod", model))), 0)


def _process_groups(model: Any) -> "list[ProcessGroup]":
    """Return the groups of processes among which a model's data is divided; none for one that trains alone."""
    if isinstance(model, load("torch.nn.parallel", extra="torch").DistributedDataParallel):
        return [model.process_group]
    if _is_sharded(model):
        reshard(model)
        mesh = next((p.device_mesh for p in model.parameters() if hasattr(p, "device_mesh")), None)
        return [] if mesh is None else [mesh.get_group(axis) for axis in range(mesh.ndim)]
    return []


def reshard(model: Any) -> None:
    """Have FSDP2 put a model's parameters back: after a forward pass alone, the outermost are still gathered."""
    for module in model.modules():
        if _is_sharded(module):
            module.reshard()


def _is_sharded(module: Any) -> bool:
    """Return whether FSDP2's fully_shard was called on a module; whoever did has imported it."""
    fsdp = sys.modules.get("torch.distributed.fsdp")
    return fsdp is not None and isinstance(module, fsdp.FSDPModule)
