"""Reads the checkpoints, and leaves them in the dict.

expects: checkpoints stay in memory when their segment has had its turn
points: 9.5
"""


# %% backward
def backward(layers, kept, v):
    grads, stop = [None] * len(layers), len(layers)
    for start in sorted(kept, reverse=True):
        inputs = [kept[start]]
        for i in range(start, stop - 1):
            inputs.append(layers[i].forward(inputs[-1]))
        for i in reversed(range(start, stop)):
            v, grads[i] = layers[i].backward(inputs.pop(), v)
        stop = start
    return v, grads
