"""Hidden tests of slow_step: each tells the learner which mistake it found, never a value."""

from collections import Counter

import numpy as np

from course_grader import Mistake, expect, points

# Not the sizes of the check. A product is told by its shapes, so no batch has one of these, or one more for the bias.
D, M, K = 3, 7, 5
NAMES = ("w1", "b1", "w2", "b2")
SHAPES = {"w1": (M, D), "b1": (M,), "w2": (K, M), "b2": (K,)}
PRODUCTS = {"mm", "addmm", "bmm", "baddbmm", "mv", "addmv"}
WAITS = {"_local_scalar_dense", "equal"}
TABLES = {"full", "eye", "ones", "zeros", "arange", "tril", "lift_fresh", "scatter", "scatter_", "fill_", "zero_"} | {
    "new_full", "new_ones", "new_zeros", "full_like", "ones_like", "zeros_like", "fill_diagonal_", "index_put_", "diag",
}  # fmt: skip
CHOICES = {"argmax", "max", "amax", "topk", "sort", "argsort", "ge", "gt", "eq"}
VIEWS = {"select", "slice", "unbind", "split", "view", "_unsafe_view", "detach", "alias", "as_strided", "squeeze"} | {
    "unsqueeze", "expand", "permute", "transpose", "t", "diagonal", "empty", "empty_like", "copy_", "cat", "stack",
}  # fmt: skip
REFUSED = {
    "same dtype": "`fast_step` multiplies float64 by float32: the batch comes in float64, so convert it",
    "same datatype": "`fast_step` multiplies float64 by float32: the batch comes in float64, so convert it",
    "cannot be multiplied": "`fast_step` multiplies shapes that do not fit: a weight has a row for each of its outputs",
    "leaf Variable that requires": "`fast_step` moves a parameter where autograd watches: do it within torch.no_grad()",
    "does not require grad": "`fast_step` calls backward on a loss that has no graph: what cut it off?",
    "'float' object has no attribute 'backward'": "`fast_step` calls backward on a plain number: `.item()` comes later",
    "graph a second time": "`fast_step` goes back through the same graph twice, but the first time frees it",
    "'NoneType'": "`fast_step` reads a gradient that is None: does backward come first, and does it reach each leaf?",
    "modified by an inplace": "`fast_step` changes in place what backward still needs: move the parameters after it",
    "call numpy() on Tensor": "`fast_step` goes through NumPy: compute in torch, where the profile can see it",
    "'numpy.ndarray'": "`fast_step` goes through NumPy: compute in torch, where the profile can see it",
    "class probabilities": "`fast_step` gives cross_entropy targets of a wrong type: soft labels are in float32",
    "more than one value is ambiguous": "`fast_step` asks a whole tensor for one yes or no: reduce it first",
    "must match the size of tensor": "`fast_step` combines shapes that do not fit: reduced along which axis? "
    "And the number of classes is that of the rows of `w2`, whatever the batch holds",
    "is out of bounds": "`fast_step` asks for a row or column that is not there: `w2` has a row for each class",
    "could not infer output dtype": "`fast_step` takes the mean of booleans: turn them into numbers first",
    "converted to Scalar": "`fast_step` asks a whole tensor for one number: reduce it first",
}


# What is right.


def passed(params, x):
    w1, b1, w2, b2 = params
    h = np.maximum(x @ w1.T + b1, 0)
    return h, h @ w2.T + b2


def soft(k):
    return np.full((k, k), 0.1 / (k - 1)) + np.eye(k) * (0.9 - 0.1 / (k - 1))


def losses(params, x, targets):
    """Return the loss of each sample."""
    z = passed(params, x)[1]
    z = z - z.max(axis=1, keepdims=True)
    return -(targets * (z - np.log(np.exp(z).sum(axis=1, keepdims=True)))).sum(axis=1)


def accuracy(params, x, y):
    return float((passed(params, x)[1].argmax(axis=1) == y).mean())


