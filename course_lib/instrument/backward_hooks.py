"""Explain missing gradients by hooks that take them away inside the backward pass."""

from collections.abc import Iterable

__all__ = ["explain_missing_gradients"]


def explain_missing_gradients(parameters: Iterable[object]) -> str:
    """Explain that hooks get the gradients as soon as they are complete; return an empty string if there are none.

    Examples
    --------
    >>> import torch
    >>> p = torch.ones(1, requires_grad=True)
    >>> explain_missing_gradients([p])
    ''
    >>> handle = p.register_post_accumulate_grad_hook(print)
    >>> print(explain_missing_gradients([p]))
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
