"""Computes the step in NumPy.

expects: than the network and its gradients need
points: 5
"""

# %% fast_step
import numpy as np


def fast_step(params, x, y, rate):
    w1, b1, w2, b2 = arrays = [p.detach().numpy() for p in params]
    x, y = x.numpy(), y.numpy()
    t = soft_labels(len(b2)).numpy()[y]
    h = np.maximum(x @ w1.T + b1, 0)
    z = h @ w2.T + b2
    z = z - z.max(axis=1, keepdims=True)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    loss = (np.log(np.exp(z).sum(axis=1)) - (t * z).sum(axis=1)).mean()
    g = (p - t) / len(y)
    back = (g @ w2) * (h > 0)
    for array, grad in zip(arrays, (back.T @ x, back.sum(axis=0), g.T @ h, g.sum(axis=0)), strict=True):
        array -= rate * grad
    return float(loss), float((z.argmax(axis=1) == y).mean())
