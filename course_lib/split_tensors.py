"""What this process holds of a tensor that is split over several (a DTensor), and what the others hold."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from course_lib.extras import load

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributed import ProcessGroup

__all__ = ["gather_parts", "local_part", "placed_gradient", "split_over"]


def local_part(tensor: Any) -> "Tensor":
    """Return what this process holds of a DTensor; another tensor as it is."""
    part: Tensor = tensor.to_local() if hasattr(tensor, "device_mesh") else tensor
    return part


def split_over(tensor: Any) -> "tuple[ProcessGroup, ...]":
    """Return the groups of processes, each over one axis of its mesh, among which a DTensor is split; else none."""
    if (mesh := getattr(tensor, "device_mesh", None)) is None:
        return ()
    whole = [placed.is_replicate() or placed.is_partial() for placed in tensor.placements]  # is_shard() misses some
    return tuple(mesh.get_group(axis) for axis, here in enumerate(whole) if not here)


def placed_gradient(parameter: Any) -> Any:
    """Return a parameter's gradient, split as it is; what the processes have not added up yet (Partial) they do."""
    gradient = parameter.grad
    if not hasattr(gradient, "device_mesh") or gradient.placements == parameter.placements:
        return gradient
    return gradient.detach().redistribute(placements=parameter.placements)


def gather_parts(numbers: "Tensor", groups: "Iterable[ProcessGroup]") -> "Tensor":
    """Return the numbers of every process among which a tensor is split, stacked; all must call this."""
    distributed, numbers = load("torch.distributed", extra="torch"), numbers.unsqueeze(0)
    for group in groups:
        found = [numbers.new_empty(numbers.shape) for _ in range(group.size())]
        distributed.all_gather(found, numbers, group=group)
        numbers = load("torch", extra="torch").cat(found)
    return numbers
