"""Cost of operations without matrix products: they save tensors, and no FLOPs are counted."""

from math import prod

from course_lib.costs.cost import Cost
from course_lib.errors import InputError

__all__ = ["cross_entropy", "dropout", "elementwise", "embedding", "layer_norm", "max_pool2d", "mse_loss"]

SAVES_OUTPUT = ("relu", "tanh", "sigmoid", "exp", "sqrt", "softmax", "log_softmax", "elu")
SAVES_INPUT = ("gelu", "silu", "log", "sin", "cos", "square", "abs", "softplus", "leaky_relu")
SAVES_NOTHING = ("add", "neg", "sum", "mean", "reshape")


def elementwise(op: str, n: int, *, itemsize: int = 4) -> Cost:
    """Cost of a function of n elements: torch saves its result if the slope can be read from it, else its input.

    The result costs nothing more if the next operation saves it anyway, as a linear layer does; the input always
    costs more. That is why a GELU network keeps up to twice what a ReLU network keeps.

    Parameters
    ----------
    op : str
        torch's name, such as ``relu``, ``gelu``, ``softmax``.
    n : int
        Elements of the input.
    itemsize : int
        Bytes of one number.

    Raises
    ------
    InputError
        If it is not known what the operation saves.

    Examples
    --------
    >>> elementwise("relu", 100).output_bytes, elementwise("gelu", 100).input_bytes
    (400, 400)
    """
    if op not in (*SAVES_OUTPUT, *SAVES_INPUT, *SAVES_NOTHING):
        known = ", ".join(sorted((*SAVES_OUTPUT, *SAVES_INPUT, *SAVES_NOTHING)))
        raise InputError(f"op must be one of {known}, but it is {op!r}. Measure others with saved_tensors().")
    size = n * itemsize
    return Cost(name=op, input_bytes=size * (op in SAVES_INPUT), output_bytes=size * (op in SAVES_OUTPUT))


def dropout(n: int, *, mask_itemsize: int = 1) -> Cost:
    """Cost of dropout: it saves its mask, one byte per element from ``torch.native_dropout``, which GPUs use.

    On CPU, ``torch.nn.functional.dropout`` multiplies by a mask of the dtype of its input: pass its itemsize.

    Examples
    --------
    >>> dropout(100).saved_bytes
    100
    """
    return Cost(name="dropout", other_bytes=n * mask_itemsize)


def layer_norm(rows: int, d: int, *, itemsize: int = 4, stats_itemsize: int = 4) -> Cost:
    """Cost of layer normalization of (rows, d): it saves its input, and a mean and an inverse deviation for each row.

    On GPUs the two are float32 whatever the input is; on CPU they have the dtype of the input.

    Examples
    --------
    >>> layer_norm(10, 8).saved_bytes
    400
    """
    return Cost(
        name="layer_norm",
        parameters=2 * d,
        input_bytes=rows * d * itemsize,
        other_bytes=2 * rows * stats_itemsize,
    )


def embedding(rows: int, vocabulary: int, d: int) -> Cost:
    """Cost of an embedding, rows of (vocabulary, d): it saves the indices, 8 bytes each, and needs no product.

    Examples
    --------
    >>> embedding(10, 1000, 64).saved_bytes
    80
    """
    return Cost(name="embedding", parameters=vocabulary * d, input_bytes=8 * rows, for_weights=True)


def max_pool2d(b: int, c: int, size: tuple[int, int], kernel: int, *, itemsize: int = 4) -> Cost:
    """Cost of max pooling of ``(b, c, *size)``: it saves its input, and the index of each maximum, 8 bytes each.

    Examples
    --------
    >>> max_pool2d(2, 3, (8, 8), 2).saved_bytes
    2304
    """
    pooled = b * c * prod(n // kernel for n in size)
    return Cost(name="max_pool2d", input_bytes=b * c * prod(size) * itemsize, other_bytes=8 * pooled)


def cross_entropy(b: int, c: int, *, itemsize: int = 4) -> Cost:
    """Cost of mean cross-entropy of logits (b, c): it saves log-probabilities, labels, 8 bytes each, and one weight.

    Examples
    --------
    >>> cross_entropy(4, 8).saved_bytes
    164
    """
    return Cost(name="cross_entropy", other_bytes=b * c * itemsize + 8 * b + itemsize)


def mse_loss(n: int, *, itemsize: int = 4) -> Cost:
    """Cost of mean squared error of n numbers: it saves both sides of the difference.

    Examples
    --------
    >>> mse_loss(32).saved_bytes
    256
    """
    return Cost(name="mse_loss", input_bytes=n * itemsize, other_bytes=n * itemsize)