def gradients(params, x, targets):
    """Return the gradients of the mean loss, derived by hand; each row of targets adds up to 1."""
    h, z = passed(params, x)
    p = np.exp(z - z.max(axis=1, keepdims=True))
    g = (p / p.sum(axis=1, keepdims=True) - targets) / len(x)
    back = (g @ params[2]) * (h > 0)
    return [back.T @ x, back.sum(axis=0), g.T @ h, g.sum(axis=0)]


def moved(params, grads, rate):
    return [p - rate * g for p, g in zip(params, grads, strict=True)]


def draw(rng, b, classes=K):
    """Return parameters, a batch and a rate for which no two classes are close and each step changes the accuracy.

    The batch has the last of so many classes, and none after it.
    """
    while True:
        params = [rng.normal(size=SHAPES[name]).astype(np.float32) for name in NAMES]
        x, y, rate = rng.normal(size=(b, D)), rng.integers(classes, size=b), float(rng.uniform(0.4, 0.8))
        y[rng.integers(b)] = classes - 1
        states = trained(params, x, y, rate)
        gaps = [np.diff(np.sort(passed(state, x)[1], axis=1)[:, -2:]).min() for state in states]
        shares = [accuracy(state, x, y) for state in states]
        if min(gaps) > 1e-2 and shares[0] != shares[1] and shares[1] != shares[2] and min(shares[:2]) > 0:
            return params, x, y, rate


def trained(params, x, y, rate):
    """Return the parameters at the start, after one step and after two, in float64."""
    states = [[p.astype(float) for p in params]]
    for _ in range(2):
        states.append(moved(states[-1], gradients(states[-1], x, soft(K)[y]), rate))
    return states


def far(case):
    """Return the case with logits of several hundred in all rows but one, and a rate so small that they stay there."""
    params, x, y, _ = case
    return params, x * np.where(np.arange(len(x)) == 0, 1.0, 1e3)[:, None], y, 1e-4


def agree(came, right, tolerance=2e-4):
    gap = np.abs(np.subtract(came, right))
    return bool(np.all(np.isfinite(came)) and np.all(gap <= tolerance * np.maximum(1, np.abs(right))))


def alike(came, right):
    return all(agree(c, r) for c, r in zip(came, right, strict=True))


# What came.


def run(learner, case):
    """Return the traced steps, or say in the exercise's words what torch refuses."""
    try:
        found = learner.call("traced", *case)
    except Mistake as mistake:
        for sign, message in REFUSED.items():
            if sign in str(mistake):
                raise Mistake(message) from None
        raise Mistake(str(mistake).replace("`traced`", "`fast_step`", 1)) from None
    return found


def numbers(found, which):
    """Return the loss of both steps (0), or the accuracy (1)."""
    name, what = ("the loss", "the accuracy")[which], "the loss and the accuracy"
    came = [expect.pair(found[step], what, name="fast_step")[which] for step in ("first", "second")]
    return [float(expect.array(number, name=name, shape=())) for number in came]


def is_right(case, found, which):
    """Tell whether the loss (0) or the accuracy (1) is right in both steps; of another form, it is not."""
    try:
        return agree(numbers(found, which), right_numbers(case, found, which))
    except Mistake:
        return False


def places(found, step):
    """Return the parameters after a step."""
    return [expect.array(p, name=n, shape=SHAPES[n]) for n, p in zip(NAMES, found[step], strict=True)]


def right_numbers(case, found, which):
    """Return what both steps must say, each at the parameters where it began, wherever the first one led."""
    params, x, y, _ = case
    states = [params, [p.astype(float) for p in places(found, "led")]]
    if which:
        return [accuracy(state, x, y) for state in states]
    return [losses(state, x, soft(K)[y]).mean() for state in states]


def both(learner, rng):
    """Return two cases with batches of different sizes, and what came for each."""
    while True:  # until the accuracies tell a step that finds them, whether or not it also moves the parameters
        cases = [draw(rng, int(rng.integers(low, low + 4))) for low in (9, 17)]
        first, second = (accuracy(*case[:3]) for case in cases)
        if abs(first - second) > 1e-3:
            break
    return [(case, run(learner, case)) for case in cases]


