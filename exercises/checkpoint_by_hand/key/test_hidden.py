"""Hidden tests of checkpoint_by_hand: each tells the learner which mistake it found, never a value."""

from itertools import combinations, pairwise

import numpy as np

from course_grader import Mistake, expect, points, rests_on

ROWS = 2
EXACTLY = "a peak of exactly the budget fits, too"
RIGHT_PLAN = """
def plan(sizes, keep):
    ends = [*keep[1:], len(sizes)]
    turns = [sum(sizes[i] for i in keep if i < a) + sum(sizes[a:b]) for a, b in zip(keep, ends)]
    return max(turns), len(sizes) - len(keep)
"""


def make(rng, widths):
    """Return an input, weights and an upstream gradient, for layers of these widths."""
    weights = [rng.uniform(0.5, 1.5, size=(a, b)) * rng.choice([-1, 1], size=(a, b)) / a for a, b in pairwise(widths)]
    x = rng.uniform(0.3, 1.2, size=(ROWS, widths[0])) * rng.choice([-1, 1], size=(ROWS, widths[0]))
    return x, weights, rng.normal(size=(ROWS, widths[-1]))


def run_layers(x, weights):
    """Return all inputs, and the output behind them."""
    h = [x]
    for w in weights:
        h.append(np.sin(h[-1]) @ w)
    return h


def go_back(h, weights, v, fresh=()):
    """Return the gradients of the first input and of all weights; before the layers in `fresh`, v is as at first."""
    grads, first = [], v
    for i in reversed(range(len(weights))):
        v = first if i + 1 in fresh else v
        grads.insert(0, np.sin(h[i]).T @ v)
        v = (v @ weights[i].T) * np.cos(h[i])
    return v, grads


def segments(keep, n):
    return list(pairwise([*keep, n]))


def numbers(layers):
    """Say which layers, in words."""
    layers = sorted(set(layers))
    return f"layer {layers[0]}" if len(layers) == 1 else f"layers {', '.join(map(str, layers[:4]))}"


def call(learner, name, *args):
    """Call a pass through the notebook's function that watches it, and speak of the pass alone."""
    watched = f"watched_{name}"
    try:
        return learner.call(watched, *args)
    except Mistake as mistake:
        said = str(mistake).replace(f"`{watched}` raised", f"`{name}` raised", 1)
        said = said.replace(f"`{watched}` returned", f"`{name}` returned", 1)
        raise mistake.reworded(said, function=name) from None


def went_forward(calls, n):
    """Check that each layer ran once, in order."""
    ran = [i for kind, i, _ in calls if kind == "forward"]
    if not ran:
        raise Mistake("`forward` runs no layer: call the `forward` of each, which computes and is counted")
    if len(ran) > len(set(ran)):
        raise Mistake("`forward` runs a layer more than once: one run gives its output, and is enough")
    if ran != list(range(n)):
        raise Mistake("`forward` does not run all layers in their order, from `layers[0]` to the last one")


def went_back(calls, n):
    """Check that each layer's own backward ran, the last one first."""
    back = [i for kind, i, _ in calls if kind == "backward"]
    if not back:
        raise Mistake("`backward` runs no layer's own `backward`, which has the rule for its gradients")
    if set(back) != set(range(n)):
        raise Mistake("`backward` does not go through all layers: each one's own `backward` must run")
    if back != sorted(back, reverse=True):
        raise Mistake("`backward` must go from the last layer to the first: each needs what the one after it returns")


