"""Metrics of a batch: functions of outputs and targets that return their mean."""

from typing import Any

from course_lib.errors import InputError

__all__ = ["accuracy"]

IGNORED = -100  # the class that torch's losses ignore by default


def accuracy(outputs: Any, targets: Any) -> Any:
    """Accuracy: the share of targets whose class has the largest logit; for single logits, whose sign is right.

    Classes of -100, which torch's losses ignore by default, do not count: neither as wrong nor as targets. For a batch
    that has no others, the share is NaN. If you ignore another class, write a metric of your own. An epoch's mean
    weights batches by all their samples even so.

    Parameters
    ----------
    outputs : tensor or array
        Logits: ``(N, C)`` or ``(N, C, d1, ...)`` for classes; of the targets' shape for yes-or-no questions.
    targets : tensor or array
        Classes, of shape ``(N,)`` or ``(N, d1, ...)``; or 0 and 1, of the outputs' shape.

    Returns
    -------
    scalar
        On the device of the outputs, not yet read back.

    Raises
    ------
    InputError
        If the shapes fit neither reading, one of the two has none, or there is one logit where there should be one for
        each class: it would always be the largest.

    Examples
    --------
    >>> import numpy as np
    >>> accuracy(np.array([[0.1, 0.9], [2.0, 1.0], [0.0, 3.0]]), np.array([1, 0, 0]))
    np.float64(0.6666666666666666)
    """
    for name, value in (("outputs", outputs), ("targets", targets)):
        if not hasattr(value, "shape"):
            raise InputError(
                f"accuracy needs tensors or arrays, but the {name} are a {type(value).__name__}. Pick the one "
                'to measure: lambda z, y: accuracy(z["logits"], y).'
            )
    shape, wanted = tuple(outputs.shape), tuple(targets.shape)
    if shape == wanted:
        right = (outputs > 0) == (targets > 0.5)
    elif shape[1:2] != (1,) and len(shape) > 1 and shape[:1] + shape[2:] == wanted:  # of one, it is always the largest
        kept = targets == targets if "uint" in str(targets.dtype) else targets != IGNORED  # which is class 156 there
        return ((outputs.argmax(1) == targets) & kept).sum() / kept.sum()
    else:
        raise InputError(
            f"accuracy needs outputs (N, C, ...) of two classes or more with targets (N, ...), or both of the same "
            f"shape, but the shapes are {shape} and {wanted}. Squeeze or flatten one of the two."
        )
    count = 1
    for size in wanted:
        count *= size
    return right.sum() / count
