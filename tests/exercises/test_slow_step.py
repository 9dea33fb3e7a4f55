"""Right answers to slow_step that look nothing like the reference get every point."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from course_grader.grading.exercises.exercise import find_exercise

BY_HAND = {
    "calls": """
from collections import Counter
def calls(step):
    step()
    p = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True)
    p.start()
    step()
    p.stop()
    return Counter(event.name for event in p.events())
""",
    "growing": """
import numpy as np
def growing(small, large):
    names = np.array(sorted(large))
    grown = np.array([large[n] - small.get(n, 0) for n in names])
    order = np.argsort(-grown)
    return names[order][grown[order] > 0]
""",
    "fast_step": """
def fast_step(params, x, y, rate):
    # no autograd at all
    with torch.no_grad():
        w1, b1, w2, b2 = params
        b, k = len(x), len(b2)
        x = x.float()
        h = torch.addmm(b1, x, w1.T).clamp(min=0)
        z = torch.addmm(b2, h, w2.T)
        logp = z - z.logsumexp(1, keepdim=True)
        right = torch.arange(k) == y[:, None]
        t = torch.where(right, 0.9, 0.1 / (k - 1))
        loss = -(t * logp).sum() / b
        g = (logp.exp() - t) / b
        back = (g @ w2) * (h > 0)
        for p, grad in zip(params, (back.T @ x, back.sum(0), g.T @ h, g.sum(0))):
            p.copy_(p - rate * grad)
        accuracy = (z.topk(1).indices.squeeze(1) == y).sum() / b
    return loss, accuracy
""",
}
SCHEDULED = {
    "calls": """
def calls(step):
    from torch.profiler import ProfilerActivity, profile, schedule
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=1, active=1, repeat=1)) as p:
        for _ in range(2):
            step()
            p.step()
    counts = {}
    for row in p.key_averages(group_by_input_shape=True):
        counts[row.key] = counts.get(row.key, 0) + row.count
    return counts
""",
    "growing": """
def growing(small, large):
    pairs = []
    for name in set(small) | set(large):
        more = large.get(name, 0) - small.get(name, 0)
        if more > 0:
            pairs.append((more, name))
    pairs.sort(reverse=True)
    return tuple(name for _, name in pairs)
""",
    "fast_step": """
from torch import nn
def fast_step(params, x, y, rate):
    w1, b1, w2, b2 = params
    optimizer = torch.optim.SGD(params, lr=rate)
    optimizer.zero_grad()
    k = w2.shape[0]
    z = (x.float() @ w1.T + b1).relu() @ w2.T + b2
    # torch's label smoothing gives the class its share, too
    loss = nn.CrossEntropyLoss(label_smoothing=0.1 * k / (k - 1))(z, y)
    loss.backward()
    optimizer.step()
    return float(loss), (z.max(dim=1).indices == y).sum().item() / len(y)
""",
}
FUNCTIONAL = {
    "calls": """
def calls(step):
    step()
    with torch.autograd.profiler.profile() as p:
        step()
    found = {}
    for e in p.function_events:
        found.setdefault(e.name, []).append(e)
    return {name: len(events) for name, events in found.items()}
""",
    "growing": """
def growing(small, large):
    grown = [name for name in large if large[name] > small.setdefault(name, 0)]
    grown.sort(key=lambda name: small[name] - large[name])
    return grown
""",
    "fast_step": """
def objective(params, x, t):
    w1, b1, w2, b2 = params
    z = torch.einsum('bm,km->bk', torch.einsum('bd,md->bm', x, w1).add(b1).relu(), w2) + b2
    return -(t * z.log_softmax(-1)).sum(-1).mean(), z

def fast_step(params, x, y, rate):
    t = soft_labels(len(params[3])).index_select(0, y)
    leaves = [p.detach() for p in params]
    grads, (loss, z) = torch.func.grad_and_value(objective, has_aux=True)(leaves, x.to(torch.float), t)
    with torch.no_grad():
        torch._foreach_add_(params, grads, alpha=-rate)
    return [loss.tolist(), torch.mean((z.argmax(-1) == y) * 1.0)]
""",
}
ONE_HOT = {
    "calls": """
def calls(step):
    step()
    with torch.profiler.profile() as p:
        step()
    totals = {}
    for e in p.events():
        totals[e.key] = totals.get(e.key, 0) + torch.tensor(1)
    return totals
""",
    "growing": """
def growing(small, large):
    both = {n: (small[n] if n in small else 0, c) for n, c in large.items()}
    left = {n: c - s for n, (s, c) in both.items() if c > s}
    names = []
    while left:
        names.append(max(left, key=left.get))
        del left[names[-1]]
    return names
""",
    "fast_step": """
import torch.nn.functional as F
def fast_step(params, x, y, rate):
    w1, b1, w2, b2 = params
    k = b2.numel()
    h = F.relu((w1 @ x.T.to(dtype=w1.dtype)).T + b1)
    z = F.linear(h, w2, b2)
    hot = F.one_hot(y, num_classes=k).float()
    t = hot * 0.9 + (1 - hot) * (0.1 / (k - 1))
    loss = F.kl_div(F.log_softmax(z, 1), t, reduction='batchmean') - (t * t.log()).sum(1).mean()
    hits = torch.eq(z.detach().argmax(1), y).tolist()
    for p, g in zip(params, torch.autograd.grad(loss, params)):
        p.data -= rate * g
    return loss.detach().numpy(), sum(hits) / len(hits)
""",
}
NLL = {
    "calls": """
def calls(step):
    for last in (False, True):
        if not last:
            step()
    with torch.profiler.profile(profile_memory=True, with_stack=True) as p:
        step()
    return dict((row.key, int(row.count)) for row in p.key_averages() if row.key.startswith('aten'))
