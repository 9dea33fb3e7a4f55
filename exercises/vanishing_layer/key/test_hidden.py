"""Hidden tests of vanishing_layer: each tells the learner which mistake it found, never a value."""

import math
from itertools import pairwise

import numpy as np
import pytest

from course_grader import Mistake, expect, points, rests_on

SLOPES = {"tanh": lambda z: 1 - np.tanh(z) ** 2, "relu": lambda z: (z > 0) * 1.0, "linear": np.ones_like}
VALUES = {"tanh": np.tanh, "relu": lambda z: np.maximum(z, 0), "linear": np.asarray}
SCALES = {"tanh": 1.1, "relu": math.sqrt(2), "linear": 1.0}
RIGHT_GAINS = """
import numpy as np

def gains(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    norms = [np.linalg.norm(h.grad.numpy()) for h in seen["h"]]
    return np.array([left / came if came > 0 else 1.0 for left, came in zip(norms, norms[1:])])
"""


def network(rng, kind, sizes, *, scales=(), shifts=(), inputs=1.0):
    """Draw a network that keeps the gradient, but for layers with another scale, or biases that are shifted."""
    scales, shifts, layers = dict(scales), dict(shifts), []
    for i, (m, n) in enumerate(pairwise(sizes)):
        w = np.linalg.qr(rng.normal(size=(max(m, n), max(m, n))))[0][:m, :n] * scales.get(i, SCALES[kind])
        last = i == len(sizes) - 2
        layers.append((w, rng.normal(size=n) * 0.1 + shifts.get(i, 0.0), "linear" if last else kind))
    return layers, rng.normal(size=(6, sizes[0])) * inputs, rng.normal(size=(6, sizes[-1]))


def gradients(layers, x, y):
    """Return the gradients of all weights, sums and values, derived by hand."""
    values, sums = [x], []
    for w, b, kind in layers:
        sums.append(values[-1] @ w + b)
        values.append(VALUES[kind](sums[-1]))
    g = 2 * (values[-1] - y) / y.size
    dw, dz, dh = [], [], [g]
    for (w, _, kind), z, h in reversed(list(zip(layers, sums, values[:-1], strict=True))):
        dz.insert(0, dh[0] * SLOPES[kind](z))
        dw.insert(0, h.T @ dz[0])
        dh.insert(0, dz[0] @ w.T)
    return dw, dz, dh


def values_of(layers, x):
    values = [x]
    for w, b, kind in layers:
        values.append(VALUES[kind](values[-1] @ w + b))
    return values


def ratio(left, came):
    left, came = np.linalg.norm(left), np.linalg.norm(came)
    return left / came if came > 0 else 1.0


def right_gains(layers, x, y):
    dh = gradients(layers, x, y)[2]
    return np.array([ratio(dh[i], dh[i + 1]) for i in range(len(layers))])


def rms(arrays):
    return np.array([np.sqrt(np.mean(g**2)) for g in arrays])


def right_verdict(gains):
    """Return the verdict, and whether no border is near."""
    product, least = np.prod(gains[1:]), gains[1:].min()
    clear = not (3e-4 < product < 3e-3 or product / 3 < least**2 < product * 3)
    if product >= 1e-3:
        return "healthy", not 3e-4 < product < 3e-3
    if least**2 <= product:
        return int(np.argmin(gains[1:])) + 1, clear
    return "everywhere", clear


def drawn(rng, wanted, make, *, most=20, telling=True):
    """Draw until the verdict is the one that is wanted, and no border is near.

    If one of the first ``most`` is such, it is a network of which the weights' gradients, taken for gains, tell another
    story, or with ``telling=False`` the same one: so a mistake costs as much whatever numbers come.
    """
    found = []
    for _ in range(10 * most):
        case = make(rng)
        if right_verdict(right_gains(*case)) == (wanted, True):
            found.append(case)
            if (right_verdict(weight_gains(*case))[0] != wanted) is telling:
                return case
        if len(found) == most:
            break
    assert found, f"no network was drawn of which the verdict is {wanted}"
    return found[0]


