"""Takes twice the forward pass.

expects: takes twice the forward pass
points: 8.5
"""


# %% predict
def predict(b, layers, input_grad=False):
    forward = sum(2 * b * inputs * outputs for inputs, outputs, _ in layers)
    return forward, 2 * forward