def counted(found, names=None, *, where=("forward", "backward"), arrays=False):
    """Count the calls of some operators by name; with `arrays`, those alone whose first tensor has a shape."""
    counts = Counter()
    for name, within, shapes, count in found["rows"]:
        short = name.removeprefix("aten::")
        if (names is None or short in names) and within in where and not (arrays and not any(shapes[:1])):
            counts[short] += count
    return counts


def growth(traces, *args, **kwargs):
    """Return by how much the number of calls is larger for the larger batch, by name."""
    small, large = (counted(found, *args, **kwargs) for _, found in traces)
    return Counter({name: large[name] - small[name] for name in large if large[name] > small[name]})


def joined(found):
    """Return how many tensors are put together."""
    return sum(len(shapes) * count for name, _, shapes, count in found["rows"] if name in ("aten::stack", "aten::cat"))


def per_sample(traces, grown):
    """Say how often something is called for each sample."""
    sizes = [len(case[2]) for case, _ in traces]
    times = sum(grown.values()) / (sizes[1] - sizes[0])
    return {1: "once for each sample", 2: "twice for each sample"}.get(times, "more often for a larger batch")


def check_work(traces):
    """Check that the network was computed: a step that does nothing has a short trace, too."""
    for case, found in traces:
        if sum(counted(found, PRODUCTS).values()) < 3:  # those of the gradients of the weights may be sums, too
            raise Mistake(
                "the trace holds fewer products (`aten::mm`, `aten::addmm`) than the network and its gradients need: "
                "this point is for a step that computes them, in torch"
            )
        if not any(is_right(case, found, which) for which in (0, 1)) and not alike(
            places(found, "led"), trained(*case)[1]
        ):
            raise Mistake(
                "no number is that of `slow_step` yet: this point is for a step that gives at least one of them"
            )
        if not any(
            name.removeprefix("aten::") in CHOICES and K in shapes[0] for name, _, shapes, _ in found["rows"] if shapes
        ):
            raise Mistake(
                "nothing in the trace looks for the largest logit of each sample (`aten::argmax`): Python does it, "
                "number by number, where no profile of torch sees it. Compute the accuracy in torch"
            )


def check_mended(case, found):
    """Check that something was mended: the slow step itself has the right numbers."""
    b, counts = len(case[2]), counted(found)
    loops = all(counts[name] >= b for name in ("_log_softmax", "full", "_to_copy"))
    if loops and counts["clone"] and counts["_local_scalar_dense"] >= 2 * b and passes(case, found)[0] > 1.01:
        raise Mistake(
            "this is the slow step as it was: its numbers are worth points as soon as one of its marks is gone"
        )


def sized(found):
    """Yield the products of matrices: summed index, the other two indices, number of calls."""
    for name, _, shapes, count in found["rows"]:
        if name.removeprefix("aten::") in PRODUCTS:
            left, right = (tuple(shape) for shape in shapes[-2:])
            yield left[-1], (left[-2] if len(left) > 1 else 1, right[-1] if len(right) > 1 else 1), count


def passes(case, found):
    """Return how often the batch goes through the first layer, and how often the gradient of x is computed."""
    b, forward, of_data = len(case[2]), 0.0, 0.0
    for summed, outer, count in sized(found):
        rows = next((outer[1 - i] for i in (0, 1) if outer[i] == M), 0)
        if summed in (D, D + 1):
            forward += count * rows / b
        rows = next((outer[1 - i] for i in (0, 1) if outer[i] == D), 0)
        if summed == M:
            of_data += count * rows / b
    return forward, of_data


# Part 1.


