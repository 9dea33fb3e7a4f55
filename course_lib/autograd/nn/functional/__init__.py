"""Functions for networks, under the names of ``torch.nn.functional``.

>>> import course_lib.autograd as torch
>>> import course_lib.autograd.nn.functional as F
>>> F.gelu(torch.tensor([-1.0, 0.0, 1.0]))
tensor([-0.1587,  0.0000,  0.8413])
"""

from course_lib.autograd.nn.functional import activations, affine, dropping, losses, normalization
from course_lib.autograd.nn.functional.activations import *  # noqa: F403 - its __all__
from course_lib.autograd.nn.functional.affine import *  # noqa: F403 - its __all__
from course_lib.autograd.nn.functional.dropping import *  # noqa: F403 - its __all__
from course_lib.autograd.nn.functional.losses import *  # noqa: F403 - its __all__
from course_lib.autograd.nn.functional.normalization import *  # noqa: F403 - its __all__
from course_lib.autograd.ops import log_softmax, relu, sigmoid, softmax, tanh  # which are methods, too

__all__ = [
    "log_softmax", "relu", "sigmoid", "softmax", "tanh", *activations.__all__, *affine.__all__, *dropping.__all__,
    *losses.__all__, *normalization.__all__,
]  # fmt: skip
