"""Right answers to gradient_accumulation that look nothing like the reference get every point."""

import pytest

DIVIDED_AT_THE_END = {
    "whole": """
def divided(params, pieces):
    tensors, total, count = leaves(params), 0.0, 0
    for x, y in pieces:
        n = sum(CLASS_WEIGHTS[label] for label in y if label >= 0)
        if n == 0:
            continue
        summed = mean_loss(tensors, x, y) * n
        summed.backward()
        total, count = total + summed.item(), count + n
    return total / count, {name: t.grad.numpy() / count for name, t in tensors.items()}

def whole(params, x, y):
    return divided(params, [(x, y)])
""",
    "accumulate": "accumulate = divided",
    "accumulate_padded": "accumulate_padded = divided",
    "train": """
def train(params, pieces, rate, every):
    params = {name: array.copy() for name, array in params.items()}
    waiting = []
    for i, piece in enumerate(pieces):
        waiting.append(piece)
        if len(waiting) == every or i == len(pieces) - 1:
            for name, grad in accumulate(params, waiting)[1].items():
                params[name] -= rate * grad
            waiting.clear()
    return params
""",
}
AUTOGRAD_GRAD = {
    "accumulate": """
from course_lib.autograd import grad, optim, nn

def accumulate(params, pieces):
    everything, loss = np.take(CLASS_WEIGHTS, np.concatenate([y for _, y in pieces])).sum(), 0
    sums = {name: np.zeros_like(array) for name, array in params.items()}
    for x, y in pieces:
        tensors = leaves(params)
        share = mean_loss(tensors, x, y) * np.take(CLASS_WEIGHTS, y).sum() / everything
        for name, g in zip(tensors, grad(share, list(tensors.values()))):
            sums[name] += g.numpy()
        loss = loss + share.detach()
    return loss, sums
""",
    "train": """
def train(params, pieces, rate, every):
    tensors = leaves(params)
    optimizer = optim.SGD(list(tensors.values()), lr=rate)
    for start in range(0, len(pieces), every):
        group = pieces[start:start + every]
        weigh = lambda y: np.bincount(y, minlength=4) @ CLASS_WEIGHTS
        for x, y in group:
            (mean_loss(tensors, x, y) * weigh(y) / sum(weigh(y) for _, y in group)).backward()
        optimizer.step()
        optimizer.zero_grad()
    return {name: t.detach() for name, t in tensors.items()}
""",
}
RUNNING = {
    "accumulate": """
def accumulate(params, pieces):
    seen, loss, grads = 0, 0.0, {n: np.zeros(a.shape) for n, a in params.items()}
    for x, y in pieces:
        tensors = leaves(params)
        l = mean_loss(tensors, x, y)
        l.backward()
        weight = CLASS_WEIGHTS[y].sum()
        seen += weight
        loss += (l.item() - loss) * weight / seen
        for n in grads:
            grads[n] += (tensors[n].grad.numpy() - grads[n]) * weight / seen
    return np.float64(loss), grads
""",
    "accumulate_padded": """
def accumulate_padded(params, pieces):
    kept = [(x[y >= 0], y[y >= 0]) for x, y in pieces]
    return accumulate(params, [(x, y) for x, y in kept if len(y)])
""",
    "train": """
def train(params, pieces, rate, every):
    from itertools import islice
    it = iter(pieces)
    while group := list(islice(it, every)):
        one_hot = [np.eye(4)[y] for _, y in group]
        weights = [(rows * CLASS_WEIGHTS).sum() for rows in one_hot]
        step = {n: 0.0 for n in params}
        for (x, y), weight in zip(group, weights):
            g = whole(params, x, y)[1]
            step = {n: s + weight / sum(weights) * g[n] for n, s in step.items()}
        params = {n: a - rate * step[n] for n, a in params.items()}
    return params
""",
}
RECURSIVE = {
    "accumulate": """
def accumulate(params, pieces):
    (x, y), *rest = pieces
    loss, grads = whole(params, x, y)
    if not rest:
        return loss, grads
    other, others = accumulate(params, rest)
    n, m = CLASS_WEIGHTS[y].sum(), sum(CLASS_WEIGHTS[y].sum() for _, y in rest)
    mix = lambda a, b: (n * a + m * b) / (n + m)
    return mix(loss, other), {k: mix(grads[k], others[k]) for k in grads}
""",
}
RETAINED = {
    "whole": """
def whole(params, x, y):
    tensors = leaves(params)
    loss = mean_loss(tensors, x, y)
    loss.backward(retain_graph=True)
    return loss.item(), {n: t.grad.numpy() for n, t in tensors.items()}
ref = whole(params, x, y)
""",
    "accumulate": """
def accumulate(params, pieces):
    tensors, total = leaves(params), 0.0
    for x, y in pieces:
        weight, total_weight = CLASS_WEIGHTS[y].sum(), sum(CLASS_WEIGHTS[y].sum() for _, y in pieces)
        loss = mean_loss(tensors, x, y) * (weight / total_weight)
        loss.backward(retain_graph=True)
        total += loss.item()
    return total, {n: t.grad.numpy() for n, t in tensors.items()}
""",
}
TORCH = {
    "whole": """
import torch
def whole(params, x, y):
    t = {n: torch.tensor(np.array(a), requires_grad=True) for n, a in params.items()}
    h = torch.tanh(torch.as_tensor(np.asarray(x)) @ t["w1"] + t["b1"])
    z, labels = h @ t["w2"] + t["b2"], torch.as_tensor(np.asarray(y))
    weight = torch.tensor(CLASS_WEIGHTS[:z.shape[1]])
    loss = torch.nn.functional.cross_entropy(z, labels, weight=weight, ignore_index=-1)
    loss.backward()
    return loss.detach(), {n: v.grad for n, v in t.items()}
""",
}


@pytest.mark.parametrize(
    "style",
    [DIVIDED_AT_THE_END, AUTOGRAD_GRAD, RUNNING, RECURSIVE, RETAINED, TORCH],
    ids=["divided at the end", "grad and optim", "running means", "recursive", "retained until replaced", "torch"],
)
def test_a_right_answer_in_another_style_gets_every_point(earns_every_point, style):
    """Sums divided once; the functional gradient, an optimizer, and tensors that are handed back."""
    earns_every_point(style)
