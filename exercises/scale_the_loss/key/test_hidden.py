"""Hidden tests of scale_the_loss: each tells the learner which mistake it found, never a value."""

import numpy as np

from course_grader import Mistake, expect, points, rests_on

CELLS = ("half_gradients", "unscale", "update_scale", "step")
WRITE = "that is a library's, and here you write it"
DERIVE = "that differentiates for you; here the three formulas stand in the text"
LIBRARY = {
    r"\.(autocast|GradScaler|unscale_|DynamicScale|apply_if_finite)$|^course_lib\b": WRITE,
    r"\.(backward|requires_grad_?)$|^torch\.(autograd|func)\b|^jax\.(\w*grad|vjp)\b": DERIVE,
}
RIGHT_HALF = """
import numpy as np

def half_gradients(params, x, y, scale):
    x16, w16, b16 = (np.asarray(a).astype(np.float16) for a in (x, params["w"], params["b"]))
    error = (x16 @ w16 + b16).astype(np.float32) - y
    v = (np.float32(2 * scale / error.size) * error).astype(np.float16)
    return np.mean(error**2), {"w": x16.T @ v, "b": v.sum(axis=0)}
"""
RIGHT_UNSCALE = """
import numpy as np

def unscale(grads, scale):
    wide = {name: np.asarray(g).astype(np.float32) / np.float32(scale) for name, g in grads.items()}
    return wide, all(bool(np.isfinite(g).all()) for g in wide.values())
"""
RIGHT_UPDATE = """
def update_scale(scale, good, finite, interval):
    if not finite:
        if scale <= 1:
            raise FloatingPointError("not finite at a scale of 1")
        return scale / 2, 0
    return (scale, good + 1) if good + 1 < interval else (min(2 * scale, 2.0**24), 0)
"""
TOP = 2.0**24


def signed(rng, low, high, size):
    return (rng.uniform(low, high, size=size) * rng.choice([-1, 1], size=size)).astype(np.float32)


def half(array):
    return np.asarray(array).astype(np.float16).astype(np.float64)


def outputs(params, x):
    return half(half(x) @ half(params["w"]) + half(params["b"]))


def gradients(params, x, y, scale=1.0):
    """Return the loss and the gradients of the loss times scale, rounded to float16 where they must be."""
    error = outputs(params, x) - y
    with np.errstate(over="ignore", invalid="ignore"):
        v = half(2 * scale / error.size * error)
        grads = {"w": half(half(x).T @ v), "b": half(v.sum(axis=0))}
    return np.mean(error**2), grads


def make(rng, *, n=4, d=3, k=2, error=1.0):
    """Return parameters and a batch; each output is off by about `error`, all in one direction."""
    params = {"w": signed(rng, 0.5, 1.5, (d, k)), "b": signed(rng, 0.5, 1.5, k)}
    x = signed(rng, 0.5, 1.5, (n, d))
    off = rng.uniform(0.7, 1.4, size=(n, k)) * rng.choice([-1, 1]) * error
    return params, x, (outputs(params, x) - off).astype(np.float32)


def agree(came, right, *, tolerance=2e-2):
    right = np.asarray(right)
    return bool(np.all(np.isfinite(came))) and bool(np.abs(came - right).max() <= tolerance * np.abs(right).max())


def agree_all(came, right, *, tolerance=2e-2):
    return all(agree(came[name], right[name], tolerance=tolerance) for name in right)


def arrays_of(value, like, what):
    """Return a dict of arrays with the names and shapes of `like`, or say what it is instead."""
    if not isinstance(value, dict) or set(value) != set(like):
        raise Mistake(f"{what} must be a dict with the names {' and '.join(sorted(like))}")
    return {name: expect.array(value[name], name=name, shape=np.shape(like[name])) for name in like}


def gradients_of(learner, params, x, y, scale):
    """Return what the learner's half_gradients gives, in its right form."""
    expect.by_hand(learner, ["half_gradients"], among=CELLS, instead_of=LIBRARY)
    said = learner.call("half_gradients", params, x, y, scale)
    loss, grads = expect.pair(said, "the loss and the gradients", name="half_gradients")
    if isinstance(loss, dict) and not isinstance(grads, dict):
        raise Mistake("`half_gradients` returns the gradients first: the loss comes first")
    grads = arrays_of(grads, params, "the gradients that `half_gradients` returns")
    for name, g in grads.items():
        if g.dtype != np.float16:
            raise Mistake(
                f"`half_gradients` returns the gradient of {name} in {g.dtype}: the products of the backward pass are "
                "float16, as those of the forward pass"
            )
    return float(expect.array(loss, name="the loss", shape=())), {
        name: g.astype(np.float64) for name, g in grads.items()
    }


