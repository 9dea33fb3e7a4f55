"""Takes the inputs of a segment in the order in which they were computed.

expects: is each layer given its own input
points: 8
"""


# %% backward
def backward(layers, kept, v):
    grads, stop = [None] * len(layers), len(layers)
    for start in sorted(kept, reverse=True):
        inputs = [kept.pop(start)]
        for i in range(start, stop - 1):
            inputs.append(layers[i].forward(inputs[-1]))
        for i in reversed(range(start, stop)):
            v, grads[i] = layers[i].backward(inputs.pop(0), v)
        stop = start
    return v, grads
