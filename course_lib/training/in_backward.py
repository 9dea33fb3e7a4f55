"""Whether somebody takes gradients away while the backward pass still runs."""

from collections.abc import Iterable
from typing import Any

__all__ = ["taken_in_backward"]


def taken_in_backward(parameters: Iterable[Any]) -> str:
    """Say so if hooks get the gradients as soon as they are complete; else return an empty string.

    Examples
    --------
    >>> import torch
    >>> p = torch.ones(1, requires_grad=True)
    >>> taken_in_backward([p])
    ''
    >>> handle = p.register_post_accumulate_grad_hook(print)
    >>> print(taken_in_backward([p]))
    Hooks run on parameters inside backward() (register_post_accumulate_grad_hook), as those of an optimizer that steps
    there and empties the gradient: then look at it, and clip it, in such a hook, before the optimizer's.
    """
    hooks = (h for p in parameters for h in (getattr(p, "_post_accumulate_grad_hooks", None) or {}).values())
    if all((getattr(h, "__module__", None) or "").startswith("course_lib.") for h in hooks):  # a monitor's own
        return ""
    return (
        "Hooks run on parameters inside backward() (register_post_accumulate_grad_hook), as those of an optimizer that "
        "steps there and empties the gradient: then look at it, and clip it, in such a hook, before the optimizer's."
    )
