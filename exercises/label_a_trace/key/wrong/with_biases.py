"""Counts the biases.

expects: counts the biases
points: 8
"""


# %% predict
def predict(b, layers, input_grad=False):
    forward = backward = 0
    below = input_grad  # does anything below this layer want a gradient?
    for inputs, outputs, trained in layers:
        product = 2 * b * inputs * outputs
        forward += product + b * outputs
        backward += product * (bool(trained) + bool(below))
        below = below or trained
    return forward, backward
