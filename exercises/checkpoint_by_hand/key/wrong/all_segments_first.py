"""Computes the inputs of all segments, then goes back through all.

expects: inputs of an earlier one are in memory, whose turn comes later
points: 6
"""


# %% backward
def backward(layers, kept, v):
    inputs, grads = [], []
    for i in range(len(layers)):
        inputs.append(kept.pop(i) if i in kept else layers[i - 1].forward(inputs[-1]))
    for layer in reversed(layers):
        v, dw = layer.backward(inputs.pop(), v)
        grads.insert(0, dw)
    return v, grads
