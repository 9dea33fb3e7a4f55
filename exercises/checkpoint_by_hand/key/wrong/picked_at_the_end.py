"""Makes a list of all inputs, and picks the checkpoints from it at the end.

expects: holds the inputs of all layers until it returns
points: 9.5
"""


# %% forward
def forward(layers, x, keep):
    inputs = [x]
    for layer in layers:
        inputs.append(layer.forward(inputs[-1]))
    return inputs[-1], {i: inputs[i] for i in keep}