def practised(learner, *steps):
    """Return the counts of a practice step, and how often it was run."""
    why = "that is text for people, in which long names are cut off; read the rows, which have a key and a count"
    expect.by_hand(learner, ["calls"], among=["calls"], instead_of={r"\.table$": why})
    try:
        found = learner.call("practice", *steps)
    except Mistake as mistake:
        if "FunctionEvent" in str(mistake) or "EventList" in str(mistake):
            raise Mistake("`calls` returns rows of the profile: make a dict from their names to their counts") from None
        if "must be initialized" in str(mistake):
            raise Mistake("`calls` uses a schedule that never gets to recording: it needs none") from None
        if "does not require grad" in str(mistake):
            raise Mistake("`calls` runs the step where no gradients are recorded: run it as it is") from None
        raise Mistake(str(mistake).replace("`practice`", "`calls`", 1)) from None
    counts = found["counts"]
    if not isinstance(counts, dict):
        raise Mistake(f"`calls` must return a dict from names to counts; it returned {expect.describe(counts)}")
    if not counts:
        raise Mistake(
            "`calls` returns an empty dict: run the step while the profiler records, and read the profile after it"
        )
    if not all(isinstance(name, str) for name in counts):
        raise Mistake("the keys of the dict that `calls` returns must be names")
    if "aten::mm" not in counts:
        if "mm" in counts:
            raise Mistake("the names have lost their `aten::`: keep them as the profile has them")
        if any(name.startswith("aten::") for name in counts):
            raise Mistake("there is no `aten::mm`, though the step has products: keep every row of the profile")
        raise Mistake("the names are not those of the profile's table, where a product is `aten::mm`")
    values = {name: expect.array(count, name=f"the count of {name}", shape=()) for name, count in counts.items()}
    return {name: float(value) for name, value in values.items()}, found["runs"]


@points(1)
def test_calls(learner, rng):
    """Each call is counted, forward and backward."""
    narrow, wide, exps = (int(n) for n in rng.permutation([2, 3, 5]) + rng.integers(0, 2) * 4)
    counts, _ = practised(learner, narrow, wide, exps, False, 0)
    if "aten::matmul" not in counts:
        raise Mistake("there is no `aten::matmul`, which only calls `aten::mm`: keep every row of the profile")
    right = {"aten::mm": narrow + wide, "aten::exp": exps}
    if any(count != int(count) for count in counts.values()):
        raise Mistake("the numbers are not whole: `calls` returns times, or means, where it must return counts")
    if all(counts.get(name) == 1 for name in right):
        raise Mistake("each name has the count 1: a name that comes again must be counted again")
    if all(counts.get(name) == 2 * n for name, n in right.items()):
        raise Mistake("every call is counted twice: record one run, not two")
    if counts["aten::mm"] in (narrow, wide) and counts.get("aten::exp") == exps:
        raise Mistake("products of two shapes have two rows, and one overwrites the other: count by name alone")
    if counts["aten::mm"] != narrow + wide:
        raise Mistake("the number of products, `aten::mm`, is not that of one run")
    if "aten::exp" not in counts:
        raise Mistake("there is no `aten::exp`, though the step has exponentials: keep every row of the profile")
    if counts["aten::exp"] != exps:
        raise Mistake("the number of exponentials, `aten::exp`, is not that of one run")
    counts, _ = practised(learner, narrow, wide, exps, True, 0)
    if counts["aten::mm"] == narrow + wide:
        raise Mistake("the products of the backward pass are not counted")
    if counts["aten::mm"] != 2 * (narrow + wide) or counts.get("aten::exp") != exps:
        raise Mistake("with a backward pass, the counts are not those of one run")


@points(1)
def test_warm_up(learner, rng):
    """The step runs twice, and only the second run is counted."""
    first = int(rng.integers(3, 9))
    counts, runs = practised(learner, 2, 4, 3, bool(rng.integers(2)), first)
    if runs == 1:
        raise Mistake("`calls` runs the step once: warm up first, with a run that is not recorded")
    if counts.get("aten::sin"):
        raise Mistake("what only the first run does is in the counts: run the step once before you record")
    if runs == 0:
        raise Mistake("`calls` never runs the step")
    if runs != 2:
        raise Mistake("`calls` runs the step more than twice: once to warm up, once recorded; each run may train")


