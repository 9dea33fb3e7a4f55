"""Right answers to checkpoint_by_hand that look nothing like the reference get every point."""

from pathlib import Path

import pytest

from course_grader.grading.exercises.wrong_answers import read_wrong_answer

WRONG = Path(__file__).parents[2] / "exercises/checkpoint_by_hand/key/wrong"

RECURSIVE = {
    "forward": """
import functools

def forward(layers, x, keep):
    kept = {}

    def run(h, pair):
        if pair[0] in set(keep):
            kept[np.int64(pair[0])] = h.copy()
        return pair[1].forward(h)

    return [functools.reduce(run, enumerate(layers), x), kept]
""",
    "backward": """
def backward(layers, kept, v):
    grads = {}

    def descend(i, stop, h, v):
        if i + 1 < stop:
            v = descend(i + 1, stop, layers[i].forward(h), v)
        v, grads[i] = layers[i].backward(h, v)
        return v

    stop = len(layers)
    while kept:
        start = max(kept)
        v = descend(start, stop, kept.pop(start), v)
        stop = start
    return v, tuple(grads[i] for i in range(len(layers)))
""",
    "plan": """
def plan(sizes, keep):
    sizes, keep = np.array(sizes), np.array(keep)
    kept = np.isin(np.arange(len(sizes)), keep)
    turn = np.cumsum(kept) - 1
    totals = [sizes[kept & (turn < t)].sum() + sizes[turn == t].sum() for t in range(len(keep))]
    return max(totals), np.sum(~kept)
""",
    "choose": """
def choose(sizes, budget):
    # dynamic programming over the last checkpoint and the bytes of the earlier ones
    n = len(sizes)
    states = {(0, 0): [0]}
    done = []
    for i in range(1, n + 1):
        new = {}
        for (last, earlier), keep in states.items():
            if earlier + sum(sizes[last:i]) > budget:
                continue
            if i == n:
                done.append(keep)
                continue
            for key, value in (((last, earlier), keep), ((i, earlier + sizes[last]), [*keep, i])):
                if len(new.get(key, [])) < len(value):
                    new[key] = value
        states = new
    if not done:
        raise ValueError(budget)
    return np.array(max(done, key=len))
""",
}
ONE_LOOP = {
    "forward": """
from collections import OrderedDict

def forward(layers, x, keep):
    marks, kept = list(keep) + [len(layers)], OrderedDict()
    for start, stop in zip(marks, marks[1:]):
        kept[start] = x
        for layer in layers[start:stop]:
            x = layer.forward(x)
    return x, kept
""",
    "backward": """
def backward(layers, kept, v):
    stack, grads = [], []
    for i, layer in reversed(list(enumerate(layers))):
        if not stack:
            start, h = kept.popitem()
            stack.append(h)
            while start < i:
                h = layers[start].forward(h)
                stack.append(h)
                start += 1
        v, dw = layer.backward(stack.pop(), v)
        grads = [dw, *grads]
    return [v, grads]
""",
    "plan": """
def plan(sizes, keep):
    held, peak, again = sum(sizes[i] for i in keep), 0, 0
    for i in reversed(range(len(sizes))):
        if i in keep:
            peak = max(peak, held + sum(sizes[i + 1 : i + 1 + again_here(keep, i, len(sizes))]))
            again += again_here(keep, i, len(sizes))
            held -= sizes[i]
    return float(peak), again

def again_here(keep, i, n):
    return min([k for k in keep if k > i] + [n]) - i - 1
""",
    "choose": """
def choose(sizes, budget):
    best = None
    for bits in range(2 ** (len(sizes) - 1)):
        keep = [0] + [i for i in range(1, len(sizes)) if bits >> (i - 1) & 1]
        peak, again = plan(sizes, keep)
        if peak <= budget and (best is None or (again, peak) < best[0]):
            best = (again, peak), tuple(keep)
    if best is None:
        raise ValueError("too little")
    return best[1]
""",
}
DICTS = {
    "forward": """
class Keeper(dict):
    pass

def forward(layers, x, keep):
    kept = Keeper()
    before, h = None, x
    for i in range(len(layers)):
        kept.update({i: h} if i in keep else {})
        before, h = h, layers[i].forward(h)
    return h, dict(kept)
""",
    "backward": """
def backward(layers, kept, v):
    n = len(layers)
    grads = np.empty(n, dtype=object)
    bounds = sorted(kept) + [n]
    for s in range(len(bounds) - 2, -1, -1):
        a, b = bounds[s], bounds[s + 1]
        inputs = {a: kept[a]}
        del kept[a]
        for i in range(a + 1, b):
            inputs[i] = layers[i - 1].forward(inputs[i - 1])
        for i in range(b - 1, a - 1, -1):
            h = inputs[i]
            v, grads[i] = layers[i].backward(h, v)
            del inputs[i]
    return v, list(grads)
""",
}


@pytest.mark.parametrize("style", [RECURSIVE, ONE_LOOP, DICTS], ids=["recursive", "one loop", "dicts"])
def test_a_right_answer_in_another_style_gets_every_point(earns_every_point, style):
    """Recursion, copies, NumPy and dynamic programming; a stack that is filled when empty; names that linger."""
    earns_every_point(style)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("below_the_budget", "a peak of exactly the budget fits, too"),
        ("one_segment", "you choose [0], one segment of all layers"),
    ],
)
def test_the_check_of_choose_names_one_segment_and_equality(grade, wrong, said):
    """One segment passed for every k-th layer, and a budget reached exactly for one too small."""
    answers = read_wrong_answer(WRONG / f"{wrong}.py").answers
    checks = {row.name: row.message for row in grade(answers).rows if row.kind == "check"}
    assert said in checks["check_choose"]
