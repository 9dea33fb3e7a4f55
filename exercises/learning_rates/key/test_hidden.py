"""Hidden tests of learning_rates: each tells the learner which mistake it found, never a value."""

import numpy as np

from course_grader import Mistake, expect, points


def agree(came, right, *, tolerance=1e-6):
    return bool(np.all(np.isfinite(came))) and np.abs(came - right).max() <= tolerance * np.abs(right).max()


def with_curvatures(rng, curvatures):
    """Return a symmetric matrix with these eigenvalues, turned away from the axes."""
    turn = np.linalg.qr(rng.normal(size=(len(curvatures), len(curvatures))))[0]
    h = (turn * curvatures) @ turn.T
    return (h + h.T) / 2


def number(value, *, name):
    if value is None or isinstance(value, (str, dict)):
        raise Mistake(f"{name} must be one number, but it is {expect.describe(value)}")
    came = expect.array(value, name=name)
    if came.size != 1:
        raise Mistake(f"{name} must be one number, but it has shape {came.shape}")
    return came.reshape(())


def turned_hessian(rng):
    """Draw a Hessian on which all the usual mistakes give rates of their own."""
    while True:
        h = with_curvatures(rng, rng.uniform([0.5, 2, 8], [1, 4, 12]))
        if np.diag(h).max() < 0.9 * np.linalg.eigvalsh(h)[-1]:
            return h


def weak_along_ones(rng):
    """Draw a Hessian whose weakest direction is (1, 1, 1, 1), in numbers so round that no rounding leads out of it."""
    signs = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]])
    curvatures = np.array([1, *rng.permutation([rng.integers(2, 4), rng.integers(2, 4), rng.integers(8, 13)])])
    return (signs * curvatures) @ signs.T / 4


def both_ways(curvatures):
    return curvatures, curvatures[::-1]


@points(2)
def test_hessian(learner, rng):
    """The Hessian of the mean squared error is right for seven samples with three features."""
    x = rng.normal(size=(7, 3)) + 1.0
    try:
        came = expect.array(learner.call("hessian", x), name="hessian(x)")
    except Mistake as mistake:
        if mistake.raised:
            raise Mistake(f"for seven samples with three features, {mistake}; use x alone, of any shape") from None
        raise
    if came.shape == (7, 7):
        raise Mistake("the Hessian has a row for each sample: it must have one for each weight")
    if came.shape != (3, 3):
        raise Mistake(f"the Hessian has shape {came.shape}; for three weights it must have shape (3, 3)")
    right = 2 * x.T @ x / 7
    if agree(came, right / 2):
        raise Mistake("the Hessian is half of what it must be: the square has a derivative with a 2 in it")
    if agree(came, right * 2):
        raise Mistake("the Hessian is twice what it must be: two derivatives of a square leave one 2")
    if agree(came, right * 7 / 4):
        raise Mistake("the Hessian is divided by 4, the samples of the example: divide by those of x")
    if agree(came, np.diag(np.diag(right))):
        raise Mistake("the Hessian is 0 off the diagonal: the slope along one weight depends on the others, too")
    if not agree(came, came.T):
        raise Mistake("the Hessian is not symmetric: the order of two derivatives does not matter")
    if agree(came, 7 * right) or agree(came, 3.5 * right):
        raise Mistake("the Hessian is that of the summed squared errors: the loss is the mean over the samples")
    if agree(came, right * 7 / 3) or agree(came, right / 3):
        raise Mistake("the Hessian is divided by the number of weights: the mean is over the samples")
    if agree(came, right * 7 / 6):
        raise Mistake("the Hessian is divided by one less than the number of samples: the mean is over all of them")
    centred = x - x.mean(axis=0)
    if any(agree(came, scale * centred.T @ centred) for scale in (1 / 7, 1 / 6, 2 / 7, 2 / 6)) or agree(
        came, np.corrcoef(x.T)
    ):
        raise Mistake("the Hessian is the covariance of the features: nothing is subtracted from x in the loss")
    if not agree(came, right):
        raise Mistake("the Hessian is wrong for seven samples with three features")


@points(0.5)
def test_one_feature(learner, rng):
    """The Hessian of a single weight is a matrix with one entry."""
    x = rng.normal(size=(5, 1)) + 2.0
    came = expect.array(learner.call("hessian", x), name="hessian(x)")
    if came.shape != (1, 1):
        raise Mistake(f"with one feature the Hessian has shape {came.shape}; it must have shape (1, 1)")
    if not agree(came, 2 * x.T @ x / 5):
        raise Mistake("the Hessian is wrong for a single feature")


