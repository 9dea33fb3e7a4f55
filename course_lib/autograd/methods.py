"""Functions of the package that are methods too, as in torch: ``x.sum()`` is ``sum(x)``."""

from collections.abc import Callable
from typing import Any

from course_lib.autograd import inplace
from course_lib.autograd.ops import (
    activations,
    comparison,
    elementwise,
    indexing,
    linalg,
    normalizers,
    reductions,
)
from course_lib.autograd.ops import shape as shapes

__all__ = ["METHODS"]

TABLE = {
    elementwise: "abs add atan clamp cos cosh div erf exp expm1 log log1p maximum minimum mul neg pow reciprocal rsqrt "
    "sign sin sinh sqrt square sub tan tanh",
    activations: "relu sigmoid",
    reductions: "amax amin argmax cumsum mean prod std sum var",
    normalizers: "log_softmax logsumexp softmax",
    linalg: "addmm bmm dot matmul mm mv outer",
    shapes: "clone expand flatten permute ravel reshape split squeeze t transpose unsqueeze view",
    indexing: "gather index_select",
    comparison: "allclose eq equal ge gt isfinite isnan le logical_and logical_not logical_or lt ne",
    inplace: "add_ copy_ div_ fill_ mul_ sub_ zero_",
}
METHODS: dict[str, Callable[..., Any]] = {
    name: getattr(module, name) for module, names in TABLE.items() for name in names.split()
}
