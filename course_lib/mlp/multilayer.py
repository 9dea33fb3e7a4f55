"""Differentiate a multilayer perceptron of any depth by hand, with a choice of what each layer keeps."""

from collections.abc import Sequence
from dataclasses import dataclass

from course_lib.mlp.activations import ACTIVATIONS
from course_lib.mlp.checks import check_network, list_arrays, torch_keeps
from course_lib.mlp.losses import LOSSES
from course_lib.mlp.results import Cache, MlpGrads, MlpResult
from course_lib.types import NumericArray

__all__ = ["mlp_grad"]


def mlp_grad(
    x: NumericArray,
    weights: Sequence[NumericArray],
    biases: Sequence[NumericArray] | None = None,
    *,
    target: NumericArray | None = None,
    activation: str | Sequence[str] = "relu",
    loss: str = "half_sum",
    keep: str | Sequence[str] | None = None,
    input_grad: bool = True,
) -> MlpResult:
    r"""Differentiate a multilayer perceptron by hand.

    With :math:`H_0 = X`, :math:`Z_i = H_i W_i + b_i`, :math:`H_{i+1} = \sigma(Z_i)` and an output :math:`Z_{n-1}`
    without activation, each layer turns the cotangent of its result into three others:

    .. math::

        G_{W_i} = H_i^T G_{Z_i}, \quad g_{b_i} = \sum_b G_{Z_i}, \quad
        G_{Z_{i-1}} = G_{Z_i} W_i^T \odot \sigma'(Z_{i-1})

    Parameters
    ----------
    x : array, shape (b, d)
        b inputs of d features, of NumPy, torch or JAX. All arrays share its floating dtype, and so do all results.
    weights : sequence of array, shapes (d, f), (f, f), ..., (f, c)
        One matrix for each layer; the widths f may differ.
    biases : sequence of array, shapes (f,), ..., (c,), optional
        One vector for each layer.
    target : array, optional
        (b, c) for ``mse`` and ``half_sum``; (b,) labels or (b, c) probabilities for ``cross_entropy``.
    activation : str or sequence of str
        ``relu``, ``tanh`` or ``gelu`` (exact), for all hidden layers or for each.
    loss : str
        ``half_sum``: 0.5 * sum((out - target)^2), without a target 0.5 * sum(out^2). ``mse``: the mean over b * c.
        ``cross_entropy``: softmax and the mean over b of the negative log-likelihood.
    keep : str or sequence of str, optional
        For all hidden layers or for each: ``activation`` h (ReLU and tanh, whose slope h determines),
        ``pre-activation`` z, from which h is computed again, ``both``, or ``recompute``: nothing, so that the backward
        pass repeats the layer's forward pass from the nearest layer below that was kept. By default what torch keeps: h
        for ReLU and tanh, both for GELU.
    input_grad : bool
        Whether to go on to the gradient of x; without it the first layer's backward pass is one product, not two.

    Returns
    -------
    MlpResult
        ``loss``, ``grads.x`` (b, d), ``grads.weights``, ``grads.biases``, and what each step took; see there.

    Raises
    ------
    InputError
        If shapes do not chain, a name is not known, or a slope would have to be read from what does not determine it.

    Notes
    -----
    No values are looked at but the labels, and those only where they have values, so the function can be traced:
    ``jax.jit(lambda x, ws: mlp_grad(x, ws).grads)``. While JAX traces, labels out of range are not refused: such a row
    has no loss and no gradient. On torch tensors that require grad, call it under ``torch.no_grad()``, or torch records
    the steps too. Recomputing instead of keeping is due to Griewank (1992) and, for networks, Chen et al. (2016),
    arXiv:1604.06174.

    Examples
    --------
    >>> import numpy as np
    >>> x, w = np.ones((4, 2)), [np.ones((2, 3)), np.ones((3, 1))]
    >>> result = mlp_grad(x, w, keep="recompute", input_grad=False)
    >>> [g.shape for g in result.grads.weights]
    [(2, 3), (3, 1)]
    >>> print(result)
                             shape   FLOPs  kept
    forward
      h_0 = x                (4, 2)      0    64
      z_0 = h_0 @ w_0        (4, 3)     48     0
      h_1 = relu(z_0)        (4, 3)      0     0
      z_1 = h_1 @ w_1        (4, 1)     24     0
      loss = half_sum        ()          0    32
    backward
      g = 1 * residual       (4, 1)      0     0
    recompute
      z_0 = h_0 @ w_0        (4, 3)     48     0
      h_1 = relu(z_0)        (4, 3)      0    96
    backward
      grads_w_1 = h_1.T @ g  (3, 1)     24     0
      g = g @ w_1.T          (4, 3)     24     0
      g = g * relu'(z_0)     (4, 3)      0     0
      grads_w_0 = h_0.T @ g  (2, 3)     48     0
    kept 96 bytes, at most 160 at once
    backward / forward = 2.000
    """
    weights = list_arrays("weights", weights)
    biases = None if biases is None else list_arrays("biases", biases)
    acts, keeps = check_network(x, weights, biases, activation, loss, keep)
    net = _Network(tuple(weights), tuple(biases or ()), acts, keeps, Cache())
    out = net.forward(x)
    value, residual, scale = LOSSES[loss](out, target)
    net.cache.note("forward", f"loss = {loss}", value, kept_bytes=net.cache.put("residual", residual))
    kept = net.cache.bytes
    grads = net.backward(scale, input_grad=input_grad)
    return MlpResult(value, grads, tuple(net.cache.steps), kept, net.cache.peak_bytes)


