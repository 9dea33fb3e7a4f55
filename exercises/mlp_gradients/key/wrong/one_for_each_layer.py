"""Returns the gradients of the layers as they are.

expects: returns one gradient for each layer
points: 8.5
"""


# %% tied_gradients
def tied_gradients(x, weights, uses):
    layers = [weights[k] for k in uses]
    return backward(*forward(x, layers), layers)[0]