@points(1)
def test_half_gradients(learner, rng):
    """The loss, and the gradients of the scaled loss, are right and in float16."""
    (params, x, y), scale = make(rng, n=4, d=3, k=2), 64.0
    loss, grads = gradients_of(learner, params, x, y, scale)
    right_loss, right = gradients(params, x, y, scale)
    known = {
        "are not multiplied by the scale": gradients(params, x, y)[1],
        "are multiplied by the scale twice": {name: g * scale for name, g in right.items()},
        "are not averaged over all elements: the loss is a mean over rows and columns": {
            name: g * 2 for name, g in right.items()
        },
        "are those of a sum: the loss is a mean": {name: g * 8 for name, g in right.items()},
        "lack the factor 2 of the square": {name: g / 2 for name, g in right.items()},
        "have the wrong sign": {name: -g for name, g in right.items()},
    }
    if not agree_all(grads, right):
        for message, wrong in known.items():
            if agree_all(grads, wrong):
                raise Mistake(f"the gradients {message}")
        if agree(grads["w"], right["w"]):
            how = "is averaged over the rows" if agree(grads["b"], right["b"] / len(x)) else "is wrong"
            raise Mistake(f"the gradient of b {how}: b is added in each row, so v is added up over the rows")
        raise Mistake("the gradients of the scaled loss are wrong")
    if agree(loss, right_loss * scale):
        raise Mistake("the loss that `half_gradients` returns is scaled: only the gradients are")
    if not agree(loss, right_loss):
        raise Mistake("the loss that `half_gradients` returns is not the mean of the squared errors")


@points(0.5)
def test_forward_in_half(learner, rng):
    """Inputs and weights are rounded to float16 before they are multiplied."""
    if not any(g.any() for g in gradients_of(learner, *make(rng), 64.0)[1].values()):
        raise Mistake("the gradients that `half_gradients` returns are 0 for ordinary numbers already")
    for tail_of in ("w", "b", "x"):
        tail = np.float32(rng.uniform(0.6, 0.9) * 2.0**-11)
        params = {"w": np.array([[1.5], [-1.25]], np.float32), "b": np.array([1.0], np.float32)}
        x = np.array([[1.0, 2.0], [1.0, 1.0], [2.0, 2.0]], np.float32)
        y = outputs(params, x).astype(np.float32)  # so that there is no error
        if tail_of == "x":
            x = x + np.array([[0.0, tail], [tail, 0.0], [0.0, tail]], np.float32)
        else:
            params[tail_of] = params[tail_of] + tail
        assert np.array_equal(outputs(params, x), y), "the tail must round away"
        loss, grads = gradients_of(learner, params, x, y, 2.0**14)
        if loss or any(g.any() for g in grads.values()):
            what = {"x": "`x` goes", "w": "the weights go", "b": "the bias goes"}[tail_of]
            raise Mistake(f"{what} into the forward pass with more digits than float16 has: round to float16 first")


@points(1)
def test_scaled_while_float32(learner, rng):
    """Small gradients are there when v was scaled before it was rounded."""
    scale = 2.0**18
    params = {"w": np.zeros((3, 2), np.float32), "b": np.zeros(2, np.float32)}
    x = signed(rng, 0.5, 1.5, (4, 3))
    y = (rng.uniform(1.2, 1.4, size=(4, 2)) * 2.0**-24).astype(np.float32)
    _, right = gradients(params, x, y, scale)
    _, grads = gradients_of(learner, params, x, y, scale)
    if not all(np.isfinite(g).all() for g in grads.values()):
        raise Mistake(
            "a scale of 2**18 makes every gradient infinite or NaN: float16 ends at 65504, so scale in float32"
        )
    if not any(g.any() for g in grads.values()):
        raise Mistake("small gradients become 0: v must be multiplied by the scale before it is rounded to float16")
    factors = (1, 2, 8, 0.5, -1, 1 / len(x))  # another test's business
    if all(any(agree(grads[name], c * right[name], tolerance=5e-2) for c in factors) for name in right):
        return
    if not agree(grads["b"], right["b"], tolerance=5e-2):
        rounded = gradients(params, x, half(y), scale)[1]
        if agree(grads["b"], rounded["b"], tolerance=2e-2):
            raise Mistake("small errors lose their digits: o is widened to float32 before y is subtracted")
        raise Mistake("small gradients are wrong: widen o to float32, subtract y, scale, and round v to float16 last")
    if not agree(grads["w"], right["w"], tolerance=5e-2):
        raise Mistake("the gradient of w is wrong where errors are small")


