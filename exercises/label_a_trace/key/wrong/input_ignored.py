"""Ignores that the batch requires grad.

expects: ignores input_grad
points: 9.5
"""


# %% predict
def predict(b, layers, input_grad=False):
    forward = backward = 0
    below = False  # does anything below this layer want a gradient?
    for inputs, outputs, trained in layers:
        product = 2 * b * inputs * outputs
        forward += product
        backward += product * (bool(trained) + bool(below))
        below = below or trained
    return forward, backward
