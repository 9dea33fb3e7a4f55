"""Layers: the names, defaults and initial distributions of ``torch.nn``."""

import math
from collections.abc import Iterator
from inspect import signature
from typing import Any

import numpy as np

from course_lib.autograd.creation import generator
from course_lib.autograd.nn import functional as F  # noqa: N812 - as everybody calls it
from course_lib.autograd.nn.functional.dropout import check_probability
from course_lib.autograd.nn.module import Module, Parameter
from course_lib.autograd.ops import shape
from course_lib.autograd.tensor import Tensor
from course_lib.autograd.variable import new_tensor
from course_lib.errors import AutogradError

__all__ = [
    "GELU", "BatchNorm1d", "CrossEntropyLoss", "Dropout", "Flatten", "LayerNorm", "Linear", "MSELoss", "RNNCell",
    "ReLU", "Sequential", "Sigmoid", "Tanh",
]  # fmt: skip


def _draw_parameter(bound: float, *size: int) -> Parameter:
    """Draw a parameter from ``[-bound, bound]``."""
    return Parameter(new_tensor(generator.uniform(-bound, bound, size).astype(np.float32)))


class Linear(Module):
    """Linear layer :math:`y = x W^T + b`, with W of shape ``(out_features, in_features)``.

    Examples
    --------
    >>> from course_lib.autograd import nn, ones
    >>> layer = nn.Linear(3, 2)
    >>> layer.weight.shape, layer.bias.shape, layer(ones(5, 3)).shape
    ((2, 3), (2,), (5, 2))
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        bound = 1 / math.sqrt(in_features) if in_features else 0.0
        self.weight = _draw_parameter(bound, out_features, in_features)
        self.bias = _draw_parameter(bound, out_features) if bias else None

    def forward(self, input: Tensor) -> Tensor:
        """From ``(..., in_features)`` to ``(..., out_features)``."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Describe the settings."""
        n, m = self.weight.shape
        return f"in_features={m}, out_features={n}, bias={self.bias is not None}"


class RNNCell(Module):
    r"""Recurrent cell :math:`h' = \tanh(W_{ih} x + b_{ih} + W_{hh} h + b_{hh})`.

    Examples
    --------
    >>> from course_lib.autograd import nn, ones
    >>> cell = nn.RNNCell(3, 4)
    >>> h = cell(ones(5, 3))
    >>> cell(ones(5, 3), h).shape
    (5, 4)
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(hidden_size)
        self.weight_ih = _draw_parameter(bound, hidden_size, input_size)
        self.weight_hh = _draw_parameter(bound, hidden_size, hidden_size)
        self.bias_ih, self.bias_hh = _draw_parameter(bound, hidden_size), _draw_parameter(bound, hidden_size)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """From ``(N, input_size)`` and ``(N, hidden_size)``, zeros if left out, to ``(N, hidden_size)``."""
        if hx is None:
            hx = new_tensor(np.zeros((*input.shape[:-1], self.weight_hh.shape[0]), input.dtype))
        x, h = F.linear(input, self.weight_ih, self.bias_ih), F.linear(hx, self.weight_hh, self.bias_hh)
        return F.tanh(x + h)

    def extra_repr(self) -> str:
        """Describe the settings."""
        hidden, inputs = self.weight_ih.shape
        return f"{inputs}, {hidden}"


class LayerNorm(Module):
    """Normalize over the last dimensions; see :func:`layer_norm`.

    Examples
    --------
    >>> from course_lib.autograd import nn, tensor
    >>> nn.LayerNorm(2)(tensor([[1.0, 3.0], [10.0, 30.0]])).detach()
    tensor([[-1.0000,  1.0000],
            [-1.0000,  1.0000]])
    """

    def __init__(self, normalized_shape: int | tuple[int, ...], eps: float = 1e-5) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.weight = Parameter(new_tensor(np.ones(self.normalized_shape, np.float32)))
        self.bias = Parameter(new_tensor(np.zeros(self.normalized_shape, np.float32)))

    def forward(self, input: Tensor) -> Tensor:
        """Keep the shape."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Describe the settings."""
        return f"{self.normalized_shape}, eps={self.eps}"


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
        if input.ndim not in (2, 3):
            raise AutogradError(
                f"BatchNorm1d takes (N, C) or (N, C, L), but the shape is {input.shape}. Reshape, or use batch_norm()."
            )
        if self.training:
            self.num_batches_tracked.value += 1
        state = (self.running_mean, self.running_var, self.weight, self.bias)
        return F.batch_norm(input, *state, self.training, self.momentum, self.eps)

    def extra_repr(self) -> str:
        """Describe the settings."""
        return f"{self.weight.shape[0]}, eps={self.eps}, momentum={self.momentum}"