@dataclass(frozen=True)
class _Network:
    """One pass forward and one back, over a cache that the first fills and the second empties."""

    weights: tuple[NumericArray, ...]
    biases: tuple[NumericArray, ...]
    acts: list[str]
    keeps: list[str]
    cache: Cache

    def forward(self, x: NumericArray) -> NumericArray:
        """Go from x (b, d) to the output (b, c)."""
        self.cache.note("forward", "h_0 = x", x, kept_bytes=self.cache.put("h_0", x))
        h = x
        for i, keep in enumerate(self.keeps):
            h = self.layer(i, h, keep, "forward")
        return self.affine(len(self.acts), h, "forward")

    def affine(self, i: int, h: NumericArray, phase: str, *, put: bool = False) -> NumericArray:
        """Compute z_i = h_i @ w_i + b_i: (b, d) @ (d, f) + (f,)."""
        w = self.weights[i]
        z: NumericArray = h @ w + self.biases[i] if self.biases else h @ w
        kept = self.cache.put(f"z_{i}", z) if put else 0
        formula = f"z_{i} = h_{i} @ w_{i}" + (f" + b_{i}" if self.biases else "")
        return self.cache.note(phase, formula, z, flops=_product_flops(h, w), kept_bytes=kept)

    def layer(self, i: int, h: NumericArray, keep: str, phase: str) -> NumericArray:
        """Go from h_i to h_{i+1}, keeping what was chosen."""
        z = self.affine(i, h, phase, put=keep in ("pre-activation", "both"))
        return self.activate(i, z, phase, put=keep in ("activation", "both"))

    def activate(self, i: int, z: NumericArray, phase: str, *, put: bool) -> NumericArray:
        """Compute h_{i+1} = act(z_i), of shape (b, f)."""
        h = ACTIVATIONS[self.acts[i]].value(z)
        kept = self.cache.put(f"h_{i + 1}", h) if put else 0
        return self.cache.note(phase, f"h_{i + 1} = {self.acts[i]}(z_{i})", h, kept_bytes=kept)

    def backward(self, scale: float, *, input_grad: bool) -> MlpGrads:
        """Go from the residual of the loss back to x, dropping what is no longer needed from the cache."""
        take, note = self.cache.arrays.pop, self.cache.note
        grads_w, grads_b = [], []
        g = note("backward", f"g = {scale:.4g} * residual", take("residual") * scale)
        for i in reversed(range(len(self.weights))):
            w, h = self.weights[i], self.input_of(i)
            grads_w.append(note("backward", f"grads_w_{i} = h_{i}.T @ g", h.T @ g, flops=_product_flops(h.T, g)))
            if self.biases:
                grads_b.append(note("backward", f"grads_b_{i} = g.sum(0)", g.sum(0)))
            if i or input_grad:
                g = note("backward", f"g = g @ w_{i}.T", g @ w.T, flops=_product_flops(g, w.T))
            if i:
                g = note("backward", f"g = g * {self.acts[i - 1]}'(z_{i - 1})", g * self.slope(i - 1))
            take(f"h_{i}")
        return MlpGrads(g if input_grad else None, tuple(reversed(grads_w)), tuple(reversed(grads_b)))

    def input_of(self, i: int) -> NumericArray:
        """Return h_i: as it was kept, or from z_{i-1}, or from the nearest layer below of which something was kept."""
        arrays = self.cache.arrays
        start = next(j for j in range(i, -1, -1) if f"h_{j}" in arrays or f"z_{j - 1}" in arrays)
        if f"h_{start}" not in arrays:
            self.activate(start - 1, arrays[f"z_{start - 1}"], "recompute", put=True)
        h = arrays[f"h_{start}"]
        for j in range(start, i):
            h = self.layer(j, h, torch_keeps(self.acts[j]), "recompute")
        return h

    def slope(self, i: int) -> NumericArray:
        """Return act'(z_i), read from h_{i+1} if that determines it, else from z_i."""
        act, z = ACTIVATIONS[self.acts[i]], self.cache.arrays.pop(f"z_{i}", None)
        if act.slope_from_h is not None:
            return act.slope_from_h(self.cache.arrays[f"h_{i + 1}"])
        assert z is not None  # kept, or computed again
        return act.slope_from_z(z)


def _product_flops(x: NumericArray, y: NumericArray) -> int:
    """Return 2 m n k: a multiplication and an addition for each of m n k terms."""
    (m, k), n = x.shape, y.shape[1]
    return int(2 * m * n * k)