@points(0.5)
def test_forward(learner, rng):
    """The output, and the inputs of the layers in keep, are right."""
    widths = [3] * 10 if rng.integers(2) else [4] * 10
    (x, weights, _), keep = make(rng, widths), [0, 3, int(rng.integers(5, 7)), 8]
    found = call(learner, "forward", x, weights, keep)
    y, kept = expect.pair(found["said"], "the output and kept", name="forward")
    went_forward(found["calls"], 9)
    if isinstance(y, dict) and not isinstance(kept, dict):
        raise Mistake("`forward` returns `kept` first: the output comes first")
    if not isinstance(kept, dict):
        raise Mistake(f"`kept` must be a dict from a layer's number to its input; it is {expect.describe(kept)}")
    h = run_layers(x, weights)
    y = expect.array(y, name="the output", shape=h[-1].shape)
    if np.allclose(y, h[-2]):
        raise Mistake("`forward` returns the input of the last layer: it must return its output")
    if not np.allclose(y, h[-1]):
        raise Mistake("the output that `forward` returns is not that of the last layer")
    if len(kept) >= 9:
        raise Mistake("`forward` keeps the input of every layer, whatever `keep` says")
    if 9 in kept:
        raise Mistake("`forward` keeps the output of the last layer: the backward pass does not need it")
    if 0 not in kept:
        raise Mistake("`forward` does not keep `x`: it is the input of `layers[0]`, and the first segment begins there")
    if set(kept) == {*range(0, 9, 3)}:
        raise Mistake("`forward` keeps every third input: it must keep those that `keep` says, at any distance")
    if set(kept) != set(keep):
        raise Mistake("`kept` has other layers than `keep`: it must have exactly those")
    arrays = {i: expect.array(kept[i], name=f"kept[{i}]", shape=h[i].shape) for i in keep}
    if all(np.allclose(arrays[i], h[i + 1]) for i in keep if i):
        raise Mistake("`forward` keeps what comes out of the layers in `keep`: it must keep what goes into them")
    if not all(np.allclose(arrays[i], h[i]) for i in keep):
        raise Mistake("`kept` does not hold the inputs of the layers in `keep`")


@points(0.5)
def test_forward_frees(learner, rng):
    """While the layers run, inputs that are not kept are freed."""
    n, keep = 14, [0, int(rng.integers(4, 7)), int(rng.integers(8, 11))]
    x, weights, _ = make(rng, [3] * (n + 1))
    calls = call(learner, "forward", x, weights, keep)["calls"]
    went_forward(calls, n)
    for _, i, alive in calls:
        if len([j for j in alive if j not in keep and j < i - 1]) > 3:  # a name or two may linger
            raise Mistake(
                "`forward` holds the inputs of all layers until it returns, so its peak is that without checkpoints: "
                "free an input that is not kept as soon as its layer has run"
            )


def backward_of(learner, rng, widths, keep):
    """Run the learner's backward, and check that it went back."""
    x, weights, v = make(rng, widths)
    found = call(learner, "backward", x, weights, keep, v)
    went_back(found["calls"], len(weights))
    return found, (x, weights, v)


@points(2)
def test_gradients(learner, rng):
    """The gradients are those without checkpoints, whatever the segments are."""
    drawn = [int(width) for width in rng.integers(2, 6, size=9)]
    for widths, keep in ([3] * 10, [0, 3, 7]), (drawn, [0, 1, int(rng.integers(3, 6)), 7]), ([2, 3, 4], [0]):
        found, (x, weights, v) = backward_of(learner, rng, widths, keep)
        dx, grads = expect.pair(found["said"], "the gradient of x and the list of gradients", name="backward")
        n, h = len(weights), run_layers(x, weights)
        right_dx, right = go_back(h, weights, v)
        if isinstance(dx, (list, tuple)) and not isinstance(grads, (list, tuple)):
            raise Mistake("`backward` returns the list first: the gradient of x comes first")
        if not isinstance(grads, (list, tuple)) or len(grads) != n:
            raise Mistake("the second thing that `backward` returns must be a list with one gradient for each layer")
        arrays = [None if g is None else np.asarray(expect.array(g, name="the gradient of the weights")) for g in grads]
        if any(g is None for g in arrays):
            raise Mistake("`backward` leaves out the gradient of the weights of some layers")
        if all(map(agree, arrays, reversed(right))):
            raise Mistake("the gradients of the weights are in the order in which they were computed: turn them around")
        if len(keep) > 1 and all(map(agree, arrays, go_back_in_segments(h, weights, v, keep))):
            raise Mistake("each segment begins with the `v` of the loss: pass on what the segment after it returned")
        if not all(map(agree, arrays, right)):
            raise Mistake("the gradients of the weights are wrong: is each layer given its own input, and its `v`?")
        dx = expect.array(dx, name="the gradient of x")
        if not agree(dx, right_dx):
            raise Mistake("the gradient of x is wrong: it is what `layers[0].backward` returns first")


def go_back_in_segments(h, weights, v, keep):
    if len({w.shape for w in weights}) > 1:  # then v has another width
        return [None] * len(weights)
    return go_back(h, weights, v, fresh=keep)[1]


def agree(came, right):
    return right is not None and came.shape == right.shape and np.allclose(came, right, rtol=1e-9, atol=1e-12)


