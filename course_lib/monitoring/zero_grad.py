"""Detect gradients that are not zeroed between steps, from one parameter at a time."""

from collections.abc import Callable, Iterable, Mapping
from math import gcd, prod
from typing import Any

from course_lib.extras import load
from course_lib.frameworks import is_torch_tensor
from course_lib.monitoring.reading.trainable_parameters import shape_tuple
from course_lib.types import AnyTensor

__all__ = ["ZeroGradWatch"]

LARGE = 1 << 16  # elements; to look at more would cost more than all the rest of a step
GOLDEN = 0.618  # of the way through the model to the next one: soon all parts of it have been looked at


class ZeroGradWatch:
    """Reads what one parameter's ``.grad`` holds each time a backward pass is about to add to it.

    If it was never empty since the last reading, nobody zeroed it. Norms cannot tell that: gradients that
    add up look much like gradients that grow. The look is a hook on this one tensor, and costs nothing on a
    device: the number stays there until the monitor reads its own. It counts once a second hook says that something
    was added, which ``autograd.grad`` does not. What is true of one parameter need not be of another, such as one that
    a second optimizer has, so the hooks move on when they are asked to.

    Parameters
    ----------
    parameters : mapping of str to torch.Tensor or course_lib.autograd.Tensor
        Leaves that require grad. The smallest of each layer is looked at in turn, unless it is large.
    first : int
        Which of them is looked at first.

    Attributes
    ----------
    seen : int
        Which parameter the last reading is of, or -1 if no backward pass reached it.
    """

    def __init__(self, parameters: Mapping[str, Any], first: int) -> None:
        self.parameters, self.turns = list(parameters.values()), _layer_order(parameters, first)
        self.empty = self.visited = False
        self.left: AnyTensor | None = None
        self.old: AnyTensor | None = None
        self.place, self.seen = first, -1
        self.handles = self._add_hooks(self.parameters[first])

    @classmethod
    def start(cls, parameters: Mapping[str, Any], norms: Iterable[float]) -> "ZeroGradWatch | None":
        """Begin with the smallest of the parameters whose gradient is not zero; of split ones, no hook sees it."""
        if any(hasattr(p, "device_mesh") for p in parameters.values()):
            return None
        sizes = [
            (prod(shape_tuple(p)), i)
            for i, (p, norm) in enumerate(zip(parameters.values(), norms, strict=True))
            if norm > 0
        ]
        return cls(parameters, min(sizes)[1]) if sizes else None

    def _add_hooks(self, p: Any) -> list[Any]:
        """Register both hooks on a parameter, and return their handles."""
        look: Callable[[AnyTensor], None] = self._note_left_over
        if is_torch_tensor(p):  # which would warn of each hook that does not go to another process with the parameter
            look = load("torch.utils.hooks", extra="torch").unserializable_hook(
                lambda gradient: self._note_left_over(gradient)
            )
        return [p.register_hook(look), p.register_post_accumulate_grad_hook(self._confirm_left_over)]

    def _note_left_over(self, _: AnyTensor) -> None:
        """Note the largest absolute value that is still there."""
        old = None if self.empty else self.parameters[self.place].grad
        self.old = None if old is None else _max_abs(old.detach())

    def _confirm_left_over(self, _: AnyTensor) -> None:
        """Let the last look count: something was added to the gradient."""
        left, self.old = self.old, None
        self.visited = True
        self.empty = self.empty or left is None
        if not self.empty:
            self.left = left if self.left is None else (left + self.left - abs(left - self.left)) / 2

    def take_left_over(self) -> AnyTensor | None:
        """Return the least of these numbers since the last call, on its device, or None if the gradient was empty."""
        left = None if self.empty or not self.visited else self.left
        self.seen = self.place if self.visited else -1
        self.empty, self.visited, self.left, self.old = False, False, None, None
        return left

    def move_on(self) -> None:
        """Go on to the next parameter that is trained."""
        for k, place in enumerate(self.turns, start=1):
            p = self.parameters[place]
            if p.requires_grad and p.grad is not None:
                self.turns = self.turns[k:] + self.turns[:k]
                self.close()
                self.place, self.handles = place, self._add_hooks(p)
                return

    def close(self) -> None:
        """Remove the hooks."""
        for handle in self.handles:
            handle.remove()


def _layer_order(parameters: Mapping[str, Any], first: int) -> list[int]:
    """Return the place of the smallest parameter of each layer, starting after ``first``, neighbours far apart.

    Examples
    --------
    >>> from course_lib.autograd import nn
    >>> model = nn.Sequential(*(nn.Linear(4, 4) for _ in range(5)))
    >>> _layer_order(dict(model.named_parameters()), 3)
    [9, 5, 1, 7, 3]
    """
    sizes = [prod(shape_tuple(p)) for p in parameters.values()]
    smallest: dict[str, int] = {}
    for i, name in enumerate(parameters):
        layer = name.rpartition(".")[0]
        if 0 < sizes[i] <= LARGE and sizes[i] <= sizes[smallest.get(layer, i)]:
            smallest[layer] = i
    places = sorted({first, *smallest.values()})
    stride = max(1, round(GOLDEN * len(places)))
    while gcd(stride, len(places)) > 1:
        stride += 1
    start = places.index(first)
    return [places[(start + k * stride) % len(places)] for k in range(1, len(places) + 1)]


def _max_abs(gradient: Any) -> AnyTensor:
    """Return the largest absolute value, on its device."""
    if getattr(gradient, "is_sparse", False):
        gradient = gradient.coalesce().values()
        if not gradient.numel():
            nothing: AnyTensor = gradient.sum()
            return nothing
    largest: AnyTensor = abs(gradient).amax()
    return largest
