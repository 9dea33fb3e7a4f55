"""Computes the output of the network a second time, for each segment is run as a whole.

expects: runs the last layer of all again
points: 9.5
"""


# %% backward
def backward(layers, kept, v):
    grads, stop = [None] * len(layers), len(layers)
    for start in sorted(kept, reverse=True):
        h, inputs = kept.pop(start), []
        for i in range(start, stop):
            inputs.append(h)
            h = layers[i].forward(h)
        for i in reversed(range(start, stop)):
            v, grads[i] = layers[i].backward(inputs.pop(), v)
        stop = start
    return v, grads