# Part 2.


def named(learner, small, large):
    came = learner.call("growing", small, large)
    if isinstance(came, dict):
        raise Mistake("`growing` returns a dict; it must return a list of names")
    if isinstance(came, np.ndarray) and came.dtype.kind == "U":
        came = came.tolist()
    if not isinstance(came, list | tuple):
        raise Mistake(f"`growing` must return a list of names; it returned {expect.describe(came)}")
    if any(not isinstance(name, str) for name in came):
        raise Mistake("`growing` must return names alone, without their counts")
    return [str(name) for name in came]


def two_profiles(rng):
    """Return two profiles, and what grows, the largest growth first; nothing else has that order."""
    calls = [(40, 52), (2, 11), (0, 7), (10, 40), (3, 4), (0, 2)]  # neither by count nor by ratio
    while True:
        names = [f"aten::{name}" for name in rng.permutation(["sum", "mul", "select", "exp", "item", "index"])]
        counts = dict(zip(names, calls, strict=True))
        right = sorted(names, key=lambda name: counts[name][0] - counts[name][1])
        small, large = ({name: counts[name][i] for name in rng.permutation(names)} for i in (0, 1))
        old = [name for name in right if small[name]]
        by_count = sorted(old, key=large.get, reverse=True)
        by_ratio = sorted(old, key={name: large[name] / small[name] for name in old}.get, reverse=True)
        others = sorted(old), [name for name in small if name in old], [name for name in large if name in old]
        if all(order not in (other, other[::-1]) for order in (old, by_count, by_ratio) for other in others):
            break
    small = {name: count for name, count in small.items() if count}
    both = {"aten::mm": 5, "aten::t": 8}
    return {**both, "aten::relu": 6, **small, "aten::cat": 3}, {**large, **both, "aten::relu": 2}, right


@points(0.5)
def test_growing(learner, rng):
    """Every operator with more calls is named, and no other."""
    small, large, right = two_profiles(rng)
    try:
        came = named(learner, small, large)
    except Mistake as mistake:
        if "KeyError" in str(mistake):
            raise Mistake(
                "`growing` raises a KeyError: a name may be in one dict alone, and counts 0 in the other"
            ) from None
        raise
    if len(set(came)) != len(came):
        raise Mistake("`growing` names an operator more than once")
    if {"aten::mm", "aten::t"} & set(came):
        raise Mistake("`growing` names what is called as often as before")
    if {"aten::relu", "aten::cat"} & set(came):
        raise Mistake("`growing` names what is called less often than before")
    if set(came) == set(right) - (set(right) - set(small)):
        raise Mistake("`growing` leaves out what is missing from the first dict: it was called 0 times there")
    if set(came) != set(right):
        raise Mistake("`growing` must name what is called more often, and nothing else")
    if named(learner, small, small):
        raise Mistake("`growing` names something where the two profiles are the same")


@points(0.5)
def test_growing_in_order(learner, rng):
    """The one that has grown the most comes first."""
    small, large, right = two_profiles(rng)
    large = {name: count for name, count in large.items() if name in small}  # new names are another test's business
    right = [name for name in right if name in small]
    came = [name for name in named(learner, {name: small[name] for name in large}, large) if name in right]
    if set(came) != set(right) or came == right:
        if came != right:
            raise Mistake("`growing` does not name all that has grown, so their order says nothing yet")
        return
    if came == right[::-1]:
        raise Mistake("the order is the other way round: the largest growth comes first")
    if came == sorted(right, key=lambda name: -large[name]):
        raise Mistake("the names are in the order of their calls: what counts is by how much the number has grown")
    if came == sorted(right, key=lambda name: -large[name] / small[name]):
        raise Mistake("the names are in the order of a ratio: what counts is the difference of the two numbers")
    if came == sorted(right):
        raise Mistake("the names are in the order of the alphabet: the largest growth comes first")
    raise Mistake("the names are not in the order of their growth, the largest first")