def weight_gains(layers, x, y):
    dw = gradients(layers, x, y)[0]
    return np.array([1.0, *(ratio(left, came) for left, came in pairwise(dw))])


def agree(came, right):
    return bool(np.all(np.isfinite(came))) and np.allclose(came, right, rtol=1e-6, atol=1e-12)


RAISED = {
    "'NoneType' object has no attribute": "a .grad is None until a backward() has filled it",
    "ZeroDivisionError": "where nothing comes, the ratio is 1",
    "inhomogeneous": "there must be one number for each layer, over all elements of its array",
    "unexpected keyword argument": "a .grad is a tensor, and .grad.numpy() is an array",
}


def call(learner, name, *case):
    """Call; where it raises, say what to mend first, and what the commonest errors come from."""
    try:
        with expect.blame_dependency(name, {"gains": lambda: gains_from(learner, case)} if name == "verdict" else {}):
            return learner.call(name, *case)
    except Mistake as mistake:
        for sign, why in RAISED.items():
            if mistake.function == name and mistake.raised and sign in str(mistake):
                raise Mistake(f"{mistake}: {why}") from None
        raise


def gains_from(learner, case):
    return expect.array(call(learner, "gains", *case), name="gains(...)", shape=(len(case[0]),))


@points(1)
def test_weight_rms(learner, rng):
    """The root mean square of every layer's gradient is right, in layers of different width."""
    case = network(rng, "tanh", (5, 9, 4, 7))
    dw = gradients(*case)[0]
    came, right = expect.array(call(learner, "weight_rms", *case), name="weight_rms(...)", shape=(3,)), rms(dw)
    if agree(came, [np.linalg.norm(g) for g in dw]):
        raise Mistake("`weight_rms` returns norms: divide by the number of elements under the root")
    if agree(came, [np.abs(g).mean() for g in dw]):
        raise Mistake("`weight_rms` averages absolute values, not squares")
    if agree(came, [np.abs(g).max() for g in dw]):
        raise Mistake("`weight_rms` returns the largest elements: the mean is over all of them")
    if agree(came, [np.sqrt(np.square(g).sum() / len(g)) for g in dw]):
        raise Mistake("`weight_rms` divides by the number of rows: the mean is over all elements of the gradient")
    if agree(came, rms([w for w, _, _ in case[0]])):
        raise Mistake("`weight_rms` looks at the weights themselves: it is their gradients that count")
    if agree(came, [g.std() for g in dw]):
        raise Mistake("`weight_rms` returns standard deviations: do not subtract the mean")
    if agree(came, [np.abs(g.mean()) for g in dw]):
        raise Mistake("`weight_rms` averages before it squares: square the elements, and then take their mean")
    if agree(came, [np.linalg.norm(g) / g.size for g in dw]):
        raise Mistake("`weight_rms` divides the norm by the number of elements: divide under the root")
    if agree(came, [np.sqrt(np.square(g).sum() / g.shape[1]) for g in dw]):
        raise Mistake("`weight_rms` divides by the number of columns: the mean is over all elements of the gradient")
    if agree(came, [np.sqrt(np.square(g).sum() / (g.size - 1)) for g in dw]):
        raise Mistake("`weight_rms` divides by one element less than there are")
    if agree(came, right / rms([w for w, _, _ in case[0]])):
        raise Mistake("`weight_rms` divides by the weights: it is the gradient alone that counts")
    if agree(came, rms(gradients(*case)[1])):
        raise Mistake("`weight_rms` takes the gradients of the sums z: it is those of the weights that count")
    if agree(came, right**2):
        raise Mistake("`weight_rms` returns the mean of the squares: the root is missing")
    if agree(came, right[::-1]):
        raise Mistake("`weight_rms` begins at the output: layer 0 is the one at the input")
    if not agree(came, right):
        raise Mistake("`weight_rms` is wrong for layers of 5 by 9, 9 by 4 and 4 by 7")