class Dropout(Module):
    """Drop elements in training; see :func:`dropout`.

    Examples
    --------
    >>> from course_lib.autograd import nn, ones
    >>> nn.Dropout(0.9).eval()(ones(3))
    tensor([1., 1., 1.])
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        check_probability(p)
        self.p = p

    def forward(self, input: Tensor) -> Tensor:
        """Keep the shape."""
        return F.dropout(input, self.p, self.training)

    def extra_repr(self) -> str:
        """Describe the settings."""
        return f"p={self.p}, inplace=False"


class Sequential(Module):
    """Container of modules that are called one after another, and named by number.

    Examples
    --------
    >>> from course_lib.autograd import nn, ones
    >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    >>> model(ones(5, 3)).shape, len(model), [name for name, _ in model.named_parameters()]
    ((5, 1), 3, ['0.weight', '0.bias', '2.weight', '2.bias'])
    """

    def __init__(self, *modules: Module) -> None:
        super().__init__()
        for i, module in enumerate(modules):
            if not isinstance(module, Module):
                raise AutogradError(
                    f"Sequential() takes modules, but number {i} is a {type(module).__name__}. Pass them one by one: "
                    "Sequential(*list)."
                )
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


def _define_layer(name: str, function: Any, doc: str, *, shown: bool = False) -> Any:
    """Define a module class from a function of tensors; its settings are its arguments, and may be ``shown``."""
    defaults = {p.name: p.default for p in signature(function).parameters.values() if p.default is not p.empty}

    class Layer(Module):
        def __init__(self, *args: Any, **settings: Any) -> None:
            super().__init__()
            self.settings = dict(zip(defaults, args, strict=False)) | settings
            if len(args) + len(settings) > len(self.settings) or not self.settings.keys() <= defaults.keys():
                given = ", ".join([*map(repr, args), *(f"{k}={v!r}" for k, v in settings.items())])
                raise AutogradError(
                    f"{name}() can be given {', '.join(defaults) or 'no setting'}, each once, but got {given}. Leave "
                    "out what it does not know."
                )

        def forward(self, *args: Any) -> Tensor:
            """Call the function, on as many tensors as it takes."""
            return function(*args, **self.settings)  # type: ignore[no-any-return] # a function of tensors

        def extra_repr(self) -> str:
            """Describe the settings."""
            return ", ".join(f"{k}={v!r}" for k, v in (defaults | self.settings).items()) if shown else ""

    Layer.__name__ = Layer.__qualname__ = name
    Layer.__doc__ = doc
    return Layer


ReLU = _define_layer("ReLU", F.relu, "See :func:`relu`.")
Tanh = _define_layer("Tanh", F.tanh, "See :func:`tanh`.")
Sigmoid = _define_layer("Sigmoid", F.sigmoid, "See :func:`sigmoid`.")
GELU = _define_layer("GELU", F.gelu, "See :func:`gelu`.", shown=True)
Flatten = _define_layer(
    "Flatten",
    lambda input, start_dim=1, end_dim=-1: shape.flatten(input, start_dim, end_dim),
    "Keep the first dimension and join the others, or those that are named.",
    shown=True,
)
MSELoss = _define_layer(
    "MSELoss",
    lambda input, target, reduction="mean": F.mse_loss(input, target, reduction),
    "See :func:`mse_loss`.",
)
CrossEntropyLoss = _define_layer("CrossEntropyLoss", F.cross_entropy, "See :func:`cross_entropy`.")