@points(1.5)
def test_largest_stable_rate(learner, rng):
    """The border follows from the strongest curvature, wherever it points."""
    h = turned_hessian(rng)
    curvatures = np.linalg.eigvalsh(h)
    right = 2 / curvatures[-1]
    on_axes = [
        number(learner.call("largest_stable_rate", np.diag(some)), name="the rate") for some in both_ways(curvatures)
    ]
    if agree(on_axes[0], right) != agree(on_axes[1], right):
        raise Mistake(
            "the rate is computed from the position of a curvature: which comes first is not fixed, so compare them"
        )
    came = number(learner.call("largest_stable_rate", h), name="the rate")
    if agree(came, right / 2):
        raise Mistake("the rate is half of the border: a step may go past the minimum, if it lands nearer than it was")
    if agree(came, 2 / curvatures[0]) or agree(came, 1 / curvatures[0]):
        raise Mistake("the rate is stable in the direction of the weakest curvature only: the strongest decides")
    if agree(came, 2 / curvatures.sum()):
        raise Mistake(
            "the rate is computed from the sum of all curvatures: each direction counts by itself; the strongest rules"
        )
    if agree(came, 2 / curvatures.mean()):
        raise Mistake(
            "the rate is computed from the mean curvature: each direction counts by itself; the strongest rules"
        )
    if agree(came, 2 / np.diag(h).max()):
        raise Mistake(
            "the rate is computed from the diagonal: the strongest curvature need not lie along one of the weights"
        )
    if agree(came, 2 / np.abs(h).sum(axis=1).max()):
        raise Mistake("the rate is computed from sums of rows: those bound the strongest curvature, and lie above it")
    if agree(came, 2 / np.linalg.norm(h)):
        raise Mistake("the rate is computed from the root of the summed squares: use the strongest curvature alone")
    if agree(came, 1 / right) or agree(came, curvatures[-1]):
        raise Mistake("the rate grows with the curvature: the steeper the valley, the smaller the steps must be")
    if agree(came, 2 * right):
        raise Mistake("the rate is twice the border: 1 - rate * curvature would be -3, so that each step triples")
    if agree(came, 2 / (curvatures[0] + curvatures[-1])):
        raise Mistake("the rate is the best one, which another part asks for: the border lies above it")
    if not agree(came, right):
        where = "is below the border: rates above it are stable, too" if came.real < right else "is above the border"
        raise Mistake(f"for a Hessian that is turned away from the axes, the rate {where}")
    h = weak_along_ones(rng)
    if not agree(number(learner.call("largest_stable_rate", h), name="the rate"), 2 / np.linalg.eigvalsh(h)[-1]):
        raise Mistake(
            "the rate is not the border where the weakest curvature lies along (1, ..., 1): a search that begins in "
            "the direction of one curvature never leaves it"
        )


@points(1)
def test_flat_direction(learner, rng):
    """A direction without curvature sets no limit."""
    exact = np.zeros((4, 4))
    exact[:3, :3] = turned_hessian(rng)
    few = [
        rng.normal(size=(2, 5)) for _ in range(5)
    ]  # with rounding: their flat curvatures come out on either side of 0
    for h in (exact, np.diag([0.0, 3.0, 1.0]), *(x.T @ x for x in few)):  # the flat one comes last, first, and anywhere
        try:
            came = number(learner.call("largest_stable_rate", h), name="the rate")
        except Mistake as mistake:
            where = "" if str(mistake).endswith("is not written yet") else "with a flat direction, "
            raise Mistake(f"{where}{mistake}") from None
        if not np.isfinite(came) or came <= 0:
            raise Mistake("a curvature of 0 makes the rate infinite, negative or nan: flat directions set no limit")
        if not agree(came, 2 / np.linalg.eigvalsh(h)[-1]):
            raise Mistake("the rate is not the border for a Hessian with a flat direction")