@points(1.5)
def test_runs_again_once(learner, rng):
    """Each input that was not kept is computed again once, when its segment has its turn."""
    n, keep = 11, [0, int(rng.integers(3, 5)), int(rng.integers(7, 9))]
    found, _ = backward_of(learner, rng, [3] * (n + 1), keep)
    calls, needed = found["calls"], [i for i in range(n) if i + 1 not in keep and i + 1 < n]
    again = [i for kind, i, _ in calls if kind == "forward"]
    if not again:
        raise Mistake("`backward` runs no layer again, so where do the inputs come from that were not kept?")
    if missing := set(needed) - set(again):
        raise Mistake(
            f"`backward` does not run the `forward` of {numbers(missing)} again, whose output was not kept: the "
            "next layer needs it as its input"
        )
    if any(again.count(i) > 1 for i in needed):
        raise Mistake(
            "`backward` runs layers more than once again: compute the inputs of a segment in one go, and hold them "
            "until its layers have gone back"
        )
    order = [(kind, i) for kind, i, _ in calls]
    for start, stop in segments(keep, n):
        runs = [order.index(("forward", i)) for i in needed if start <= i < stop]
        if stop < n and runs and min(runs) < order.index(("backward", stop)):
            raise Mistake(
                "`backward` runs all layers again before it goes back, so all inputs are in memory at once, as without "
                "checkpoints: one segment at a time, the last one first"
            )
    back = [i for kind, i in order if kind == "backward"]
    if len(back) > n:
        raise Mistake("`backward` runs a layer's own `backward` more than once: one run gives both gradients")


@points(0.5)
def test_ends_of_segments(learner, rng):
    """The last layer of a segment is not run again: nothing needs its output."""
    n, keep = 10, [0, int(rng.integers(2, 4)), int(rng.integers(5, 8))]
    found, _ = backward_of(learner, rng, [3] * (n + 1), keep)
    again = {i for kind, i, _ in found["calls"] if kind == "forward"}
    if not again:
        raise Mistake("`backward` runs no layer again, so where do the inputs come from that were not kept?")
    if n - 1 in again:
        raise Mistake("`backward` runs the last layer of all again: going back needs its input, but not its output")
    if again & {i - 1 for i in keep}:
        raise Mistake("`backward` runs a layer again whose output is a checkpoint: stop one layer before that")


@points(2)
def test_one_segment_at_a_time(learner, rng):
    """At the peak there is one segment in memory, not all."""
    n, k = 24, int(rng.choice([4, 6]))
    keep = list(range(0, n, k))
    found, _ = backward_of(learner, rng, [3] * (n + 1), keep)
    limit = len(keep) + 2 * k + 1  # a segment that is freed late is another test's business
    held, most = set(keep), 0
    for kind, i, alive in found["calls"]:
        if kind == "forward":
            held.add(i + 1)  # until layer i + 1 has gone back, also if it is a copy
        most = max(most, len([j for j in alive if j < n]), len(held - {n}))
        if kind == "backward":
            held.discard(i)
    if most > limit:
        raise Mistake(
            "at its peak `backward` has the inputs of nearly all layers in memory, as without checkpoints: compute "
            "those of one segment, go back through it and free them, then begin with the next one"
        )


@points(0.5)
def test_freed_in_time(learner, rng):
    """A segment and its checkpoint are freed before the next segment has its turn."""
    n, keep = 12, [0, int(rng.integers(3, 5)), int(rng.integers(7, 9))]
    found, _ = backward_of(learner, rng, [3] * (n + 1), keep)
    early, late = set(), set()
    for _, i, alive in found["calls"]:
        start, stop = next((a, b) for a, b in segments(keep, n) if a <= i < b)
        early |= {j for j in alive if j < start and j not in keep}
        late |= {j for j in alive if stop < j < n}  # the next checkpoint itself may linger
    if early:
        raise Mistake("while a segment has its turn, inputs of an earlier one are in memory, whose turn comes later")
    if late - set(keep):
        raise Mistake(
            "when a segment begins, the inputs of the one before it are still in memory: some name or list refers to "
            "them, so take each out when it is used"
        )
    if late:
        raise Mistake(
            "checkpoints stay in memory when their segment has had its turn: take them out of `kept`, since the caller "
            "of `backward` still holds that dict"
        )