@points(0.5)
def test_overflow_shows(learner, rng):
    """A gradient that does not fit float16 is infinite; the loss is not."""
    params, x, y = make(rng, error=1e3)
    right_loss, _ = gradients(params, x, y)
    try:
        loss, grads = gradients_of(learner, params, x, y, 2.0**14)
    except Mistake as mistake:
        if mistake.raised:
            raise mistake.reworded(f"where a gradient does not fit float16, {mistake}; leave overflow alone") from None
        raise
    if not np.isfinite(loss):
        raise Mistake(
            "the loss of errors near 1000 is infinite: their squares do not fit float16, so take them in float32"
        )
    if not agree(loss, right_loss):
        raise Mistake("the loss is wrong where errors are near 1000")
    if all(np.isfinite(g).all() for g in grads.values()):
        raise Mistake(
            "a gradient of some millions comes back finite in float16, which ends at 65504: an overflow that is hidden "
            "cannot be skipped"
        )
    x = x * np.float32(2.0**-9)  # here v does not fit float16, and a finite v would give a finite gradient of w
    y = (outputs(params, x) - 1e3).astype(np.float32)
    if np.isfinite(gradients_of(learner, params, x, y, 2.0**14)[1]["w"]).all():
        raise Mistake(
            "where v does not fit float16, the gradient of w comes back finite: v is rounded to float16 before the "
            "products, and its overflow is left alone"
        )


def unscaled(learner, grads, scale):
    expect.by_hand(learner, ["unscale"], among=CELLS, instead_of=LIBRARY)
    said = learner.run("unscale", grads, scale)
    wide, finite = expect.pair(said.value, "the gradients and whether all are finite", name="unscale")
    if isinstance(finite, dict):
        raise Mistake("`unscale` returns the dict second: the gradients come first")
    if not isinstance(finite, (bool, np.bool_)) and not (isinstance(finite, np.ndarray) and finite.dtype == bool):
        raise Mistake(f"the second thing that `unscale` returns must be True or False; it is {expect.describe(finite)}")
    if np.ndim(finite):
        raise Mistake("`unscale` says for each element whether it is finite: one answer is for all arrays together")
    if not all(np.array_equal(said.args[0][name], grads[name], equal_nan=True) for name in grads):
        raise Mistake("`unscale` changes the gradients that it is given: make new arrays")
    return wide, bool(finite)


@points(1)
def test_unscale(learner, rng):
    """The scale is undone in float32, which can hold what comes out."""
    for scale in (2.0**16, 2.0**10):
        grads = {
            "w": signed(rng, 1.0, 2.0, (3, 2)).astype(np.float16),
            "b": signed(rng, 1e-4, 2e-4, 2).astype(np.float16),
        }
        wide = arrays_of(unscaled(learner, grads, scale)[0], grads, "the gradients that `unscale` returns")
        right = {name: g.astype(np.float64) / scale for name, g in grads.items()}
        if agree_all(wide, {name: g * scale**2 for name, g in right.items()}):
            raise Mistake("`unscale` multiplies by the scale once more: divide by it")
        if agree_all(wide, {name: g * scale for name, g in right.items()}):
            raise Mistake("`unscale` leaves the gradients as they are: divide them by the scale")
        if not wide["w"].any():
            raise Mistake("`unscale` makes every gradient 0: a scale of 65536 is infinite in float16, so widen first")
        if not agree_all(wide, right, tolerance=1e-6):
            if agree(wide["w"], right["w"]):
                raise Mistake("`unscale` loses small gradients: go to float32 before the division, not after it")
            raise Mistake("the gradients that `unscale` returns are wrong")
        if narrow := [name for name, g in wide.items() if g.dtype != np.float32]:
            raise Mistake(
                f"`unscale` returns the gradient of {narrow[0]} in {wide[narrow[0]].dtype}; it must be float32"
            )


