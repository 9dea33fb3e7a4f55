"""Divides by the class weights of a mean piece times `every`, also where fewer pieces are left.

expects: the last step is too short
points: 9
"""

import numpy as np


# %% train
def train(params, pieces, rate, every):
    for i in range(0, len(pieces), every):
        tensors = leaves(params)
        weights = [CLASS_WEIGHTS[y].sum() for _, y in pieces[i : i + every]]
        for (x, y), weight in zip(pieces[i : i + every], weights, strict=True):
            (mean_loss(tensors, x, y) * (weight / (every * np.mean(weights)))).backward()
        params = {name: array - rate * tensors[name].grad.numpy() for name, array in params.items()}
    return params