@points(2)
def test_gains(learner, rng):
    """What each layer passes on is right, in layers of different width."""
    case = network(rng, "tanh", (5, 9, 4, 7, 3), scales={1: 0.3})
    dw, dz, dh = gradients(*case)
    right = right_gains(*case)
    came = gains_from(learner, case)
    if agree(came, 1 / right):
        raise Mistake("the gains are upside down: what leaves a layer is divided by what comes to it")
    if agree(came, right[::-1]):
        raise Mistake("the gains begin at the output: layer 0 is the one at the input")
    if agree(came, rms(dh[:-1]) / rms(dh[1:])):
        raise Mistake("the gains are ratios of root mean squares: here it is norms, whatever the widths")
    if agree(came, right**2):
        raise Mistake("the gains are ratios of squared norms: the root is missing")
    lengths = np.array([np.linalg.norm(g) for g in dh])
    if agree(came, lengths[:-1] - lengths[1:]) or agree(came, lengths[1:] - lengths[:-1]):
        raise Mistake("the gains are differences: divide what leaves a layer by what comes to it")
    if agree(came, lengths[:-1] / lengths[-1]):
        raise Mistake("the gains are counted from the output: divide by what comes to this layer")
    norms = {
        "spectral norms, which `np.linalg.norm(g, 2)` gives for a matrix": lambda g: np.linalg.norm(g, 2),
        "mean absolute values": lambda g: np.abs(g).mean(),
        "sums of absolute values": lambda g: np.abs(g).sum(),
        "largest elements": lambda g: np.abs(g).max(),
    }
    for what, norm in norms.items():
        if agree(came, [norm(dh[i]) / norm(dh[i + 1]) for i in range(4)]):
            raise Mistake(f"the gains are ratios of {what}: take the Euclidean norm of the whole array")
    if agree(came, [ratio(h, after) for h, after in pairwise(values_of(*case[:2]))]):
        raise Mistake("the gains compare the values h themselves: it is their gradients that come and leave")
    if agree(came, [ratio(dz[i], dh[i + 1]) for i in range(4)]):
        raise Mistake("the gains stop at the sums z: the gradient leaves a layer as that of its input h")
    if agree(came[1:], [ratio(dw[i], dw[i + 1]) for i in range(3)]) or agree(
        came[:-1], [ratio(dw[i], dw[i + 1]) for i in range(3)]
    ):
        raise Mistake("the gains compare gradients of weights: compare those of the values h between layers")
    if not agree(came, right):
        raise Mistake("the gains of a tanh network with layers of different width are wrong")


@points(1)
def test_gains_where_nothing_comes(learner, rng):
    """Below a layer that lets nothing through, gains are 1."""
    case = network(rng, "relu", (6, 6, 6, 6, 6), shifts={2: -50.0})
    came, right = gains_from(learner, case), right_gains(*case)
    if not np.all(np.isfinite(came)):
        raise Mistake("below a closed layer the gains are not finite: where nothing comes, the gain is 1")
    if not agree(came[:2], right[:2]) and np.all(came[:2] < 0.5):
        raise Mistake("below a closed layer the gains are 0: those layers get nothing, so they lose nothing")
    if agree(came[:3], [1, 1, 1]):
        raise Mistake("the gain of a closed layer is 1: something comes to it and nothing leaves, so it is 0")
    if agree(came[:2], right[:2]) and 0 < came[2] < 1e-3:
        raise Mistake("the gain of a closed layer is not 0: a small number is added to the norm of what leaves")
    if not agree(came[:3], right[:3]):  # with which norm the others are taken is the business of the test before
        raise Mistake("the gains of a relu network with a closed layer are wrong")
    layers, x, y = network(rng, "tanh", (6, 6, 6, 6, 6), scales={1: 0.5, 2: 2.0})
    layers = [(w, 0 * b, kind) for w, b, kind in layers]  # zeros come out, so that y alone makes the gradient
    ordinary, tiny = (gains_from(learner, (layers, 0 * x, scale * y)) for scale in (1, 1e-15))
    if not agree(tiny, ordinary):
        raise Mistake("where very little comes to a layer, its gain is wrong: it is 1 only where nothing at all comes")


