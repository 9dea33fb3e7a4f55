"""Takes the weights one after the other, whatever uses says.

expects: takes one layer for each weight
points: 8.5
"""


# %% tied_gradients
def tied_gradients(x, weights, uses):
    return backward(*forward(x, weights), weights)[0]