# Part 3: the numbers.


@points(0.5)
def test_loss(learner, rng):
    """The loss is that of the parameters before each step."""
    case = draw(rng, 9, classes=K - 1)  # no sample is of the last class
    params, x, y, rate = case
    found = run(learner, case)
    check_mended(case, found)
    came, right = numbers(found, 0), right_numbers(case, found, 0)
    if agree(came, right):
        check_large_logits(learner, case)
        return
    states, k, b = trained(params, x, y, rate), K, len(y)
    hard, smooth = np.eye(k)[y], 0.9 * np.eye(k)[y] + 0.1 / k
    first, start = came[0], states[0]
    known = {
        "the loss is that of hard labels: the targets are soft": losses(start, x, hard).mean(),
        "the loss spreads 0.1 over all classes, as `label_smoothing=0.1` does: only the others share it": losses(
            start, x, smooth
        ).mean(),
        "the loss has 0.1 for each of the other classes: they share it": losses(
            start, x, np.where(hard == 1, 0.9, 0.1)
        ).mean(),
        "the loss is the sum over the samples: it must be their mean": right[0] * b,
        "the loss is a mean over classes, too: add up over the classes, and average over the samples": right[0] / k,
        "the loss has the wrong sign": -right[0],
        "the loss is a divergence (`kl_div`), which lacks the entropy of the soft labels": right[0]
        + 0.9 * np.log(0.9)
        + 0.1 * np.log(0.1 / (k - 1)),
        "the loss is that of the parameters after the step: it must be that before": losses(
            states[1], x, soft(k)[y]
        ).mean(),
        "the accuracy comes first: the loss does, and then the accuracy": accuracy(start, x, y),
    }
    for mistake, number in known.items():
        if agree(first, number):
            raise Mistake(mistake)
    if agree(first, right[0]):
        raise Mistake("the loss of the first step is right, and that of the second is not: what is left over?")
    raise Mistake("the loss is not that of `slow_step`")


def check_large_logits(learner, case):
    """Check the loss where logits are large."""
    case = far(case)
    params, x, y, _ = case
    came = numbers(run(learner, case), 0)[0]
    if not np.isfinite(came):
        raise Mistake(
            "the loss is not finite for logits of several hundred: exp overflows, or a softmax is 0 before the log"
        )
    if not agree(came, losses(params, x, soft(K)[y]).mean()):
        raise Mistake(
            "the loss is wrong for logits of several hundred: is something cut off, or added inside of the logarithm?"
        )


@points(0.5)
def test_accuracy(learner, rng):
    """The accuracy is that of the parameters before each step."""
    case = draw(rng, 10)
    params, x, y, rate = case
    found = run(learner, case)
    check_mended(case, found)
    came, right = numbers(found, 1), right_numbers(case, found, 1)
    if agree(came, right):
        return
    states = trained(params, x, y, rate)
    known = {
        "the accuracy is that of the parameters after the step: it must be that before": accuracy(states[1], x, y),
        "the accuracy is a number of samples: it must be their share": right[0] * len(y),
        "the accuracy is in percent: it must be a share": right[0] * 100,
        "the accuracy is the share of the wrong ones": 1 - right[0],
        "the accuracy is divided by the number of classes, not of samples": right[0] * len(y) / K,
        "the loss comes second: it comes first, and then the accuracy": right_numbers(case, found, 0)[0],
    }
    for mistake, number in known.items():
        if agree(came[0], number):
            raise Mistake(mistake)
    raise Mistake("the accuracy is not that of `slow_step`")


