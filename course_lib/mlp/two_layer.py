"""The smallest network worth differentiating by hand: ``relu(x @ w_0) @ w_1``, in four steps forward and four back."""

from typing import TypeVar

from course_lib.mlp.checks import check_chain
from course_lib.types import NumericArray

__all__ = ["manual_mlp_grad", "mlp_activations"]

Array = TypeVar("Array", bound=NumericArray)  # of NumPy, torch or JAX


def mlp_activations(x: Array, w_0: Array, w_1: Array) -> tuple[Array, list[Array]]:
    r"""Compute the loss of a two-layer network, and keep what its backward pass will need.

    .. math:: H = \max(X W_0, 0), \qquad O = H W_1, \qquad L = \tfrac12 \sum O^2

    Parameters
    ----------
    x : array, shape (b, d)
        b inputs of d features.
    w_0 : array, shape (d, f)
        Weights of the hidden layer.
    w_1 : array, shape (f, c)
        Weights of the output layer; often c = d.

    Returns
    -------
    loss : array, shape ()
        In the dtype of the inputs.
    activations : list of array
        ``[x, h, out]`` of shapes (b, d), (b, f) and (b, c): the backward pass pops them from the end. The
        pre-activation ``x @ w_0`` is not among them: ``h > 0`` says where the ReLU was open.

    Raises
    ------
    InputError
        If the shapes do not chain.

    Examples
    --------
    >>> import numpy as np
    >>> loss, activations = mlp_activations(np.ones((4, 2)), np.ones((2, 3)), np.ones((3, 2)))
    >>> loss
    np.float64(144.0)
    >>> [a.shape for a in activations]
    [(4, 2), (4, 3), (4, 2)]
    """
    check_chain(x, [w_0, w_1])
    activations = [x]
    h = (x @ w_0).clip(0)
    activations.append(h)
    out = h @ w_1
    activations.append(out)
    return 0.5 * (out * out).sum(), activations


def manual_mlp_grad(x: Array, w_0: Array, w_1: Array) -> tuple[Array, Array, Array]:
    r"""Differentiate the loss of :func:`mlp_activations` by hand, with respect to all three of its arguments.

    With :math:`G_A` for :math:`\partial L / \partial A`, from the loss towards the input:

    .. math::

        G_O = O, \quad G_{W_1} = H^T G_O, \quad G_H = G_O W_1^T, \quad
        G_Z = G_H \odot [H > 0], \quad G_{W_0} = X^T G_Z, \quad G_X = G_Z W_0^T

    Parameters
    ----------
    x : array, shape (b, d)
        b inputs of d features.
    w_0 : array, shape (d, f)
        Weights of the hidden layer.
    w_1 : array, shape (f, c)
        Weights of the output layer.

    Returns
    -------
    grads_x : array, shape (b, d)
    grads_w_0 : array, shape (d, f)
    grads_w_1 : array, shape (f, c)
        Each in the dtype of the inputs.

    Raises
    ------
    InputError
        If the shapes do not chain.

    Notes
    -----
    ``jax.grad`` of the same loss gives ``grads_x`` alone unless it is told ``argnums=(0, 1, 2)``. The rule is that of
    Rumelhart, Hinton and Williams (1986), doi:10.1038/323533a0.

    Examples
    --------
    >>> import numpy as np
    >>> x, w_0, w_1 = np.ones((4, 2)), np.ones((2, 3)), np.ones((3, 2))
    >>> [g.shape for g in manual_mlp_grad(x, w_0, w_1)]
    [(4, 2), (2, 3), (3, 2)]
    """
    _, activations = mlp_activations(x, w_0, w_1)
    grads_out = activations.pop()
    h = activations.pop()
    grads_w_1 = h.T @ grads_out
    grads_h = grads_out @ w_1.T
    grads_z = grads_h * (h > 0)
    x = activations.pop()
    grads_w_0 = x.T @ grads_z
    grads_x = grads_z @ w_0.T
    return grads_x, grads_w_0, grads_w_1