def judge(learner, case, wanted, *, kind):
    """Hold a verdict against the right one, and against what the usual mistakes give."""
    came, gains, weights = call(learner, "verdict", *case), right_gains(*case), rms(gradients(*case)[0])
    if isinstance(came, int | float | np.number | np.ndarray):
        came = float(expect.array(came, name="verdict(...)", shape=()))
    elif came not in ("healthy", "everywhere"):
        said = f"the text {came[:30]!r}" if isinstance(came, str) else expect.describe(came)
        raise Mistake(f'`verdict` must return "healthy", "everywhere", or the number of a layer; it returned {said}')
    if came == wanted:
        return
    given = gains_from(learner, case)
    if not agree(given[1:], gains[1:]):
        raise Mistake("the verdict is wrong, and so are the gains that it should rest on: mend `gains` first")
    if wanted == "healthy":
        if gains[0] < 1e-3:
            raise Mistake("with small weights in layer 0 nothing is lost that anyone trains: its gain does not count")
        if weights.min() < 1e-3 * weights.max():
            raise Mistake("small inputs make a small gradient in layer 0, but nothing was lost on the way: healthy")
        blamed = "every layer is" if came == "everywhere" else "a layer is"
        raise Mistake(f"{blamed} blamed although the product of the gains is above 0.001, which counts as healthy")
    if wanted == "everywhere":
        if came != "healthy" and gains[1:].min() < 0.01:
            raise Mistake("the layer that takes most is blamed, although the others together take more: everywhere")
        if came == "healthy" and np.prod(gains[1:]) > 1e-4:
            raise Mistake("the verdict is healthy, although the product of the gains is below 0.001")
        raise Mistake(
            f"every layer takes a little, but the verdict {'is healthy' if came == 'healthy' else 'blames one'}"
        )
    if came == "healthy":
        raise Mistake(f"{kind}: the verdict is healthy, although the product of the gains is far below 0.001")
    if came == "everywhere":
        raise Mistake(f"{kind}: everywhere is the verdict, although one layer alone takes the larger part")
    if came == np.argmin(weights):
        raise Mistake(
            f"{kind}: the layer with the smallest gradient is blamed, which only suffers from the one that lost it"
        )
    if came == wanted + 1:
        raise Mistake(f"{kind}: the layer after the right one is named; the first layer is layer 0")
    if came == wanted - 1:
        raise Mistake(f"{kind}: the layer before the right one is named; gains[1:] begins with layer 1")
    if came == np.argmax(gains) or came == np.argmax(gains[1:]) + 1:
        raise Mistake(f"{kind}: the layer with the largest gain is named, not the one with the smallest")
    raise Mistake(f"{kind}: the verdict is not the layer that loses the gradient")


def two_of(rng, low, high):
    """Draw two layers: a verdict that is the same for all is right for one of them at most."""
    return [int(at) for at in rng.permutation(np.arange(low, high))[:2]]


def one_layer(rng, how, at=3):
    """Draw a network in which this layer, not an outer one, loses the gradient, and another has the smallest."""
    kind = "relu" if how == "closed" else "tanh"
    depth = 2 * at + int(rng.integers(4, 6))  # counted from the output, it is another layer, and no neighbour
    others = 0.04 ** (1 / (depth - 2))  # they lose much, too, but all together less than the one
    change = {
        "small weights": {"scales": {**dict.fromkeys(range(depth), others), at: 0.006}},
        "saturated": {"shifts": {at: 8.0}},
        "closed": {"shifts": {at: -50.0}},
    }

    def make(rng):
        while True:
            case = network(rng, kind, (8,) * (depth + 1), **change[how])
            weights = rms(gradients(*case)[0])
            if how == "closed" or np.argmin(weights) not in (at - 1, at, at + 1):
                return case

    return drawn(rng, at, make), at