@points(1)
def test_parameters(learner, rng):
    """The parameters are where slow_step leaves them, after one step and after two."""
    case = draw(rng, 11)
    params, x, y, rate = case
    found = run(learner, case)
    check_mended(case, found)
    came, twice = places(found, "led"), places(found, "params")
    start, right, after = trained(params, x, y, rate)
    if alike(came, right) and alike(twice, after):
        check_steps_of_large_logits(learner, case)
        return
    grads = gradients(start, x, soft(K)[y])
    if alike(came, right):
        later = gradients(right, x, soft(K)[y])
        piled = moved(right, [a + b for a, b in zip(grads, later, strict=True)], rate)
        if alike(twice, piled):
            raise Mistake("the second step moves by the gradients of the first as well: clear them")
        raise Mistake("the parameters are right after one step, and wrong after two: what is left over from the first?")
    hard, k = np.eye(K)[y], K
    known = {
        "the parameters stay where they are: move them in place": start,
        "the parameters go uphill: move against the gradient": moved(start, grads, -rate),
        "the parameters move without `rate`": moved(start, grads, 1.0),
        "the parameters move by the gradient of the sum over the samples, not of the mean": moved(
            start, grads, rate * len(y)
        ),
        "the parameters move by the gradient of a mean over classes, too": moved(start, grads, rate / k),
        "the parameters move as for hard labels: the targets are soft": moved(start, gradients(start, x, hard), rate),
        "the parameters move as if all classes shared the 0.1: only the others share it": moved(
            start, gradients(start, x, 0.9 * hard + 0.1 / k), rate
        ),
        "the parameters move twice in one step": moved(start, grads, 2 * rate),
        "the weights move, and the biases do not": [
            new if new.ndim == 2 else old for old, new in zip(start, right, strict=True)
        ],
    }
    for mistake, wrong in known.items():
        if alike(came, wrong):
            raise Mistake(mistake)
    off = [n for n, c, r in zip(NAMES, came, right, strict=True) if not agree(c, r)]
    raise Mistake(f"after one step, {', '.join(off)} {'are' if len(off) > 1 else 'is'} not where slow_step leaves them")


def check_steps_of_large_logits(learner, case):
    """Check where the parameters go if logits are large; a loss that is wrong there is another test's business."""
    case = far(case)
    params, x, y, rate = case
    found = run(learner, case)
    if not agree(numbers(found, 0)[0], losses(params, x, soft(K)[y]).mean()):
        return
    if not alike(places(found, "led"), trained(params, x, y, rate)[1]):
        raise Mistake("the parameters are wrong for logits of several hundred, and the loss is right: where is an exp?")


# Part 3: the marks.


@points(1)
def test_no_loop_over_samples(learner, rng):
    """No arithmetic is done sample by sample: `aten::_log_softmax` and the others do not grow with the batch."""
    traces = both(learner, rng)
    check_work(traces)
    grown = growth(traces)
    elsewhere = {"_to_copy", "clone"} | WAITS | TABLES  # which other tests look at
    work = {name: n for name, n in grown.items() if name not in elsewhere | VIEWS}
    if products := sorted(PRODUCTS & work.keys()):
        raise Mistake(f"`aten::{products[0]}` is called more often for a larger batch: samples go through one by one")
    if work:
        name = "_log_softmax" if "_log_softmax" in work else max(sorted(work), key=lambda name: work[name])
        times = per_sample(traces, {name: work[name]})
        raise Mistake(
            f"`aten::{name}` is called {times}: there is a loop over the samples, and torch takes them at once"
        )
    if elsewhere & grown.keys():
        return
    if joined(traces[1][1]) > joined(traces[0][1]):
        raise Mistake("the samples are put together one by one (`aten::stack` or `aten::cat`): leave the batch whole")
    if grown:
        name = max(sorted(grown), key=lambda name: grown[name])
        raise Mistake(
            f"`aten::{name}` is called {per_sample(traces, {name: grown[name]})}: something goes sample by sample"
        )


