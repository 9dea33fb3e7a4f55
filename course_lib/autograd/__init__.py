"""A small autograd on NumPy that speaks torch: move a snippet to torch by changing the import.

>>> import course_lib.autograd as torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> (x**2).sum()
tensor(5., grad_fn=<SumBackward0>)
"""

from course_lib import autograd  # for torch.autograd.grad and torch.autograd.Function
from course_lib.autograd import creation, functional, graph, linalg, nn, ops, optim
from course_lib.autograd.creation import *  # noqa: F403 - its __all__
from course_lib.autograd.differentiate import backward, grad
from course_lib.autograd.function import Function
from course_lib.autograd.functional import *  # noqa: F403 - its __all__
from course_lib.autograd.grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from course_lib.autograd.gradcheck import gradcheck, gradgradcheck
from course_lib.autograd.hooks import RemovableHandle, saved_tensors_hooks
from course_lib.autograd.nn.functional import *  # noqa: F403 - its __all__
from course_lib.autograd.node import Node
from course_lib.autograd.ops import *  # noqa: F403 - its __all__
from course_lib.autograd.ops.random import manual_seed
from course_lib.autograd.tensor import Tensor

__all__ = [
    "Function", "Node", "RemovableHandle", "Tensor", "autograd", "backward", "enable_grad", "functional", "grad",
    "gradcheck", "gradgradcheck", "graph", "is_grad_enabled", "linalg", "manual_seed", "nn", "no_grad", "optim",
    "saved_tensors_hooks", "set_grad_enabled", *creation.__all__, *functional.__all__, *nn.functional.__all__,
    *ops.__all__,
]  # fmt: skip