MODERATE = "with a gain of 0.02, and 0.035 for all the others together"


def moderate(rng, at, depth):
    """Draw a network whose product, 0.0007, is above the square of its smallest gain; no single gain is tiny."""
    scales = dict.fromkeys(range(1, depth), 0.035 ** (1 / (depth - 2)))
    return network(rng, "linear", (8,) * (depth + 1), scales={**scales, at: 0.02})


@points(0.5)
@pytest.mark.parametrize("how", ["small weights", "saturated", "small last weights"])
@rests_on(RIGHT_GAINS)
def test_one_layer(learner, rng, how):
    """The layer that loses the gradient is named, also if it is the last ({how})."""
    if how == "small last weights":
        for last in two_of(rng, 4, 8):
            sizes, scales = (8,) * (last + 2), {last: 1e-5}
            case = drawn(rng, last, lambda rng, sizes=sizes, scales=scales: network(rng, "tanh", sizes, scales=scales))
            judge(learner, case, last, kind="with small weights in the last layer")
            judge(learner, moderate(rng, last, last + 1), last, kind=MODERATE)
        return
    for at in two_of(rng, 2, 6):
        case, _ = one_layer(rng, how, at)
        judge(learner, case, at, kind=f"with {how} in one layer" if how == "small weights" else f"with one {how} layer")
        judge(learner, moderate(rng, at, 9), at, kind=MODERATE)


@points(0.5)
@rests_on(RIGHT_GAINS)
def test_one_closed_layer(learner, rng):
    """The layer that lets nothing through is named."""
    for at in two_of(rng, 2, 6):
        judge(learner, one_layer(rng, "closed", at)[0], at, kind="with one closed layer")


@points(0.5)
@pytest.mark.parametrize("how", ["all alike", "one more than others"])  # the first in two sizes
@rests_on(RIGHT_GAINS)
def test_everywhere(learner, rng, how):
    """Where every layer takes a little, no single layer is blamed, even if one takes more ({how})."""
    scales, more = dict.fromkeys(range(12), 0.35), how == "one more than others"

    def deep(rng):
        return network(rng, "tanh", (8,) * 13, scales=scales | ({int(rng.integers(3, 9)): 8e-4} if more else {}))

    case = drawn(rng, "everywhere", deep, most=100)
    judge(learner, case, "everywhere", kind="")

    def make(rng):
        while True:
            case = network(rng, "tanh", (8,) * 13, scales=dict.fromkeys(range(13), 0.48))
            if 1e-4 < np.prod(right_gains(*case)[1:]) < 3e-4:
                return case

    if how == "all alike":
        judge(learner, drawn(rng, "everywhere", make), "everywhere", kind="")
        case = network(rng, "linear", (8,) * 5, scales=dict.fromkeys(range(1, 4), 0.005) | {2: 0.004})
        judge(learner, case, "everywhere", kind="")