@points(1)
def test_not_finite(learner, rng):
    """An infinity or a NaN anywhere is found."""
    for value in (np.inf, -np.inf, np.nan):
        for name in ("w", "b"):
            grads = {
                "w": signed(rng, 1.0, 2.0, (3, 2)).astype(np.float16),
                "b": signed(rng, 1.0, 2.0, 2).astype(np.float16),
            }
            if not unscaled(learner, grads, 8.0)[1]:
                raise Mistake("`unscale` says of finite gradients that they are not")
            grads[name].flat[int(rng.integers(grads[name].size))] = value
            if not unscaled(learner, grads, 8.0)[1]:
                continue
            kind = "NaN" if np.isnan(value) else "infinity" if value > 0 else "minus infinity"
            where = {"w": "in the first array", "b": "in the last array"}[name]
            raise Mistake(f"`unscale` calls gradients finite that hold {kind} {where}")


@points(0.5)
def test_large_is_finite(learner, rng):
    """Large gradients are finite, also if their sum is not."""
    bad = {"w": np.full((2, 2), np.inf, np.float16), "b": np.zeros(2, np.float16)}
    if unscaled(learner, bad, 4.0)[1]:
        raise Mistake("`unscale` calls infinite gradients finite")
    for sign in (1, -1):
        grads = {"w": sign * rng.uniform(5e4, 6e4, size=(6, 4)).astype(np.float16), "b": np.zeros(2, np.float16)}
        if not unscaled(learner, grads, 4.0)[1]:
            raise Mistake("`unscale` takes large gradients for infinite ones: their sum overflows, and no element does")


def updated(learner, scale, good, finite, interval):
    said = learner.call("update_scale", scale, good, finite, interval)
    scale, good = expect.pair(said, "the scale and the count", name="update_scale")
    return float(expect.array(scale, name="the scale", shape=())), int(expect.array(good, name="the count", shape=()))


def trace_of(learner, flags, interval, scale):
    """Return the scale after each step."""
    good, trace = 0, []
    for finite in flags:
        scale, good = updated(learner, scale, good, bool(finite), interval)
        trace.append(scale)
    return trace


@points(0.5)
def test_halves(learner, rng):
    """After an overflow the scale is halved, and the count begins again."""
    power, interval = int(rng.integers(6, 12)), int(rng.integers(4, 7))
    scale = updated(learner, 2.0**power, int(rng.integers(1, 4)), False, interval)[0]
    if scale == 2.0**power:
        raise Mistake("after an overflow `update_scale` leaves the scale as it was: halve it")
    if scale != 2.0 ** (power - 1):
        raise Mistake("after an overflow the scale that `update_scale` returns is not half of what it was")
    trace = trace_of(learner, [True] * (interval - 1) + [False, True], interval, 2.0**power)
    if trace[-1] != 2.0 ** (power - 1):
        raise Mistake("`update_scale` counts finite steps from before an overflow: only those in a row count")


@points(0.5)
def test_doubles(learner, rng):
    """After a full count in a row the scale is doubled, and the count begins again."""
    power, interval = int(rng.integers(3, 9)), int(rng.integers(3, 6))
    trace = np.log2(trace_of(learner, [True] * (2 * interval + 1), interval, 2.0**power)) - power
    if not trace.any():
        raise Mistake("`update_scale` never doubles the scale")
    first = int(np.argmax(trace != 0)) + 1
    if trace[first - 1] != 1:
        raise Mistake("`update_scale` changes the scale by another factor than 2")
    if first != interval:
        early = "too early" if first < interval else "too late"
        raise Mistake(f"`update_scale` doubles the scale {early}: the step that makes the count full doubles it")
    if trace[first] != 1:
        raise Mistake(
            "`update_scale` doubles the scale again one step later: the count begins again when it was doubled"
        )
    if trace[-2] != 2 or trace[-1] != 2:
        raise Mistake("`update_scale` is right up to the first doubling, and wrong at the second")


@points(0.5)
def test_ends_of_the_scale(learner):
    """The scale stays at its top; at the bottom an overflow is an error."""
    top = max(trace_of(learner, [True] * 9, 3, TOP / 2))
    if top > TOP:
        raise Mistake("`update_scale` goes above 2**24: there, the scale stays")
    if top < TOP:
        raise Mistake("`update_scale` does not reach the top, 2**24, from the scale below it")
    if updated(learner, 2.0, 0, False, 3)[0] != 1:
        raise Mistake("`update_scale` does not halve a scale of 2: an overflow is an error at 1, not before")
    try:
        updated(learner, 1.0, 0, False, 3)
    except Mistake as mistake:
        if mistake.raised == "FloatingPointError":
            return
        if mistake.raised:
            raise mistake.reworded(f"not finite at a scale of 1: {mistake}; raise a FloatingPointError") from None
        raise
    raise Mistake("`update_scale` goes on after an overflow at a scale of 1, where no scale helps: raise the error")


