"""Lets a frozen layer cost nothing.

expects: no frozen layer passes a gradient down
points: 9.5
"""


# %% predict
def predict(b, layers, input_grad=False):
    forward = backward = 0
    below = input_grad  # does anything below this layer want a gradient?
    for inputs, outputs, trained in layers:
        product = 2 * b * inputs * outputs
        forward += product
        backward += product * (1 + bool(below)) if trained else 0
        below = below or trained
    return forward, backward
