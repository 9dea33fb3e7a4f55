"""Right answers to label_a_trace that look nothing like the reference get every point."""

import pytest

DECORATED = {
    "step": """
@record_function("forward")
def ahead(model, x):
    return model(x)

@record_function("backward")
def back(loss):
    loss.backward()

def step(model, optimizer, x, y):
    for p in model.parameters():
        p.grad = None
    prediction = ahead(model, x)
    label = record_function("loss")
    label.__enter__()
    loss = ((prediction - y) ** 2).mean()
    label.__exit__(None, None, None)
    back(loss)
    with record_function("optimizer"):
        optimizer.step()
    return loss.item()
""",
    "record": """
def record(run, wait, warmup, active, repeat):
    # A profiler for each cycle.
    found = []
    for _ in range(repeat):
        with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU],
            schedule=torch.profiler.schedule(wait=wait, warmup=warmup, active=active, repeat=1),
            record_shapes=True,
            with_flops=True,
        ) as prof:
            for _ in range(wait + warmup + active):
                run()
                prof.step()
        found.append(rows_of(prof))
    return found
""",
    "count": """
from collections import Counter
import bisect

def count(rows, label):
    # Unions of spans, without a function for pairs.
    spans = [(r.thread, r.start, r.end) for r in rows if r.name == label]
    visits = {}
    for r in rows:
        if r.name.startswith(VISIT):
            visits.setdefault(r.thread, []).append((r.start, r.end))
    chosen = []
    for r in rows:
        if r.name == label:
            continue
        for thread, start, end in spans:
            if start <= r.start and r.end <= end:
                nested = [v for v in visits.get(r.thread, []) if v[0] <= r.start and r.end <= v[1]]
                if thread == r.thread or nested:
                    chosen.append(r)
                    break
    return Counter(r.name for r in chosen), float(sum(r.flops for r in chosen if r.name in PRODUCTS))
""",
    "predict": """
def predict(b, layers, input_grad=False):
    sizes = [2 * b * layer[0] * layer[1] for layer in layers]
    wants = [input_grad] + [layer[2] for layer in layers]
    weights = sum(n for n, layer in zip(sizes, layers) if layer[2])
    inputs = sum(n for i, n in enumerate(sizes) if any(wants[: i + 1]))
    return [sum(sizes), weights + inputs]
""",
}
SWEPT = {
    "step": """
def step(model, optimizer, x, y):
    model.zero_grad()
    with torch.autograd.profiler.record_function("forward"):
        y_hat = model(x)
    with torch.autograd.profiler.record_function("loss"):
        with record_function("mean of squares"):
            loss = nn.MSELoss()(y_hat, y)
    with torch.autograd.profiler.record_function("backward"):
        torch.autograd.backward(loss)
    with torch.autograd.profiler.record_function("optimizer"), torch.no_grad():
        optimizer.step()
    return loss
""",
    "record": """
def record(run, wait, warmup, active, repeat):
    rows = []
    p = profile(
        activities=ACTIVITIES,
        schedule=schedule(wait=wait, warmup=warmup, active=active, repeat=repeat),
        on_trace_ready=lambda p: rows.append(rows_of(p)),
        with_flops=True,
    )
    p.start()
    for cycle in range(repeat):
        for n in range(wait + warmup + active):
            run()
            p.step()
    p.stop()
    return tuple(rows)
""",
    "count": """
def count(rows, label):
    # Sorted by start, with what is open on each thread: no pairs.
    order = sorted(range(len(rows)), key=lambda i: (rows[i].start, -rows[i].end, not rows[i].name.startswith(VISIT)))
    labels = [r for r in rows if r.name == label]
    open_visits, names, flops = {}, [], 0
    for i in order:
        r = rows[i]
        if r.name.startswith(VISIT):
            open_visits[r.thread] = max(open_visits.get(r.thread, r.end), r.end)
        visited = r.end <= open_visits.get(r.thread, float("-inf"))
        fits = [m for m in labels if m.start <= r.start and r.end <= m.end and (m.thread == r.thread or visited)]
        if fits and r.name != label:
            names.append(r.name)
            flops += r.flops * (r.name in PRODUCTS)
    return {name: names.count(name) for name in names}, flops
""",
    "predict": """
def predict(b, layers, input_grad=False):
    def down(n):
        # The products of layers 0 to n, and whether something in them wants a gradient.
        if n < 0:
            return 0, 0, input_grad
        ahead, back, wanted = down(n - 1)
        inputs, outputs, trained = layers[n]
        one = 2 * b * inputs * outputs
        return ahead + one, back + one * trained + one * wanted, wanted or trained
    return down(len(layers) - 1)[:2]
""",
}
FRAMES = {
    "record": """
def record(run, wait, warmup, active, repeat):
    class Keeper:
        kept = []
        def __call__(self, prof):
            spans = [(e, e.time_range) for e in prof.events()]
            self.kept.append([Row(e.name, e.thread, at.start, at.end, e.flops) for e, at in spans])

    keeper, each = Keeper(), wait + warmup + active
    plan = schedule(wait=wait, warmup=warmup, active=active)  # without end
    with profile(schedule=plan, on_trace_ready=keeper, with_flops=True, with_stack=False) as prof:
        for n in range(each * repeat):
            run()
            prof.step()
    return keeper.kept[:repeat]
""",
    "count": """
import numpy as np

def count(rows, label):
    a = np.array([r.start for r in rows]); b = np.array([r.end for r in rows]); t = np.array([r.thread for r in rows])
    within = (a[:, None] >= a) & (b[:, None] <= b)  # row i within row j
    same = t[:, None] == t
    visit = np.array([r.name.startswith(VISIT) for r in rows])
    mark = np.array([r.name == label for r in rows])
    engine = (within & same & visit).any(axis=1)
    chosen = (within & mark & (same | engine[:, None])).any(axis=1) & ~mark
    kept = [r for r, yes in zip(rows, chosen) if yes]
    names, numbers = np.unique([r.name for r in kept] or np.array([], dtype=str), return_counts=True)
    return dict(zip(names.tolist(), numbers)), np.sum([r.flops for r in kept if r.name in PRODUCTS])
""",
    "predict": """
import numpy as np

def predict(b, layers, input_grad=False):
    inputs, outputs, trained = (np.array(x) for x in zip(*layers))
    product = 2.0 * b * inputs * outputs
    below = np.maximum.accumulate(np.concatenate([[input_grad], trained[:-1]]))
    return np.array([product.sum(), product @ (trained.astype(float) + below)])
""",
}


@pytest.mark.parametrize("style", [DECORATED, SWEPT, FRAMES], ids=["decorated", "swept", "frames"])
def test_a_right_answer_in_another_style_gets_every_point(earns_every_point, style):
    """Decorators, and a profiler for each cycle; start and stop, and a sweep; a schedule without end, and NumPy."""
    earns_every_point(style)