def stepped(learner, params, state, *args, strict=False):
    """Return what the learner's step gives, in its right form."""
    said = learner.run("step", params, state, *args)
    new, after = expect.pair(said.value, "the parameters and the state", name="step")
    if isinstance(new, dict) and set(new) == set(state):
        raise Mistake("`step` returns the state first: the parameters come first")
    new = arrays_of(new, params, "the parameters that `step` returns")
    if not isinstance(after, dict) or set(after) != set(state):
        raise Mistake("the state that `step` returns must be a dict with scale and good")
    changed = any(not np.array_equal(said.args[0][name], params[name]) for name in params)
    if strict and changed:
        raise Mistake("`step` changes the parameters that it was given: make new arrays")
    if strict and said.args[1] != state:
        raise Mistake("`step` changes the state that it was given: make a new dict")
    after = {name: float(expect.array(after[name], name=name, shape=())) for name in state}
    return new, {"scale": after["scale"], "good": int(after["good"])}


def right_step(params, state, x, y, lr, max_norm, interval):
    """Return what a step must give, and whether it was taken."""
    _, grads = gradients(params, x, y, state["scale"])
    grads = {name: g / state["scale"] for name, g in grads.items()}
    finite = all(np.isfinite(g).all() for g in grads.values())
    if finite:
        norm = np.linalg.norm(np.concatenate([g.ravel() for g in grads.values()]))
        factor = lr * min(1.0, max_norm / max(norm, 1e-30))
        params = {name: (p - factor * grads[name]).astype(np.float32) for name, p in params.items()}
    scale, good = state["scale"], state["good"] + 1
    if not finite:
        scale, good = scale / 2, 0
    elif good == interval:
        scale, good = min(2 * scale, TOP), 0
    return params, {"scale": scale, "good": good}, finite


def difference(new, old):
    return {name: new[name].astype(np.float64) - old[name] for name in old}


@points(0.75)
@rests_on(RIGHT_HALF + RIGHT_UNSCALE + RIGHT_UPDATE)
def test_master_weights(learner, rng):
    """The weights between steps are float32: many small steps add up."""
    params, x, y = make(rng, error=1.0)
    params = {name: p.astype(np.float16).astype(np.float32) for name, p in params.items()}
    state, lr = {"scale": 256.0, "good": 0}, 5e-5  # a step is less than half a gap of float16
    new, right, after, first = params, params, state, []
    for _ in range(8):
        new, after = stepped(learner, new, after, x, y, lr, 1e6, 50)
        right, state, _ = right_step(right, state, x, y, lr, 1e6, 50)
        moved, wanted = difference(new, params), difference(right, params)
        first = first or [moved, wanted]
    if all(not m.any() for m in moved.values()):
        raise Mistake(
            "eight small steps leave every weight where it was: step from the float32 weights, not from float16"
        )
    if narrow := [name for name, p in new.items() if p.dtype != np.float32]:
        raise Mistake(f"`step` returns {narrow[0]} in {new[narrow[0]].dtype}: master weights are float32")
    known = {
        "uphill: subtract the gradient": -1.0,
        "by the scaled gradient: undo the scale first": 256.0,
        "by the gradient alone: multiply it by the learning rate": 1 / lr,
    }
    for message, factor in known.items():
        if agree_all(first[0], {name: w * factor for name, w in first[1].items()}, tolerance=0.1):
            raise Mistake(f"`step` goes {message}")
    if not agree_all(moved, wanted, tolerance=0.1):
        raise Mistake("after eight small steps the weights are not where gradient descent on float32 weights is")


