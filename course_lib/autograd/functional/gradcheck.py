"""Check gradients against finite differences: of first and of second order."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course_lib.autograd.functional.jacobian import pull_rows, push_columns
from course_lib.autograd.functional.products import list_outputs, pull_back
from course_lib.autograd.grad_mode import enable_grad
from course_lib.autograd.tensor import Tensor
from course_lib.autograd.variable import list_tensors
from course_lib.errors import AutogradError, GradcheckError

__all__ = ["gradcheck", "gradgradcheck"]


def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    r"""Check the gradients of ``func`` against :math:`(f(x + \epsilon) - f(x - \epsilon)) / 2\epsilon`.

    Parameters
    ----------
    func : callable
        Takes ``inputs`` and returns a tensor or several. Outputs that are not floating point are passed over, and not
        counted.
    inputs : Tensor or sequence
        Those that require grad are checked; they must be float64, or rounding would drown the differences.
    eps, atol, rtol : float
        The step, and the tolerances in ``|analytical - numerical| <= atol + rtol * |numerical|``.
    raise_exception : bool
        Raise, rather than return False.

    Raises
    ------
    GradcheckError
        If a gradient differs: names the output, the input, the element and both values.

    Examples
    --------
    >>> from course_lib.autograd import float64, gradcheck, tensor
    >>> x = tensor([1.0, 2.0], dtype=float64, requires_grad=True)
    >>> gradcheck(lambda x: x**3, x)
    True
    """
    for x in inputs if isinstance(inputs, (list, tuple)) else [inputs]:
        if type(x).__module__.startswith(("torch", "jax")):
            raise AutogradError(
                f"gradcheck takes this engine's tensors, but got a {type(x).__name__} of another library. Use "
                "torch.autograd.gradcheck or jax.test_util.check_grads there, or course_lib.oracle.compare."
            )
    args = dict(enumerate(list_tensors(inputs)))
    checked = {i: x for i, x in args.items() if isinstance(x, Tensor) and x.requires_grad}
    if not checked:
        raise AutogradError(
            "gradcheck needs an input that requires grad, but none does. Pass requires_grad=True to tensor()."
        )
    for i, x in checked.items():
        if x.dtype != np.float64:
            raise AutogradError(
                f"gradcheck needs float64 inputs, but input {i} is {x.dtype}. Pass dtype=float64 to tensor()."
            )

    first = {id(x): i for i, x in reversed(checked.items())}  # one given twice is moved in one place at a time, so
    checked = {i: x if first[id(x)] == i else Tensor(x.value, True) for i, x in checked.items()}  # it has two gradients

    def f(*xs: Tensor) -> tuple[Tensor, ...]:
        given = args | dict(zip(checked, xs, strict=True))
        with enable_grad():  # func itself may take gradients
            return tuple(y for y in list_outputs(func(*given.values())) if y.dtype.kind == "f")

    found = _describe_disagreement(f, checked, eps, atol, rtol)
    if found and raise_exception:
        raise GradcheckError(found)
    return not found


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Check second derivatives: :func:`gradcheck` of the function that returns the gradients of ``func``.

    Examples
    --------
    >>> from course_lib.autograd import float64, gradgradcheck, tensor
    >>> gradgradcheck(lambda x: x**3, tensor([1.0, 2.0], dtype=float64, requires_grad=True))
    True
    """
    xs = list_tensors(inputs)
    ys = list_outputs(func(*xs))
    rng = np.random.default_rng(0)
    gs = grad_outputs or [Tensor(rng.standard_normal(y.shape), requires_grad=True) for y in ys]

    def gradients(*args: Any) -> Any:
        given, gs = args[: len(xs)], args[len(xs) :]
        wanted = [x for x in given if isinstance(x, Tensor) and x.requires_grad]
        return tuple(pull_back(list_outputs(func(*given)), wanted, gs, create_graph=True))

    return gradcheck(gradients, [*xs, *gs], eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)


def _describe_disagreement(
    f: Callable[..., Any], inputs: dict[int, Tensor], eps: float, atol: float, rtol: float
) -> str:
    """Describe the first gradient that differs from finite differences, at the element of the largest error."""
    xs = [*inputs.values()]

    def difference(v: list[Tensor]) -> list[Tensor]:
        steps = ([Tensor(x.value + e * t.value, True) for x, t in zip(xs, v, strict=True)] for e in (eps, -eps))
        return [(y - z) / (2 * eps) for y, z in zip(*(f(*moved) for moved in steps), strict=True)]

    ys = f(*xs)
    for k, (y, blocks) in enumerate(zip(ys, push_columns(difference, xs, ys), strict=True)):
        for (i, x), block in zip(inputs.items(), blocks, strict=True):
            ours, theirs = pull_rows(y, x, create_graph=False).value, block.value
            with np.errstate(all="ignore"):
                excess = np.nan_to_num(np.abs(ours - theirs) - atol - rtol * np.abs(theirs), nan=np.inf)
            if np.any(excess > 0):
                at = tuple(map(int, np.unravel_index(np.argmax(excess), excess.shape)))
                where = (
                    f"Look at the vjps of the operations on input {i}, or, if the function has a kink there, move the "
                    "input away from it."
                    if np.isfinite(theirs[at])
                    else "The function is not finite there, or at eps from it: move the input to where it is."
                )
                return (
                    f"the gradient of output {k} at element {at[: y.ndim]} with respect to input {i} at element "
                    f"{at[y.ndim :]} must agree with finite differences, but the backward pass gives {ours[at]:.6g} "
                    f"and they give {theirs[at]:.6g}. {where}"
                )
    return ""
