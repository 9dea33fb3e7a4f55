"""Autograd engine on NumPy with torch's names: move a snippet to torch by changing the import.

>>> import course_lib.autograd as torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> (x**2).sum()
tensor(5., grad_fn=<SumBackward0>)

The core is about 1,500 lines, in this order:

1. ``engine.py``: backpropagation, from the outputs of a graph to its leaves
2. ``graph/node.py``: what an operation leaves in the graph; a second backward pass is refused (``second_backward.py``)
3. ``graph/reachability.py``: which nodes lead to the inputs that gradients are asked for
4. ``ops/primitive.py``: an operation, with its vjps and what they save
5. ``ops/elementwise.py``: arithmetic and elementary functions, each with its derivative
6. ``ops/elementwise_primitive.py``: how these are defined, and their gradients summed over what was broadcast
7. ``ops/broadcasting.py``: types promoted, shapes broadcast
8. ``variable.py``: array and node of a tensor
9. ``differentiate.py``: ``backward`` and ``grad``
10. ``grad_mode.py``: ``no_grad``
11. ``graph/hooks.py``: hooks, and accumulation into ``.grad``
12. ``graph/write_clock.py``: in-place writes recorded, and saved tensors checked

The other files are more operations (``ops``), torch's interface (``tensor.py``), networks (``nn``, ``optim.py``),
products with Jacobians (``functional``), and fast twins of plain operations (``fast``), which need not be read.
"""

from course_lib import autograd  # for torch.autograd.grad and torch.autograd.Function
from course_lib.autograd import functional, graph, linalg, nn, optim
from course_lib.autograd.creation import *
from course_lib.autograd.differentiate import backward, grad
from course_lib.autograd.function import Function
from course_lib.autograd.functional import *
from course_lib.autograd.functional.gradcheck import gradcheck, gradgradcheck
from course_lib.autograd.grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from course_lib.autograd.graph.hooks import RemovableHandle, saved_tensors_hooks
from course_lib.autograd.graph.node import Node
from course_lib.autograd.nn.functional import *
from course_lib.autograd.ops import *
from course_lib.autograd.tensor import Tensor

__all__ = [
    "Function", "Node", "RemovableHandle", "Tensor", "abs", "add", "addmm", "allclose", "amax", "amin", "arange",
    "argmax", "atan", "autograd", "backward", "batch_norm", "binary_cross_entropy_with_logits", "bitwise_and",
    "bitwise_not", "bitwise_or", "bmm", "bool", "cat", "clamp", "clone", "cos", "cosh", "cross_entropy", "cumsum",
    "div", "dot", "dropout", "elu", "enable_grad", "eq", "equal", "erf", "exp", "expand", "expm1", "eye", "flatten",
    "float32", "float64", "from_numpy", "full", "functional", "gather", "ge", "gelu", "grad", "gradcheck",
    "gradgradcheck", "graph", "gt", "hessian", "hvp", "index_select", "int64", "is_grad_enabled", "isfinite", "isnan",
    "jacobian", "jvp", "layer_norm", "le", "leaky_relu", "linalg", "linear", "linspace", "log", "log1p", "log_softmax",
    "logical_and", "logical_not", "logical_or", "logsumexp", "lt", "manual_seed", "matmul", "maximum", "mean",
    "minimum", "mm", "mse_loss", "mul", "mv", "ne", "neg", "nll_loss", "nn", "no_grad", "ones", "ones_like", "optim",
    "outer", "permute", "pow", "prod", "rand", "randn", "ravel", "reciprocal", "relu", "reshape", "rsqrt",
    "saved_tensors_hooks", "set_grad_enabled", "sigmoid", "sign", "silu", "sin", "sinh", "softmax", "softplus",
    "split", "sqrt", "square", "squeeze", "stack", "std", "sub", "sum", "t", "tan", "tanh", "tensor", "transpose",
    "unsqueeze", "var", "vector_norm", "view", "vjp", "where", "zeros", "zeros_like",
]  # fmt: skip
