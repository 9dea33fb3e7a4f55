"""Compare gradients with finite differences."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course_lib.autograd.differentiate import grad
from course_lib.autograd.grad_mode import enable_grad
from course_lib.autograd.tensor import Tensor
from course_lib.autograd.transforms import row_block
from course_lib.autograd.variable import listed
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
        Takes ``inputs`` and returns a tensor or several.
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
    xs = listed(inputs)
    checked = [i for i, x in enumerate(xs) if isinstance(x, Tensor) and x.requires_grad]
    if not checked:
        raise AutogradError(
            "gradcheck needs an input that requires grad, but none does. Pass requires_grad=True to tensor()."
        )
    for i in checked:
        if xs[i].dtype != np.float64:
            raise AutogradError(
                f"gradcheck needs float64 inputs, but input {i} is {xs[i].dtype}. Pass dtype=float64 to tensor()."
            )
    with enable_grad():
        ys = listed(func(*xs))
    try:
        for k, y in enumerate(ys):
            if y.dtype.kind == "f":
                for i in checked:
                    analytical = row_block(y, xs[i], create_graph=False).value.reshape(y.numel(), xs[i].numel())
                    compare(analytical, numerical(func, xs, k, i, eps), y, xs[i], (k, i), (atol, rtol))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


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
    """Check second derivatives: :func:`gradcheck` of the function that returns the gradients of ``func``."""
    xs = listed(inputs)
    ys = listed(func(*xs))
    rng = np.random.default_rng(0)
    gs = grad_outputs or [Tensor(rng.standard_normal(y.shape), requires_grad=True) for y in ys]

    def gradients(*args: Any) -> Any:
        given, gs = args[: len(xs)], args[len(xs) :]
        wanted = [x for x in given if isinstance(x, Tensor) and x.requires_grad]
        found = grad(listed(func(*given)), wanted, gs, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(gradients, [*xs, *gs], eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)


def numerical(func: Callable[..., Any], xs: list[Any], k: int, i: int, eps: float) -> list[Any]:
    """Compute the columns of the Jacobian of output ``k`` in input ``i``, by moving each element of the input."""

    def moved(j: int, step: float) -> Any:
        value = xs[i].value.copy()
        value.flat[j] += step
        with enable_grad():  # func itself may take gradients
            return listed(func(*xs[:i], Tensor(value, requires_grad=True), *xs[i + 1 :]))[k].value.ravel()

    return [(moved(j, eps) - moved(j, -eps)) / (2 * eps) for j in range(xs[i].numel())]


def compare(
    ours: Any, columns: list[Any], y: Tensor, x: Tensor, names: tuple[int, int], tolerance: tuple[float, float]
) -> None:
    """Raise at the element that differs most."""
    theirs = np.reshape(columns, ours.T.shape).T  # there may be none
    with np.errstate(all="ignore"):
        excess = np.abs(ours - theirs) - tolerance[0] - tolerance[1] * np.abs(theirs)
    if np.all(excess <= 0):
        return
    row, column = np.unravel_index(np.argmax(np.nan_to_num(excess, nan=np.inf)), excess.shape)
    out, at = (tuple(int(n) for n in np.unravel_index(i, t.shape)) for i, t in ((row, y), (column, x)))
    raise GradcheckError(
        f"the gradient of output {names[0]} at element {out} with respect to input {names[1]} at element {at} must "
        f"agree with finite differences, but the backward pass gives {ours[row, column]:.6g} and they give "
        f"{theirs[row, column]:.6g}. Look at the vjps of the operations on input {names[1]}, or, if the function has a "
        "kink there, move the input away from it."
    )
