"""Ops under torch's names: all that are differentiable, and the comparisons."""

from course_lib.autograd.ops.comparison import *  # noqa: F403 - its __all__
from course_lib.autograd.ops.elementwise import *  # noqa: F403 - its __all__
from course_lib.autograd.ops.indexing import *  # noqa: F403 - its __all__
from course_lib.autograd.ops.linalg import *  # noqa: F403 - its __all__
from course_lib.autograd.ops.normalizers import *  # noqa: F403 - its __all__
from course_lib.autograd.ops.reductions import *  # noqa: F403 - its __all__
from course_lib.autograd.ops.shape import *  # noqa: F403 - its __all__

__all__ = [name for name, value in list(vars().items()) if callable(value)]  # ops, and not the modules they are in
