"""Puts the inputs of each segment into one dict, and never takes one out.

expects: at its peak `backward` has the inputs of nearly all layers in memory
points: 7.5
"""


# %% backward
def backward(layers, kept, v):
    inputs, grads = dict(kept), [None] * len(layers)
    for i in reversed(range(len(layers))):
        if i not in inputs:
            start = max(j for j in kept if j < i)
            for j in range(start, i):
                inputs[j + 1] = layers[j].forward(inputs[j])
        v, grads[i] = layers[i].backward(inputs[i], v)
    return v, grads
