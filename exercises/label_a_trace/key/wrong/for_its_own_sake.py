"""Lets a trained layer have the gradient of its own input, whatever is below it.

expects: with a single layer, `predict` takes twice
points: 9
"""


# %% predict
def predict(b, layers, input_grad=False):
    forward = backward = 0
    below = input_grad
    for inputs, outputs, trained in layers:
        product = 2 * b * inputs * outputs
        below = below or trained
        forward += product
        backward += product * (bool(trained) + bool(below))
    return forward, backward