def sizes_and_keep(rng, n):
    sizes = [8 * int(size) for size in rng.permutation(np.arange(3, 40))[:n]]
    return sizes, [0, *sorted(int(i) for i in rng.choice(np.arange(2, n - 1), size=3, replace=False))]


def turns_of(sizes, keep):
    return [sum(sizes[i] for i in keep if i < a) + sum(sizes[a:b]) for a, b in segments(keep, len(sizes))]


def planned(learner, sizes, keep):
    said = learner.call("plan", sizes, keep)
    said = list(said) if isinstance(said, np.ndarray) and said.shape == (2,) else said
    return expect.pair(said, "the peak and how many layers run again", name="plan")


def number(value, name):
    return float(expect.array(value, name=name, shape=()))


@points(1)
def test_plan_peak(learner, rng):
    """The peak is right to the byte."""
    for _ in range(3):
        while True:
            sizes, keep = sizes_and_keep(rng, 10)
            turns, parts = turns_of(sizes, keep), segments(keep, 10)
            checkpoints = [sizes[i] for i in keep]
            inner = [sum(sizes[a + 1 : b]) for a, b in parts]
            right = max(turns)
            known = {
                "counts the checkpoints alone: the segment that has its turn is in memory, too": sum(checkpoints),
                "counts all inputs: only one segment is in memory at a time": sum(sizes),
                "counts all checkpoints in each turn: those of later segments are freed by then": sum(checkpoints)
                + max(inner),
                "looks at the last segment alone: another turn may need more": turns[-1],
                "leaves out the checkpoints of earlier segments": max(sum(sizes[a:b]) for a, b in parts),
                "leaves out the checkpoint of the segment that has its turn": max(
                    t - c for t, c in zip(turns, checkpoints, strict=True)
                ),
                "counts the checkpoint of a segment twice": max(t + c for t, c in zip(turns, checkpoints, strict=True)),
                "counts the checkpoint of a segment twice, and those of later ones, too": sum(checkpoints)
                + max(sum(sizes[a:b]) for a, b in parts),
                "counts the output of a segment, which going back does not need": max(
                    t + (sizes[b] if b < 10 else 0) for t, (_, b) in zip(turns, parts, strict=True)
                ),
                "counts arrays: add up their bytes": max(turns_of([1] * 10, keep)),
                "is the smallest of the turns: the peak is the largest": min(turns),
            }
            if len({right, *known.values()}) == len(known) + 1:
                break
        peak = number(planned(learner, sizes, keep)[0], "the peak")
        for message, value in known.items():
            if peak == value:
                raise Mistake(f"the peak that `plan` returns {message}")
        if peak != right:
            raise Mistake("the peak that `plan` returns is wrong for ten layers of different sizes")
    for keep, which in ([0], "one segment"), (list(range(10)), "all inputs kept"):
        if number(planned(learner, sizes, keep)[0], "the peak") != sum(sizes):
            raise Mistake(f"the peak that `plan` returns is wrong with {which}: all inputs are in memory then")


@points(0.5)
def test_plan_again(learner, rng):
    """The number of layers that run again is right."""
    for size in (2, 3, 5):
        sizes, _ = sizes_and_keep(rng, 13)
        keep = [0, *sorted(int(i) for i in rng.choice(np.arange(1, 13), size=size, replace=False))]
        again = number(planned(learner, sizes, keep)[1], "the number of layers that run again")
        known = {
            13: "all layers: the last one of each segment is not run again",
            12: "all layers but one: each segment leaves out one",
            size + 1: "the checkpoints: count the inputs that were not kept",
        }
        if again in known:
            raise Mistake(f"`plan` counts {known[again]}")
        if again != 12 - size:
            raise Mistake("the number of layers that run again is wrong: it is one for each input that was not kept")


def sets_of(n):
    return ([0, *others] for m in range(n) for others in combinations(range(1, n), m))


def refuses(learner, sizes, budget):
    """Return whether choose raises a ValueError."""
    try:
        learner.call("choose", sizes, budget)
    except Mistake as mistake:
        if mistake.raised == "ValueError":
            return True
        raise
    return False