@points(2)
def test_descend(learner, rng):
    """Weights and losses of a run are right."""
    n, d, steps, rate = 6, 3, 4, 0.05
    x, y, w = rng.normal(size=(n, d)), rng.normal(size=n), rng.normal(size=d)
    result = expect.pair(learner.call("descend", x, y, w, rate, steps), "the weights and the losses", name="descend")
    came, losses = (expect.array(part, name=name) for part, name in zip(result, ("w", "the losses"), strict=True))
    if came.shape == (steps + 1,) and losses.shape == (d,):
        raise Mistake("`descend` returns the losses first: the weights come first, and then the losses")
    if losses.shape in {(steps,), (steps + 2,)}:
        raise Mistake("the losses have the wrong length: one at the start, and one after each step, the last included")
    if losses.shape != (steps + 1,):
        raise Mistake(f"the losses have shape {losses.shape}; they must be a plain sequence of steps + 1 numbers")
    right = {scale: run(x, y, w, scale * rate, steps) for scale in (1, 0.5, n, n / 2, -1)}
    if came.shape in {(steps, d), (steps + 1, d)}:
        raise Mistake("`descend` returns all weights on the way: return the last")
    if came.shape != (d,):
        raise Mistake(f"`w` has shape {came.shape}; it must have one entry for each weight")
    if agree(came, right[0.5][0]):
        raise Mistake("the steps are half as long as they must be: the gradient of a square has a 2 in it")
    if agree(came, right[n][0]) or agree(came, right[n / 2][0]):
        raise Mistake("the steps use the gradient of the sum: the loss is the mean over the samples")
    if agree(came, right[-1][0]):
        raise Mistake("the steps go uphill: move against the gradient")
    if agree(came, run(x, y, w, rate, steps + 1)[0]) or agree(came, run(x, y, w, rate, steps - 1)[0]):
        raise Mistake("the weights are those of one step too many or too few")
    if agree(came, normalised(x, y, w, rate, steps)):
        raise Mistake("the gradient is divided by its length: all steps are then equally long, and never settle")
    known = {
        "starts at zero: start at the w it was given": run(x, y, 0 * w, rate, steps)[0],
        "takes the gradient at the start for every step: compute it anew": w - steps * (w - run(x, y, w, rate, 1)[0]),
        "jumps to the minimum: take the steps": np.linalg.lstsq(x, y, rcond=None)[0],
        "divides by the number of weights: the loss is the mean over the samples": run(x, y, w, rate * n / d, steps)[0],
        "stays where it was": w,
        "leaves y out: the gradient is not the Hessian times w": run(x, 0 * y, w, rate, steps)[0],
    }
    for mistake, wrong in known.items():
        if agree(came, wrong):
            raise Mistake(f"`descend` {mistake}")
    if not agree(came, right[1][0]):
        raise Mistake("the weights after four steps are wrong")
    if agree(losses**2, right[1][1]):
        raise Mistake("the losses are roots: the mean squared error has none")
    if any(agree(losses, scale * right[1][1]) for scale in (n, n / 2, 1 / 2, n / d)):
        raise Mistake("the weights are right, but the losses are not the mean squared error")
    if not agree(losses, right[1][1]):
        raise Mistake("the weights are right, but the losses are not those of the weights before and after each step")
    near = np.linalg.lstsq(x, y, rcond=None)[0] + 1e-9
    settled = expect.pair(learner.call("descend", x, y, near, rate, 9), "the weights and the losses", name="descend")
    if expect.array(settled[1], name="the losses").shape != (10,):
        raise Mistake("`descend` stops before its last step where little changes: take as many as it is asked for")


def run(x, y, w, rate, steps):
    losses = [np.mean((x @ w - y) ** 2)]
    for _ in range(steps):
        w = w - rate * 2 * x.T @ (x @ w - y) / len(x)
        losses.append(np.mean((x @ w - y) ** 2))
    return w, np.array(losses)


def normalised(x, y, w, rate, steps):
    for _ in range(steps):
        gradient = x.T @ (x @ w - y)
        w = w - rate * gradient / np.linalg.norm(gradient)
    return w


def named(learner, runs):
    try:
        found = learner.call("diverged", runs)
    except Mistake as mistake:
        if "which is not plain data" in str(mistake):
            said = str(mistake).partition(", which is not")[0]
            raise Mistake(f"{said}; it must return a list of names, in the order of the dict") from None
        raise
    if not isinstance(found, (list, tuple, np.ndarray)) or not all(isinstance(name, str) for name in found):
        raise Mistake(f"`diverged` returned {expect.describe(found)}; it must return a list of names")
    return [str(name) for name in found]


@points(1)
def test_diverged(learner, rng):
    """Among runs that stay finite, those that end above their start are found, in order."""
    a, b = rng.uniform(1, 2, size=2)
    runs = {
        "hill": [a, 4 * a, 0.5 * a],
        "dip": [b, 0.1 * b, 1.5 * b],
        "down": [b, 0.5 * b, 0.25 * b],
        "up": [a, 3 * a, 9 * a],
        "slow": [a, 0.999 * a, 0.998 * a],
        "hop": [b, 0.2 * b, 0.6 * b],
        "level": [a, 2 * a, a],
        "creep": [b, 1.001 * b, 1.002 * b],
    }
    found = named(learner, runs)
    if found == ["dip"] and named(learner, {"down": runs["down"], "up": runs["up"]}) == ["up"]:
        raise Mistake("`diverged` names the first run that diverged and no other: is the `return` inside of the loop?")
    if "hill" in found:
        raise Mistake("a run that rises on the way and ends below its start counts as diverged: it is not")
    if "level" in found:
        raise Mistake(
            "a run that ends with the very loss it began with counts as diverged: it must end with a larger one"
        )
    if "hop" in found:
        raise Mistake("a run that ends below its start counts as diverged, because it was lower still on the way")
    if "creep" not in found and "up" in found:
        raise Mistake(
            "a run that ends a little above its start does not count as diverged: how far above does not matter"
        )
    if "dip" not in found and "up" in found:
        raise Mistake("a run that dips on the way and ends above its start does not count as diverged: it must")
    if sorted(found) == ["creep", "dip", "up"] and found != ["dip", "up", "creep"]:
        raise Mistake("the names are not in the order of the dict")
    if found != ["dip", "up", "creep"]:
        raise Mistake("`diverged` names the wrong ones of eight runs that stay finite")
    mixed = named(learner, {"dip": runs["dip"], "nan": [a, float("nan")], "up": runs["up"]})
    if "nan" in mixed and [name for name in mixed if name != "nan"] == ["dip", "up"] != mixed[::2]:
        raise Mistake("the names are not in the order of the dict: a run with a loss that is nan has its place there")


