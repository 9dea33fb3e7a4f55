"""Functions of the package that are methods too, as in torch: ``x.sum()`` is ``sum(x)``."""

from course_lib.autograd import inplace, ops

__all__ = ["METHODS"]

FUNCTIONS_ONLY = [
    "batch_norm", "binary_cross_entropy_with_logits", "cat", "cross_entropy", "dropout", "elu", "gelu", "layer_norm",
    "leaky_relu", "linear", "mse_loss", "nll_loss", "silu", "softplus", "stack", "vector_norm", "where",
]  # fmt: skip
METHODS = {
    name: getattr(module, name) for module in (ops, inplace) for name in module.__all__ if name not in FUNCTIONS_ONLY
}
