"""Modules, and the parameters that they own."""

from collections.abc import Iterator
from typing import Any

from course_lib.autograd.tensor import Tensor
from course_lib.errors import AutogradError

__all__ = ["Module", "Parameter"]


class Parameter(Tensor):
    """Parameter: a leaf that a module owns and an optimizer updates.

    Examples
    --------
    >>> from course_lib.autograd import nn, zeros
    >>> nn.Parameter(zeros(2))
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """

    __slots__ = ()

    def __init__(self, data: Tensor, requires_grad: bool = True) -> None:
        super().__init__(data.value, requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


class Module:
    """Base class of networks and layers: set parameters and modules as attributes, and define ``forward``.

    Examples
    --------
    >>> from course_lib.autograd import nn, ones
    >>> class Double(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = nn.Linear(2, 1)
    ...     def forward(self, x):
    ...         return 2 * self.layer(x)
    >>> model = Double()
    >>> [name for name, _ in model.named_parameters()], model(ones(5, 2)).shape
    (['layer.weight', 'layer.bias'], (5, 1))
    """

    def __init__(self) -> None:
        self.training = True

    def forward(self, *args: Any) -> Any:
        """Compute the output."""
        raise AutogradError(f"a module must define forward(), but {type(self).__name__} does not. Write one.")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output."""
        return self.forward(*args, **kwargs)

    def named_children(self) -> Iterator[tuple[str, "Module"]]:
        """Iterate over the direct submodules with their names."""
        yield from ((name, value) for name, value in vars(self).items() if isinstance(value, Module))

    def modules(self) -> Iterator["Module"]:
        """Iterate over this module and all its submodules."""
        yield self
        for _, child in self.named_children():
            yield from child.modules()

    def named_tensors(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """Iterate over parameters and buffers, such as running statistics, with their dotted names."""
        yield from ((prefix + name, value) for name, value in vars(self).items() if isinstance(value, Tensor))
        for name, child in self.named_children():
            yield from child.named_tensors(f"{prefix}{name}.")

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Iterate over the parameters with their dotted names, each once."""
        seen: set[Parameter] = set()
        for name, value in self.named_tensors():
            if isinstance(value, Parameter) and value not in seen:
                seen.add(value)
                yield name, value

    def parameters(self) -> Iterator[Parameter]:
        """Iterate over the parameters, each once."""
        yield from (p for _, p in self.named_parameters())

    def zero_grad(self) -> None:
        """Reset the gradients of all parameters."""
        for p in self.parameters():
            p.grad = None

    def train(self, mode: bool = True) -> "Module":
        """Switch dropout and batch normalization to training mode, or with False to evaluation mode."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> "Module":
        """Switch dropout and batch normalization to evaluation mode."""
        return self.train(False)

    def state_dict(self) -> dict[str, Tensor]:
        """Return all parameters and buffers by name."""
        return {name: value.detach() for name, value in self.named_tensors()}

    def load_state_dict(self, state_dict: dict[str, Tensor]) -> None:
        """Copy parameters and buffers from another module's :meth:`state_dict`."""
        own = self.state_dict()
        if own.keys() != state_dict.keys():
            raise AutogradError(
                f"the names must be those of this module, but {sorted(own.keys() - state_dict.keys())} are missing and "
                f"{sorted(state_dict.keys() - own.keys())} are unknown. Load it into a module made in the same way."
            )
        for name, value in own.items():
            if state_dict[name].shape != value.shape:
                raise AutogradError(
                    f"{name} must have the shape it has in this module, {value.shape}, but it came with "
                    f"{state_dict[name].shape}. Load it into a module made in the same way."
                )
        for name, value in own.items():
            value.copy_(state_dict[name])

    def __repr__(self) -> str:
        inner = [f"({name}): {child!r}".replace("\n", "\n  ") for name, child in self.named_children()]
        body = "\n  ".join(["", *inner]) + "\n" if inner else self.extra_repr()
        return f"{type(self).__name__}({body})"

    def extra_repr(self) -> str:
        """Describe the settings."""
        return ""