@points(0.5)
def test_not_finite(learner, rng):
    """A run with a loss that is not a finite number has diverged."""
    a = rng.uniform(1, 2)
    runs = {
        "nan": [a, 2 * a, float("nan")],
        "good": [a, 0.5 * a, 0.1 * a],
        "in the middle": [a, float("nan"), 0.5 * a],
        "inf": [a, float("inf"), 0.5 * a],
    }
    found = named(learner, runs)
    if "good" in found:
        raise Mistake("a run whose losses are finite and fall counts as diverged")
    if sorted(found) != ["in the middle", "inf", "nan"]:  # in which order is another test's business
        raise Mistake("a run with a loss that is nan or inf is overlooked, at its end or before")


@points(1)
def test_fastest_rate(learner, rng):
    """The best rate shrinks the weakest and the strongest direction alike."""
    h = turned_hessian(rng)
    low, middle, high = np.linalg.eigvalsh(h)
    came = number(learner.call("fastest_rate", h), name="the rate")
    if agree(came, 1 / high):
        raise Mistake("your best rate finishes the strongest direction in one step and leaves the weakest behind")
    if agree(came, 1 / (low + high)):
        raise Mistake("your best rate is half of the right one: set the two factors equal again")
    if came >= 2 / high:
        raise Mistake("your best rate lies at the border or beyond it, where a direction does not shrink")
    if agree(came, 2 * 3 / np.trace(h)) or agree(came, 3 / np.trace(h)):
        raise Mistake("your best rate is computed from the mean curvature: only the two extremes matter")
    if any(agree(came, 2 / (curvature + other)) for curvature, other in ((low, middle), (middle, high))):
        raise Mistake(
            "your best rate is computed from the position of a curvature: take the smallest and the largest of them"
        )
    if not agree(came, 2 / (low + high)):
        behind = (
            "leaves the weakest direction behind" if came.real < 2 / (low + high) else "hops about in the strongest"
        )
        raise Mistake(f"your best rate {behind}: the worst direction shrinks more slowly than it could")
    for places in range(3):
        came = number(learner.call("fastest_rate", np.diag(np.roll([low, middle, high], places))), name="the rate")
        if not agree(came, 2 / (low + high)):
            raise Mistake(
                "your best rate is computed from the position of a curvature: take the smallest and the largest of them"
            )


@points(0.5)
def test_arguments_are_left_alone(learner, rng):
    """No function changes what it is given."""
    calls = {"hessian": [], "largest_stable_rate": [], "descend": [], "fastest_rate": []}
    for _ in range(2):
        x, y, w, h = rng.normal(size=(5, 3)), rng.normal(size=5), rng.normal(size=3), turned_hessian(rng)
        calls["hessian"].append((x,))
        calls["largest_stable_rate"].append((h,))
        calls["descend"].append((x, y, w, 0.05, 3))
        calls["fastest_rate"].append((h,))
    for name, both in calls.items():
        done = [learner.run(name, *args) for args in both]
        for args, call in zip(both, done, strict=True):
            if not all(map(np.array_equal, args, call.args)):
                raise Mistake(f"`{name}` changed an array it was given: work on a copy")
        expect.depends_on_input(*(call.value for call in done), name=name)
    runs = {"falls": np.array([3.0, 1.0]), "rises": np.array([1.0, 9.0]), "breaks": np.array([1.0, np.inf])}
    try:
        (left,) = learner.run("diverged", runs).args
    except Mistake:
        return  # what is wrong with its result is another test's business
    if (
        not isinstance(left, dict)
        or list(left) != list(runs)
        or not all(map(np.array_equal, runs.values(), left.values()))
    ):
        raise Mistake("`diverged` changed the runs it was given: work on a copy")
