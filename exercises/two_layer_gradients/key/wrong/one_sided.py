"""Measures the slope by a step to one side only.

expects: one-sided difference
points: 9
"""


# %% slope
def slope(x, y, params, name, index, eps=1e-5):
    moved = {**params, name: params[name].copy()}
    moved[name][index] += eps
    return (forward(x, y, moved)[0] - forward(x, y, params)[0]) / eps
