"""Find out whether gradients are zeroed between steps, from one parameter."""

from typing import Any

__all__ = ["ZeroWatch"]


class ZeroWatch:
    """Looks at what one parameter's ``.grad`` holds each time a backward pass is about to add to it.

    If it was never empty since the last reading, nobody zeroed it. Norms cannot tell that: gradients that
    add up look much like gradients that grow. The look is a hook on this one tensor, and costs nothing on a
    device: the number stays there until the monitor reads its own.

    Parameters
    ----------
    parameter : torch.Tensor or course_lib.autograd.Tensor
        A leaf that requires grad; a small one is cheap.
    """

    def __init__(self, parameter: Any) -> None:
        self.parameter = parameter
        self.empty = self.visited = False
        self.left: Any = None
        self.handle = parameter.register_hook(self.look)

    def look(self, _: Any) -> None:
        """Note the largest absolute value that is still there."""
        old = self.parameter.grad
        self.visited = True
        self.empty = self.empty or old is None
        if not self.empty:
            left = largest(old.detach())
            self.left = left if self.left is None else (left + self.left - abs(left - self.left)) / 2

    def waiting(self) -> Any:
        """Return the least of these numbers since the last call, unread, or None if the gradient was seen empty."""
        left = None if self.empty or not self.visited else self.left
        self.empty, self.visited, self.left = False, False, None
        return left

    def close(self) -> None:
        """Take the hook away."""
        self.handle.remove()


def largest(gradient: Any) -> Any:
    """Return the largest absolute value, unread."""
    if getattr(gradient, "is_sparse", False):
        gradient = gradient.coalesce().values()
        if not gradient.numel():
            return gradient.sum()
    return abs(gradient).max()
