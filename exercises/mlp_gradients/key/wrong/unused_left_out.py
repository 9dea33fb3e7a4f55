"""Has no gradient for a weight that no layer uses.

expects: each has one, used or not
points: 9.5
"""


# %% tied_gradients
def tied_gradients(x, weights, uses):
    layers = [weights[k] for k in uses]
    of_layers, _ = backward(*forward(x, layers), layers)
    return [sum(g for use, g in zip(uses, of_layers, strict=True) if use == k) for k in sorted(set(uses))]
