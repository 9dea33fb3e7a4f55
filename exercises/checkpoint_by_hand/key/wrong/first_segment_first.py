"""Goes through the segments from the first to the last.

expects: must go from the last layer to the first
points: 3.5
"""


# %% backward

from itertools import pairwise


def backward(layers, kept, v):
    marks, grads = [*sorted(kept), len(layers)], [None] * len(layers)
    for start, stop in pairwise(marks):
        inputs = [kept.pop(start)]
        for i in range(start, stop - 1):
            inputs.append(layers[i].forward(inputs[-1]))
        for i in reversed(range(start, stop)):
            v, grads[i] = layers[i].backward(inputs.pop(), v)
    return v, grads
