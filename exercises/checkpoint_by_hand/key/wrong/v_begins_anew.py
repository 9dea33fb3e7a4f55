"""Begins each segment with the gradient of the loss.

expects: each segment begins with the `v` of the loss
points: 8
"""


# %% backward
def backward(layers, kept, v):
    grads, stop = [None] * len(layers), len(layers)
    for start in sorted(kept, reverse=True):
        inputs = [kept.pop(start)]
        for i in range(start, stop - 1):
            inputs.append(layers[i].forward(inputs[-1]))
        g = v
        for i in reversed(range(start, stop)):
            g, grads[i] = layers[i].backward(inputs.pop(), g)
        stop = start
    return g, grads