@points(0.75)
@rests_on(RIGHT_HALF + RIGHT_UNSCALE + RIGHT_UPDATE)
def test_skips(learner, rng):
    """A step whose gradients are not finite changes the scale, and nothing else."""
    params, x, y = make(rng, error=1.0)
    rest = (0.1, 1.0, 10)
    new, _ = stepped(learner, params, {"scale": 64.0, "good": 2}, x, y, *rest)
    if all(np.array_equal(new[name], params[name]) for name in params):
        raise Mistake("`step` does not move at all, though the gradients are finite")
    broken = y.copy()
    broken[int(rng.integers(4)), int(rng.integers(2))] = 1e6
    nan = y.copy()
    nan[0, 0] = np.nan
    for kind, targets in (("overflow", broken), ("are NaN", nan)):
        new, after = stepped(learner, params, {"scale": 4096.0, "good": 2}, x, targets, *rest)
        if any(not np.isfinite(p).all() for p in new.values()):
            raise Mistake(f"`step` makes weights that are not finite from gradients that {kind}: skip such a step")
        if any(not np.array_equal(new[name], params[name]) for name in params):
            raise Mistake(f"`step` moves weights although gradients {kind}: the whole step is skipped, to the bit")
        if after["scale"] == 4096:
            raise Mistake("`step` leaves the scale as it was when it skips a step: it must be halved then")
        if after != {"scale": 2048.0, "good": 0}:
            raise Mistake("the state after a skipped step is wrong: the scale is halved, and good is 0")


@points(1)
@rests_on(RIGHT_HALF + RIGHT_UNSCALE + RIGHT_UPDATE)
def test_bound_of_the_true_gradient(learner, rng):
    """What is clipped is the gradient of the loss, not of the scaled loss."""
    params, x, y = make(rng, error=1.0)
    scale = 512.0
    norm = np.linalg.norm(np.concatenate([g.ravel() for g in gradients(params, x, y)[1].values()]))
    for max_norm in (2 * norm, 0.25 * norm):
        state = {"scale": scale, "good": 9}  # the step that doubles the scale
        new, _ = stepped(learner, params, state, x, y, 0.5, float(max_norm), 10)
        right, _, _ = right_step(params, state, x, y, 0.5, float(max_norm), 10)
        moved, wanted = difference(new, params), difference(right, params)
        if agree_all(moved, wanted, tolerance=5e-2):
            continue
        length = np.linalg.norm(np.concatenate([m.ravel() for m in moved.values()]))
        if max_norm > norm and agree_all(moved, {name: w / 2 for name, w in wanted.items()}, tolerance=5e-2):
            raise Mistake(
                "the step that doubles the scale is half as long: undo the scale that the loss was multiplied by, not "
                "the new one"
            )
        if length < 0.1 * 0.5 * min(max_norm, norm):
            raise Mistake("the step is far too short: `step` clips before it undoes the scale")
        if max_norm < norm and agree_all(moved, {name: 4 * w for name, w in wanted.items()}, tolerance=5e-2):
            raise Mistake("`step` does not clip: a gradient of four times `max_norm` moves the weights by all of it")
        if length > 10 * 0.5 * max_norm:
            raise Mistake("the step is far too long: `step` clips the scaled gradient, or never undoes the scale")
        raise Mistake("the step is not that of the clipped gradient of the loss")


@points(0.5)
@rests_on(RIGHT_HALF + RIGHT_UNSCALE + RIGHT_UPDATE)
def test_a_whole_run(learner, rng):
    """Over many batches, some broken, weights and scale become what they should."""
    start = {"w": np.zeros((3, 2), np.float32), "b": np.zeros(2, np.float32)}
    x, small = signed(rng, 0.5, 1.5, (8, 3)), signed(rng, 1e-6, 2e-6, (8, 2))  # gradients that are 0 without a scale
    interval, broken = int(rng.integers(3, 5)), set(rng.choice(np.arange(4, 24), size=3, replace=False).tolist())
    new = right = start
    after = state = {"scale": 2.0**15, "good": 0}
    for n in range(28):
        y = np.full_like(small, -3e4) if n in broken else small
        new, after = stepped(learner, new, after, x, y, 0.02, 1e3, interval, strict=True)
        right, state, finite = right_step(right, state, x, y, 0.02, 1e3, interval)
        if after["scale"] != state["scale"]:
            why = f"at step {interval} of a row without overflow, or before" if finite else "after an overflow"
            raise Mistake(f"in a run with broken batches the scale goes wrong {why}")
    if any(not np.isfinite(p).all() for p in new.values()):
        raise Mistake("in a run with broken batches the weights are not finite in the end")
    if not any(p.any() for p in new.values()):
        raise Mistake(
            "in a run with small gradients the weights never move: are the gradients, or the weights, rounded away?"
        )
    if not agree_all(new, right, tolerance=0.2):  # in float16 these weights have few digits
        raise Mistake("in a run with small gradients and broken batches the weights end elsewhere")
