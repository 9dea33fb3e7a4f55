"""Functions of the package that are methods too, as in torch: ``x.sum()`` is ``sum(x)``."""

from course_lib.autograd import inplace, ops

__all__ = ["METHODS"]

FUNCTIONS_ONLY = ["cat", "stack", "vector_norm", "where"]
METHODS = {
    name: getattr(module, name) for module in (ops, inplace) for name in module.__all__ if name not in FUNCTIONS_ONLY
}
