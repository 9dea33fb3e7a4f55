"""What can be clipped, as type checkers and editors see it. Nothing here loads torch when the program runs."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeAlias

from course_lib.autograd import Tensor, nn

if TYPE_CHECKING:
    import torch

__all__ = ["Array", "OfAutograd", "OfTorch"]


class Array(Protocol):
    """An array of NumPy or JAX, whose size is a number, where a tensor's is a method; both pass for iterables."""

    @property
    def size(self) -> int:
        """The number of entries."""


OfAutograd: TypeAlias = (
    Tensor | nn.Module | Mapping[str, Tensor] | Iterable[Tensor] | Iterable[nn.Module] | Iterable[tuple[str, Tensor]]
)
OfTorch: TypeAlias = (
    "torch.Tensor | torch.nn.Module | Mapping[str, torch.Tensor] | Iterable[torch.Tensor] | Iterable[torch.nn.Module]"
    " | Iterable[tuple[str, torch.Tensor]]"
)