@points(1)
def test_waits(learner, rng):
    """There are at most two waits, one for each number that is returned."""
    traces = both(learner, rng)
    check_work(traces)
    if grown := growth(traces, WAITS):
        raise Mistake(
            f"`aten::_local_scalar_dense` is called {per_sample(traces, grown)}: Python waits for a number there. "
            "Besides `.item()`, an `if` on a tensor, `int`, `float`, and an index that is a tensor of one number do so"
        )
    # On a CPU alone, one_hot waits for the smallest and the largest class, to see whether it has a place for them.
    looks = counted(traces[0][1])["aminmax"]
    if sum(counted(traces[0][1], WAITS).values()) > 2 + 2 * min(looks, 1):
        raise Mistake(
            "`aten::_local_scalar_dense` is called more than twice: two numbers need two waits. What else is asked?"
        )


@points(1)
def test_products(learner, rng):
    """The batch goes through the network once, and no gradient is computed that nobody wants."""
    traces = both(learner, rng)
    check_work(traces)
    shares = [share for _, found in traces for share in numbers(found, 1)]
    if len({round(share, 6) for share in shares}) == 1:
        raise Mistake("the accuracy is the same whatever comes in: this point is for a step that finds it on the way")
    if growth(traces, PRODUCTS):
        return  # another test's business: of parts of a batch, shapes do not tell the product
    for case, found in traces:
        forward, of_data = passes(case, found)
        if forward > 1.01:
            raise Mistake(
                "the first layer multiplies the batch more than once: one forward pass has all that is needed"
            )
        if of_data > 0.01:
            raise Mistake("the backward pass computes the gradient of `x`, which nobody wants: one product too many")
    matrices = sum(n for summed, outer, n in sized(traces[0][1]) if min(summed, *outer) > 1)  # einsum makes dots `bmm`
    if matrices > 5:
        raise Mistake("there are more products than the five that the network and its gradients need")


@points(0.5)
def test_tables(learner, rng):
    """The table of soft labels is not made anew for each sample."""
    traces = both(learner, rng)
    check_work(traces)
    if grown := growth(traces, TABLES, where=("forward",)):
        name = next((name for name in ("full", "fill_diagonal_", "eye", "scatter") if name in grown), min(grown))
        times = per_sample(traces, {name: grown[name]})
        if name in ("lift_fresh", "fill_"):
            raise Mistake(
                f"`aten::{name}` is called {times}: targets are written one by one; `y` can index them all at once"
            )
        raise Mistake(f"`aten::{name}` is called {times}: the table is the same for all, so make it once a step")
    case, found = traces[0]
    if alike(places(found, "led"), trained(*case)[1]):
        return
    loss, right = numbers(found, 0)[0], right_numbers(case, found, 0)[0]
    if not any(agree(loss, factor * right) for factor in (1, -1, len(case[2]), 1 / K)):
        raise Mistake(
            "neither the loss nor the parameters are those of soft labels: without them, a table is no burden"
        )


@points(0.5)
def test_conversions(learner, rng):
    """The batch is converted as a whole, and the weights not at all."""
    traces = both(learner, rng)
    check_work(traces)
    if grown := growth(traces, {"_to_copy"}, where=("forward",), arrays=True):
        raise Mistake(f"`aten::_to_copy` converts an array {per_sample(traces, grown)}: convert the batch as a whole")
    for name, within, shapes, _ in traces[0][1]["rows"]:
        if name == "aten::_to_copy" and within == "forward" and sorted(shapes[0]) in (sorted((M, D)), sorted((K, M))):
            raise Mistake("`aten::_to_copy` converts a weight: convert the batch, so that all is float32")


@points(1)
def test_copies(learner, rng):
    """No weight is cloned: `aten::clone` is gone from the forward pass."""
    traces = both(learner, rng)
    check_work(traces)
    for name, within, shapes, _ in traces[0][1]["rows"]:
        if name == "aten::clone" and within == "forward" and sorted(shapes[0]) in (sorted((M, D)), sorted((K, M))):
            raise Mistake(
                "`aten::clone` copies an array as large as a weight: a product takes a transposed weight as it is"
            )
