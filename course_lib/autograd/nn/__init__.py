"""Modules, layers and losses under the names of ``torch.nn``."""

from course_lib.autograd.nn import functional
from course_lib.autograd.nn.layers import *
from course_lib.autograd.nn.module import *

__all__ = [
    "GELU",
    "BatchNorm1d",
    "CrossEntropyLoss",
    "Dropout",
    "Flatten",
    "LayerNorm",
    "Linear",
    "MSELoss",
    "Module",
    "Parameter",
    "RNNCell",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Tanh",
    "functional",
]  # fmt: skip
