"""Layers, as torch.nn has them: what the chapters use, with torch's names, defaults and initial distributions."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from course_lib.autograd import ops
from course_lib.autograd.ops import activations, elementwise, layers, linalg, losses, random, shape
from course_lib.autograd.tensor import Tensor
from course_lib.autograd.variable import new_tensor
from course_lib.errors import AutogradError

__all__ = [
    "GELU", "BatchNorm1d", "CrossEntropyLoss", "Dropout", "Flatten", "LayerNorm", "Linear", "MSELoss", "Module",
    "Parameter", "RNNCell", "ReLU", "Sequential", "Sigmoid", "Tanh", "functional",
]  # fmt: skip

functional = ops


class Parameter(Tensor):
    """A leaf that a module owns and an optimizer changes."""

    __slots__ = ()

    def __init__(self, data: Tensor, requires_grad: bool = True) -> None:
        super().__init__(data.value, requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


def uniform(bound: float, *size: int) -> Parameter:
    """Draw a parameter from ``[-bound, bound]``."""
    return Parameter(new_tensor(random.generator().uniform(-bound, bound, size).astype(np.float32)))


class Module:
    """A function with parameters: subclass it, set parameters and modules as attributes, and define ``forward``."""

    def __init__(self) -> None:
        self.training = True

    def forward(self, *args: Any) -> Any:
        """Compute the output."""
        raise AutogradError(f"a module must define forward(), but {type(self).__name__} does not. Write one.")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output."""
        return self.forward(*args, **kwargs)

    def named_children(self) -> Iterator[tuple[str, "Module"]]:
        """Go through the modules of this one."""
        yield from ((name, value) for name, value in vars(self).items() if isinstance(value, Module))

    def modules(self) -> Iterator["Module"]:
        """Go through this module and all below it."""
        yield self
        for _, child in self.named_children():
            yield from child.modules()

    def named_tensors(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """Go through parameters and buffers, such as running statistics, by their dotted names."""
        yield from ((prefix + name, value) for name, value in vars(self).items() if isinstance(value, Tensor))
        for name, child in self.named_children():
            yield from child.named_tensors(f"{prefix}{name}.")

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Go through the parameters by their dotted names, each once."""
        seen: set[Parameter] = set()
        for name, value in self.named_tensors():
            if isinstance(value, Parameter) and value not in seen:
                seen.add(value)
                yield name, value

    def parameters(self) -> Iterator[Parameter]:
        """Go through the parameters, each once."""
        yield from (p for _, p in self.named_parameters())

    def zero_grad(self) -> None:
        """Forget the gradients of all parameters."""
        for p in self.parameters():
            p.grad = None

    def train(self, mode: bool = True) -> "Module":
        """Switch dropout and batch normalization to training, or with False to use."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> "Module":
        """Switch dropout and batch normalization to use."""
        return self.train(False)

    def state_dict(self) -> dict[str, Tensor]:
        """Name all parameters and buffers."""
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
            value.copy_(state_dict[name])

    def __repr__(self) -> str:
        inner = [f"({name}): {child!r}".replace("\n", "\n  ") for name, child in self.named_children()]
        body = "\n  ".join(["", *inner]) + "\n" if inner else self.extra_repr()
        return f"{type(self).__name__}({body})"

    def extra_repr(self) -> str:
        """Describe the settings."""
        return ""


class Linear(Module):
    """:math:`y = x W^T + b`, with W of shape ``(out_features, in_features)``."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        bound = 1 / math.sqrt(in_features) if in_features else 0.0
        self.weight = uniform(bound, out_features, in_features)
        self.bias = uniform(bound, out_features) if bias else None

    def forward(self, input: Tensor) -> Tensor:
        """From ``(..., in_features)`` to ``(..., out_features)``."""
        return linalg.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Describe the settings."""
        n, m = self.weight.shape
        return f"in_features={m}, out_features={n}, bias={self.bias is not None}"


class RNNCell(Module):
    r""":math:`h' = \tanh(W_{ih} x + b_{ih} + W_{hh} h + b_{hh})`."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(hidden_size)
        self.weight_ih = uniform(bound, hidden_size, input_size)
        self.weight_hh = uniform(bound, hidden_size, hidden_size)
        self.bias_ih, self.bias_hh = uniform(bound, hidden_size), uniform(bound, hidden_size)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """From ``(N, input_size)`` and ``(N, hidden_size)``, zeros if left out, to ``(N, hidden_size)``."""
        if hx is None:
            hx = new_tensor(np.zeros((*input.shape[:-1], self.weight_hh.shape[0]), input.dtype))
        x, h = linalg.linear(input, self.weight_ih, self.bias_ih), linalg.linear(hx, self.weight_hh, self.bias_hh)
        return elementwise.tanh(x + h)


class LayerNorm(Module):
    """Normalize over the last dimensions; see :func:`layer_norm`."""

    def __init__(self, normalized_shape: int | tuple[int, ...], eps: float = 1e-5) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.weight = Parameter(new_tensor(np.ones(self.normalized_shape, np.float32)))
        self.bias = Parameter(new_tensor(np.zeros(self.normalized_shape, np.float32)))

    def forward(self, input: Tensor) -> Tensor:
        """Keep the shape."""
        return layers.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class BatchNorm1d(Module):
    """Normalize each feature over the batch; see :func:`batch_norm`."""

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = Parameter(new_tensor(np.ones(num_features, np.float32)))
        self.bias = Parameter(new_tensor(np.zeros(num_features, np.float32)))
        self.running_mean = new_tensor(np.zeros(num_features, np.float32))
        self.running_var = new_tensor(np.ones(num_features, np.float32))
        self.num_batches_tracked = new_tensor(np.zeros((), np.int64))

    def forward(self, input: Tensor) -> Tensor:
        """Keep the shape, ``(N, C)`` or ``(N, C, L)``."""
        if self.training:
            self.num_batches_tracked.value += 1
        state = (self.running_mean, self.running_var, self.weight, self.bias)
        return layers.batch_norm(input, *state, self.training, self.momentum, self.eps)


class Dropout(Module):
    """Drop elements in training; see :func:`dropout`."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, input: Tensor) -> Tensor:
        """Keep the shape."""
        return layers.dropout(input, self.p, self.training)

    def extra_repr(self) -> str:
        """Describe the settings."""
        return f"p={self.p}, inplace=False"


class Sequential(Module):
    """Modules one after another, by number."""

    def __init__(self, *modules: Module) -> None:
        super().__init__()
        for i, module in enumerate(modules):
            setattr(self, str(i), module)

    def __iter__(self) -> Iterator[Module]:
        return (child for _, child in self.named_children())

    def __len__(self) -> int:
        return len(list(self.named_children()))

    def __getitem__(self, i: int) -> Module:
        return [child for _, child in self.named_children()][i]

    def forward(self, input: Tensor) -> Tensor:
        """Call each on what the one before returned."""
        for module in self:
            input = module(input)
        return input


def layer(name: str, function: Any, doc: str) -> Any:
    """Make a module of a function without settings."""
    return type(
        name, (Module,), {"forward": lambda self, *args: function(*args), "__doc__": doc, "__module__": __name__}
    )


ReLU = layer("ReLU", activations.relu, "See :func:`relu`.")
Tanh = layer("Tanh", elementwise.tanh, "See :func:`tanh`.")
Sigmoid = layer("Sigmoid", activations.sigmoid, "See :func:`sigmoid`.")
GELU = layer("GELU", activations.gelu, "See :func:`gelu`.")
Flatten = layer("Flatten", lambda x: shape.flatten(x, 1), "Keep the first dimension and join the others.")
MSELoss = layer("MSELoss", losses.mse_loss, "See :func:`mse_loss`.")
CrossEntropyLoss = layer("CrossEntropyLoss", losses.cross_entropy, "See :func:`cross_entropy`.")
