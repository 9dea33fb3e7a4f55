"""Lists the gradients of the weights as they were computed, the last layer's first.

expects: in the order in which they were computed
points: 8
"""


# %% backward
def backward(layers, kept, v):
    grads, stop = [], len(layers)
    for start in sorted(kept, reverse=True):
        inputs = [kept.pop(start)]
        for i in range(start, stop - 1):
            inputs.append(layers[i].forward(inputs[-1]))
        for i in reversed(range(start, stop)):
            v, dw = layers[i].backward(inputs.pop(), v)
            grads.append(dw)
        stop = start
    return v, grads
