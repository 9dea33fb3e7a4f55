"""Activations, losses and normalization, under the names of ``torch.nn.functional``.

>>> import course_lib.autograd as torch
>>> import course_lib.autograd.nn.functional as F
>>> F.gelu(torch.tensor([-1.0, 0.0, 1.0]))
tensor([-0.1587,  0.0000,  0.8413])
"""

from course_lib.autograd.nn.functional.affine import *
from course_lib.autograd.nn.functional.dropout import *
from course_lib.autograd.nn.functional.losses import *
from course_lib.autograd.nn.functional.normalization import *
from course_lib.autograd.ops import log_softmax, softmax, tanh
from course_lib.autograd.ops.activations import *

__all__ = [
    "batch_norm", "binary_cross_entropy_with_logits", "cross_entropy", "dropout", "elu", "gelu", "layer_norm",
    "leaky_relu", "linear", "log_softmax", "mse_loss", "nll_loss", "relu", "sigmoid", "silu", "softmax", "softplus",
    "tanh",
]  # fmt: skip