def chosen(learner, sizes, budget):
    """Return the set that the learner chooses, as a list."""
    try:
        keep = learner.call("choose", sizes, budget)
    except Mistake as mistake:
        if mistake.raised != "ValueError":
            raise
        keep = None
    if keep is None and refuses(learner, sizes, budget + 1):
        raise Mistake("`choose` raises a ValueError for a budget that some set fits: try all sets")
    if keep is None:
        raise Mistake(f"`choose` raises a ValueError where the best set just fits: {EXACTLY}")
    keep = expect.array(keep, name="choose")
    if keep.ndim != 1 or keep.dtype.kind not in "iu":
        raise Mistake("`choose` must return a list of layer numbers")
    keep = [int(i) for i in keep]
    if 0 not in keep:
        raise Mistake("`choose` leaves out layer 0: the first segment has to begin somewhere, with `x`")
    if keep != sorted(set(keep)) or keep[-1] >= len(sizes):
        raise Mistake("`choose` must return a sorted list of different layers, from 0 to n - 1")
    return keep


def draw_sizes(rng):
    """Draw sizes whose best sets are not found by every k-th layer, by the largest inputs, or by the least memory."""
    while True:
        sizes = [8 * int(size) for size in rng.permutation(np.arange(3, 60))[:9]]
        peaks = {tuple(keep): max(turns_of(sizes, keep)) for keep in sets_of(9)}
        best = [min(peak for keep, peak in peaks.items() if 9 - len(keep) <= again) for again in range(9)]
        order = sorted(range(1, 9), key=sizes.__getitem__)
        by_size = [min(peaks[0, *sorted(order[: 8 - m])] for m in range(again + 1)) for again in range(9)]
        every = min(peaks[tuple(range(0, 9, k))] for k in range(1, 9))
        apart = all(a > b + 8 for a, b in pairwise(best[:5]))
        if apart and min(every, *by_size) > best[-1] + 8 and by_size[2] > best[2] + 8 and by_size[3] > best[3] + 8:
            return sizes, peaks, best


@points(0.75)
@rests_on(RIGHT_PLAN)
def test_choose(learner, rng):
    """The set fits the budget, and no set that fits runs fewer layers again."""
    sizes, peaks, best = draw_sizes(rng)
    for aim in (2, 3, 1):
        budget = best[aim] + 4 if aim > 1 else sum(sizes) - 1  # whether a peak may be equal to it is another test's
        keep = chosen(learner, sizes, budget)
        if keep == [0]:
            raise Mistake(
                "`choose` returns `[0]`: that is one segment of all layers, which needs the memory of all inputs and "
                "runs the most layers again"
            )
        if peaks[tuple(keep)] > budget:
            if sum(sizes[i] for i in keep) <= budget and len(keep) < 9:
                raise Mistake(
                    "`choose` fits the checkpoints alone into the budget: the segment that has its turn comes on top"
                )
            raise Mistake("`choose` returns checkpoints whose peak is above the budget")
        if 9 - len(keep) == aim:
            continue
        if peaks[tuple(keep)] == best[-1]:
            raise Mistake(
                "`choose` returns the set with the least memory: the budget allows more, and fewer layers run again"
            )
        if keep == list(range(0, 9, keep[1])):
            raise Mistake("`choose` looks at every k-th layer alone: inputs differ in size, and other sets do better")
        raise Mistake("`choose` returns a set that fits, but another one that fits runs fewer layers again")


@points(0.25)
@rests_on(RIGHT_PLAN)
def test_choose_refuses(learner, rng):
    """Where no set fits, choose raises a ValueError; where the peak is exactly the budget, it does not."""
    sizes, peaks, best = draw_sizes(rng)
    least, above = best[-1], "`choose` returns checkpoints whose peak is above the budget"
    if peaks[tuple(chosen(learner, sizes, sum(sizes)))] > sum(sizes):
        raise Mistake(above)
    try:
        came = learner.call("choose", sizes, least - 1)
    except Mistake as mistake:
        if mistake.raised and mistake.raised != "ValueError":
            raise mistake.reworded(f"where no set fits, {mistake}; raise a ValueError") from None
        if not mistake.raised:
            raise
    else:
        what = "nothing" if came is None else "a set"
        raise Mistake(f"where no set of checkpoints fits the budget, `choose` returns {what}: raise a ValueError")
    if peaks[tuple(chosen(learner, sizes, least))] > least:
        raise Mistake(f"{above}, where the best set just fits")
    exact, more = (len(chosen(learner, sizes, best[3] + extra)) for extra in (0, 4))
    if exact < more:
        raise Mistake(f"`choose` runs a layer too many again where a better set just fits: {EXACTLY}")