@points(0.5)
@pytest.mark.parametrize("what", ["a little lost", "small inputs", "small first weights"])
@rests_on(RIGHT_GAINS)
def test_healthy(learner, rng, what):
    """Where next to nothing is lost between trained layers, nothing is found ({what})."""
    change = {
        "a little lost": {"scales": dict.fromkeys(range(7), 0.65)},
        "small inputs": {"inputs": 1e-5},
        "small first weights": {"scales": {0: 1e-5}},
    }[what]

    def make(rng):
        while True:
            case = network(rng, "relu", (8,) * 8, **change)
            product = np.prod(right_gains(*case)[1:])
            if product < 0.009 if what == "a little lost" else product > 0.15:
                return case

    case = drawn(rng, "healthy", make, telling=what == "small inputs")
    judge(learner, case, "healthy", kind="")
    if what == "a little lost":  # what one layer takes, the others give
        judge(
            learner,
            network(rng, "linear", (8,) * 8, scales={**dict.fromkeys(range(8), 1.6), 3: 0.004}),
            "healthy",
            kind="",
        )
    broken = drawn(rng, 3, lambda rng: network(rng, "tanh", (8,) * 8, scales={3: 1e-5}))
    expect.depends_on_input(call(learner, "verdict", *case), call(learner, "verdict", *broken), name="verdict")
    if what == "small first weights":
        case = drawn(rng, 3, lambda rng: network(rng, "tanh", (8,) * 8, scales={3: 1e-5, 0: 1e-7}))
        came = call(learner, "verdict", *case)
        if isinstance(came, int | float | np.number | np.ndarray) and not np.any(came):
            raise Mistake("layer 0 is blamed, although its gain does not count: it passes the gradient to the data")


def both(rng, *, shift, scale):
    """Draw a network in which one layer loses much in its activation and in its weights; say where it loses more."""
    while True:
        at = int(rng.integers(3, 5))
        case = network(rng, "tanh", (8,) * 10, shifts={at: shift}, scales={at: scale})
        _, dz, dh = gradients(*case)
        slope, weights = ratio(dz[at], dh[at + 1]), ratio(dh[at], dz[at])
        if max(slope, weights) < 0.1 and not 0.5 < slope / weights < 2:
            return case, at, "activation" if slope < weights else "weights"


def narrowing(rng):
    """Draw a layer from 8 to 2 whose activation takes a little more than its weights, but less by mean squares."""
    while True:
        scale = 10 ** rng.uniform(-2, 0)
        case = network(rng, "tanh", (8, 8, 8, 2, 8), shifts={2: rng.uniform(1, 2)}, scales={2: scale})
        _, dz, dh = gradients(*case)
        slope = ratio(dz[2], dh[3])
        if slope > 0.12 and 0.6 < slope / ratio(dh[2], dz[2]) < 0.85:
            return case, 2


def told_apart(learner, case, at, right, *, blames):
    came = call(learner, "cause", *case, at)
    if not isinstance(came, str) or came not in ("weights", "activation"):
        said = f"the text {came[:30]!r}" if isinstance(came, str) else expect.describe(came)
        raise Mistake(f'`cause` must return "weights" or "activation"; it returned {said}')
    if came != right:
        raise Mistake(f"`cause` blames {blames}")


@points(0.5)
@pytest.mark.parametrize("how", ["small weights", "saturated", "closed"])
def test_cause(learner, rng, how):
    """Weights and activation are told apart ({how})."""
    # No bar for the weights alone, or the slope alone, passes all: the answer is another both below it and above.
    if how == "small weights":
        much = "the activation where the weights take more: compare the two ratios"
        told_apart(learner, *both(rng, shift=2.2, scale=0.01), blames=much)
        flat = "the activation of a saturated layer, but its weights take more still: compare the two ratios"
        told_apart(learner, *both(rng, shift=6.0, scale=1e-6), blames=flat)
    elif how == "saturated":
        small = "the weights of a saturated layer: small as they are, its activation takes more"
        told_apart(learner, *both(rng, shift=5.0, scale=0.005), blames=small)
        widths = "the weights of a layer whose activation takes more: compare norms, whatever the widths"
        told_apart(learner, *narrowing(rng), "activation", blames=widths)
        case, at = one_layer(rng, "closed", int(rng.integers(3, 5)))
        tie = "the activation of a layer to which nothing comes: both ratios are 1, so the first is not the smaller"
        told_apart(learner, case, at - 2, "weights", blames=tie)
    else:
        told_apart(
            learner,
            *one_layer(rng, how, int(rng.integers(3, 5))),
            "activation",
            blames="the weights of a layer that is closed",
        )
