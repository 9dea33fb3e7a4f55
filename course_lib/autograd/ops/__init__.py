"""Ops under torch's names: all that are differentiable, and the comparisons."""

from course_lib.autograd.ops import (
    activations,
    comparison,
    elementwise,
    indexing,
    layers,
    linalg,
    losses,
    normalizers,
    reductions,
    shape,
)
from course_lib.autograd.ops.activations import *  # noqa: F403 - its __all__
from course_lib.autograd.ops.comparison import *  # noqa: F403 - its __all__
from course_lib.autograd.ops.elementwise import *  # noqa: F403 - its __all__
from course_lib.autograd.ops.indexing import *  # noqa: F403 - its __all__
from course_lib.autograd.ops.layers import *  # noqa: F403 - its __all__
from course_lib.autograd.ops.linalg import *  # noqa: F403 - its __all__
from course_lib.autograd.ops.losses import *  # noqa: F403 - its __all__
from course_lib.autograd.ops.normalizers import *  # noqa: F403 - its __all__
from course_lib.autograd.ops.reductions import *  # noqa: F403 - its __all__
from course_lib.autograd.ops.shape import *  # noqa: F403 - its __all__

MODULES = (activations, comparison, elementwise, indexing, layers, linalg, losses, normalizers, reductions, shape)

__all__ = [name for module in MODULES for name in module.__all__]
