"""Runs the last layer of each segment again, too.

expects: stop one layer before that
points: 9.5
"""


# %% backward
def backward(layers, kept, v):
    grads, stop = [None] * len(layers), len(layers)
    for start in sorted(kept, reverse=True):
        inputs = [kept.pop(start)]
        for i in range(start, min(stop, len(layers) - 1)):
            inputs.append(layers[i].forward(inputs[-1]))
        inputs = inputs[: stop - start]
        for i in reversed(range(start, stop)):
            v, grads[i] = layers[i].backward(inputs.pop(), v)
        stop = start
    return v, grads