""",
    "growing": """
from collections import Counter
def growing(small, large):
    return [name for name, _ in (Counter(large) - Counter(small)).most_common()]
""",
    "fast_step": """
def fast_step(params, x, y, rate):
    (m, d), k = params[0].shape, len(params[3])
    model = torch.nn.Sequential(torch.nn.Linear(d, m), torch.nn.ReLU(), torch.nn.Linear(m, k))
    for layer, (w, b) in zip((model[0], model[2]), (params[:2], params[2:])):
        layer.weight, layer.bias = torch.nn.Parameter(w.data), torch.nn.Parameter(b.data)
    z = model(x.float())
    logp = z - z.amax(dim=1, keepdim=True)
    logp = logp - torch.log(torch.exp(logp).sum(dim=1, keepdim=True))
    k = z.shape[1]
    picked = logp.gather(1, y.unsqueeze(1)).squeeze(1)
    loss = (-0.9 * picked - 0.1 / (k - 1) * (logp.sum(1) - picked)).mean()
    for p in params:
        p.grad = None
    loss.backward()
    torch.optim.SGD(model.parameters(), lr=rate).step()
    both = torch.stack([loss.detach(), (z.argmax(1) == y).float().mean()])
    return tuple(both.tolist())
""",
}
AUGMENTED = {
    "calls": """
class Recorder:
    def __init__(self, step):
        self.step = step
    def counts(self):
        self.step()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as p:
            self.step()
        names = [e.name for e in p.events()]
        return {name: names.count(name) for name in names}
def calls(step):
    return Recorder(step).counts()
""",
    "growing": """
def growing(small, large):
    def more(name):
        return large[name] - small.get(name, 0)
    return list(reversed(sorted(filter(lambda name: more(name) > 0, large), key=more)))
""",
    "fast_step": """
TABLES = {}
def fast_step(params, x, y, rate):
    w1, b1, w2, b2 = params
    k = len(b2)
    if k not in TABLES:
        TABLES[k] = torch.tensor([[0.9 if i == j else 0.1 / (k - 1) for j in range(k)] for i in range(k)])
    ones = torch.ones(len(x), 1)
    one, two = torch.cat([w1, b1[:, None]], 1), torch.cat([w2, b2[:, None]], 1)
    h = torch.cat([x.float(), ones], 1).matmul(one.mT).relu()
    z = torch.cat([h, ones], 1).matmul(two.mT)
    loss = torch.nn.functional.cross_entropy(z, TABLES[k][y], reduction='sum') / len(x)
    loss.backward()
    for p in params:
        with torch.no_grad():
            p.sub_(p.grad, alpha=rate)
        p.grad.zero_()
    return loss.item(), (z.argmax(1) == y).double().mean().item()
""",
}
WAITING_ONE_HOT = {
    "fast_step": """
def fast_step(params, x, y, rate):
    w1, b1, w2, b2 = params
    z = torch.relu(x.float() @ w1.t() + b1) @ w2.t() + b2
    k = z.shape[1]
    t = torch.where(torch.nn.functional.one_hot(y, k) == 1, 0.9, 0.1 / (k - 1))
    loss = -torch.einsum("bk,bk->", t, z.log_softmax(-1)) / len(y)
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= rate * p.grad
            p.grad = None
    return loss.item(), torch.count_nonzero(z.argmax(1).eq(y)).item() / y.shape[0]
"""
}
PER_SAMPLE = {
    "fast_step": """
def of_one(params, row, t):
    w1, b1, w2, b2 = params
    z = w2 @ torch.relu(w1 @ row + b1) + b2
    return -t.dot(z.log_softmax(0)), z

def fast_step(params, x, y, rate):
    values = torch.vmap(torch.func.grad_and_value(of_one, has_aux=True), in_dims=(None, 0, 0))
    grads, (losses, z) = values([p.detach() for p in params], x.float(), soft_labels(len(params[3]))[y])
    with torch.no_grad():
        for p, g in zip(params, grads):
            p -= rate * g.mean(0)
    return losses.mean(), z.argmax(1).eq(y).float().mean()
"""
}
STYLES = {
    "waiting_one_hot": WAITING_ONE_HOT,
    "per_sample": PER_SAMPLE,
    "by_hand": BY_HAND,
    "scheduled": SCHEDULED,
    "functional": FUNCTIONAL,
    "one_hot": ONE_HOT,
    "nll": NLL,
    "augmented": AUGMENTED,
}


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_a_right_answer_in_another_style_gets_every_point(earns_every_point, style):
    """No autograd; schedules and optimizers; torch.func, vmap, einsum; kl_div; gathered targets; biases in columns."""
    earns_every_point(style)


def test_the_profiler_writes_nothing_of_its_own_below_a_cell():
    """The set-up silences it, so that what stands there is the learner's."""
    exercise = find_exercise("slow_step", exercises=Path(__file__).parents[2] / "exercises")
    cells = {cell.id: cell.source for cell in exercise.reference().cells}
    code = "\n\n".join(cells[name] for name in ("setup", "calls", "practice", "check_calls"))
    plain = {name: value for name, value in os.environ.items() if name != "KINETO_LOG_LEVEL"}
    done = subprocess.run([sys.executable, "-c", code], env=plain, capture_output=True, text=True)
    assert (done.stdout[:6], done.stderr) == ("calls:", "")


def test_the_check_looks_at_large_logits_too(grade):
    """A logarithm of a softmax is right for small ones alone."""
    unstable = ONE_HOT["fast_step"].replace("F.log_softmax(z, 1)", "F.softmax(z, 1).log()")
    checks = {row.name: row.message for row in grade({"fast_step": unstable}).rows if row.kind == "check"}
    assert "with large logits the loss is" in checks["check_fast_step"]
