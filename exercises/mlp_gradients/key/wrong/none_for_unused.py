"""Has None for a weight that no layer uses.

expects: returns None for a weight that no layer uses
points: 9.5
"""


# %% tied_gradients
def tied_gradients(x, weights, uses):
    layers = [weights[k] for k in uses]
    of_layers, _ = backward(*forward(x, layers), layers)
    gradients = [None] * len(weights)
    for k, g in zip(uses, of_layers, strict=True):
        gradients[k] = g if gradients[k] is None else gradients[k] + g
    return gradients
