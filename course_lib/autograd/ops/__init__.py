"""Operations under torch's names: all that are differentiable, and the comparisons."""

from course_lib.autograd.ops.activations import relu, sigmoid
from course_lib.autograd.ops.comparison import *
from course_lib.autograd.ops.elementwise import *
from course_lib.autograd.ops.indexing import *
from course_lib.autograd.ops.linalg import *
from course_lib.autograd.ops.normalizers import *
from course_lib.autograd.ops.reductions import *
from course_lib.autograd.ops.shape import *

__all__ = [
    "abs", "add", "addmm", "allclose", "amax", "amin", "argmax", "atan", "bitwise_and", "bitwise_not", "bitwise_or",
    "bmm", "cat", "clamp", "clone", "cos", "cosh", "cumsum", "div", "dot", "eq", "equal", "erf", "exp", "expand",
    "expm1", "flatten", "gather", "ge", "gt", "index_select", "isfinite", "isnan", "le", "log", "log1p", "log_softmax",
    "logical_and", "logical_not", "logical_or", "logsumexp", "lt", "matmul", "maximum", "mean", "minimum", "mm", "mul",
    "mv", "ne", "neg", "outer", "permute", "pow", "prod", "ravel", "reciprocal", "relu", "reshape", "rsqrt", "sigmoid",
    "sign", "sin", "sinh", "softmax", "split", "sqrt", "square", "squeeze", "stack", "std", "sub", "sum", "t", "tan",
    "tanh", "transpose", "unsqueeze", "var", "vector_norm", "view", "where",
]  # fmt: skip
