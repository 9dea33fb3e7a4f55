"""Has the gradients from the course's library.

expects: the course's library has it ready
points: 3.5
"""

import numpy as np


# %% backward
def backward(out, stack, weights):
    from course_lib.autograd import grad, tensor

    x, *ws = [tensor(np.array(array), requires_grad=True) for array in [stack[0], *weights]]
    stack.clear()
    h = x
    for w in ws[:-1]:
        h = (h @ w).relu()
    g_x, *gradients = grad(0.5 * ((h @ ws[-1]) ** 2).sum(), [x, *ws])
    return gradients, g_x
