"""Counts multiplications alone.

expects: each multiplication has an addition
points: 8
"""


# %% predict
def predict(b, layers, input_grad=False):
    forward = backward = 0
    below = input_grad  # does anything below this layer want a gradient?
    for inputs, outputs, trained in layers:
        product = b * inputs * outputs
        forward += product
        backward += product * (bool(trained) + bool(below))
        below = below or trained
    return forward, backward
