"""Hidden tests of clip_by_global_norm: each tells the learner which mistake it found, never a value."""

import builtins

import numpy as np
import pytest

from course_grader import Mistake, expect, points, rests_on

SHAPES = {"conv.weight": (2, 3, 2), "conv.bias": (4,), "head.weight": (3, 5), "head.scale": (1,)}

RIGHT_NORM = """
import numpy as np

def global_norm(grads):
    g = np.concatenate([np.ravel(np.asarray(g)).astype(np.float64) for g in grads.values()])
    return float(np.linalg.norm(g))
"""
RIGHT_CLIP = """
def clip(grads, max_norm):
    norm = global_norm(grads)
    factor = min(1.0, max_norm / norm) if norm else 1.0
    return {name: (g * np.float64(factor)).astype(g.dtype) for name, g in grads.items()}, norm
"""


def make(rng, *, norm=20.0, dtype=np.float64):
    """Return gradients of one norm, of arrays none of which is small: each mistake then shows."""
    raw = {name: rng.uniform(0.5, 1.5, size=shape) * rng.choice([-1, 1], size=shape) for name, shape in SHAPES.items()}
    length = norm_of(raw)
    return {name: np.asarray(g / length * norm).astype(dtype) for name, g in raw.items()}


def draw_norm(rng, low, high):
    """Draw a norm that shows whether it is rounded to four digits behind the point, or fewer."""
    while not 0.4 < 1e4 * (norm := rng.uniform(low, high)) % 1 < 0.6:
        pass
    return norm


def flat(grads):
    return np.concatenate([np.ravel(g).astype(np.float64) for g in grads.values()])


def norm_of(grads):
    g = flat(grads)
    largest = np.abs(g).max()
    return float(np.sqrt(np.square(g / largest).sum()) * largest) if largest else 0.0


def is_close(came, right, *, tolerance=1e-6):
    return bool(np.all(np.isfinite(came))) and bool(np.all(np.abs(came - right) <= tolerance * np.abs(right).max()))


def telling(draw, length):
    """Draw until the length differs from itself rounded to four digits by more than any tolerance here."""
    while abs(1e4 * length(drawn := draw()) % 1 - 0.5) > 0.2:
        continue
    return drawn


def by_hand(learner, name):
    """Check that no library clips, or the course's own package of it measures."""
    why = "that is a library's, and here you write it"
    library = {r"^course_lib\.clipping\b|\.(clip_by_global_norm|clip_grads?_(with_)?norm_?|ClipByGlobalNorm)$": why}
    expect.by_hand(learner, [name], among=["global_norm", "clip", "step"], instead_of=library)


def norm_from(learner, grads):
    by_hand(learner, "global_norm")
    came = learner.call("global_norm", grads)
    if came is None or isinstance(came, (dict, list, tuple, str)):
        raise Mistake(f"`global_norm` returned {expect.describe(came)}; it must return one number")
    return float(expect.array(came, name="global_norm", shape=()))


def call(learner, name, *args):
    return run(learner, name, *args).value


def run(learner, name, *args):
    """Run `clip` or `step`; where it raises because of what it rests on, say what to mend first."""
    by_hand(learner, name)
    grads = {name: np.full(shape, 0.5) for name, shape in SHAPES.items()}
    needed = {"global_norm": lambda: norm_from(learner, grads)}
    if name == "step":
        needed["clip"] = lambda: clipped_by(learner, grads, 1.0)
    try:
        with expect.blame_dependency(name, needed):
            return learner.run(name, *args)
    except Mistake as mistake:
        if name == "step" and mistake.raised == "TypeError" and "tuple indices" in str(mistake):
            what = "it is two things, a dict and a norm"
            raise Mistake(f"`step` treats all that `clip` returns as the gradients: {what}") from None
        raise


def clipped_by(learner, grads, max_norm):
    """Return what the learner's clip gives, as a dict of arrays and a number, or say what is wrong with the form."""
    what = "the clipped gradients and the norm"
    clipped, norm = expect.pair(call(learner, "clip", grads, max_norm), what, name="clip")
    if isinstance(norm, dict) and not isinstance(clipped, dict):
        raise Mistake("`clip` returns the norm first: the dict of clipped gradients comes first, and then the norm")
    if not isinstance(clipped, dict) or set(clipped) != set(grads):
        raise Mistake("`clip` must return a dict with the names of the gradients it was given, and then the norm")
    arrays = {name: expect.array(clipped[name], name=f"the clipped {name}") for name in grads}
    for name, array in arrays.items():
        if array.shape != grads[name].shape:
            raise Mistake(f"the clipped {name} has shape {array.shape}; it must keep its shape, {grads[name].shape}")
    return arrays, norm


@points(1)
def test_global_norm(learner, rng):
    """The norm of several arrays is the root of the sum of all squares."""
    grads = make(rng, norm=draw_norm(rng, 5, 9))
    while np.abs(flat(grads)).argmax() == flat(grads).size - 1:  # else the last array has the norm of the largest entry
        grads = make(rng, norm=draw_norm(rng, 5, 9))
    came, g = norm_from(learner, grads), flat(grads)
    known = {
        "the root of the sum is missing": np.square(g).sum(),
        "it adds up absolute values: square the entries": np.abs(g).sum(),
        "it is the largest entry, not the length": np.abs(g).max(),
        "it adds up the arrays' norms: add their squares, and take one root": sum(
            np.sqrt(np.square(v).sum()) for v in grads.values()
        ),
        "it is the largest of the arrays' norms: all arrays belong to it": max(
            np.sqrt(np.square(v).sum()) for v in grads.values()
        ),
        "it adds up the entries with their signs: square them first": abs(g.sum()),
        "it is the norm of the last array alone: all arrays belong to it": np.linalg.norm(list(grads.values())[-1]),
        "it is the norm of the first array alone: all arrays belong to it": np.linalg.norm(next(iter(grads.values()))),
        "it averages: the squares are added up, not averaged": np.sqrt(np.square(g).mean()),
    }
    if is_close(came, norm_of(grads)):
        return
    for message, value in known.items():
        if is_close(came, value):
            raise Mistake(f"`global_norm` is wrong: {message}")
    raise Mistake("`global_norm` is wrong for four arrays of different shapes")


@points(0.25)
@pytest.mark.parametrize(
    ("dtype", "norm"), [(np.float32, 5e25), (np.float32, 5e-28), (np.float16, 1e5), (np.float16, 5e-4)]
)
def test_norm_of_large_and_small_gradients(learner, rng, dtype, norm):
    """The norm is right where the squares, or the norm itself, do not fit the dtype ({norm})."""
    grads = make(rng, norm=norm, dtype=dtype)
    came, right = norm_from(learner, grads), norm_of(grads)
    if is_close(came, right, tolerance=1e-3):
        return
    ordinary = {name: g.astype(np.float64) * (5.0 / right) for name, g in grads.items()}
    if not is_close(norm_from(learner, ordinary), 5.0, tolerance=1e-3):
        raise Mistake("`global_norm` is wrong for ordinary gradients already: mend that first")
    name = np.dtype(dtype).name
    if not np.isfinite(came):
        fitting = {key: (g * 0.05).astype(dtype) for key, g in grads.items()}
        if dtype is np.float16 and is_close(norm_from(learner, fitting), norm_of(fitting), tolerance=1e-3):
            raise Mistake("`global_norm` returns a float16, which cannot hold the norm itself: return a wider number")
        raise Mistake(
            f"`global_norm` is not finite for large, finite {name} gradients: their squares do not fit {name}"
        )
    if not is_close(norm_from(learner, {key: g * 2e-10 for key, g in ordinary.items()}), 1e-9, tolerance=1e-3):
        raise Mistake("`global_norm` is wrong for small float64 gradients, too: is something rounded off, or added?")
    if came < 0.5 * right:
        raise Mistake(f"`global_norm` loses small {name} gradients: their squares do not fit {name}")
    raise Mistake(f"`global_norm` is wrong for {name} gradients whose squares do not fit {name}")


@points(2)
@rests_on(RIGHT_NORM)
def test_direction_and_length(learner, rng):
    """Gradients beyond the bound keep their direction and end with the bound as norm."""
    max_norm = rng.uniform(2, 3)
    grads = make(rng, norm=20.0)
    clipped, _ = clipped_by(learner, grads, max_norm)
    came, g, norm = flat(clipped), flat(grads), norm_of(grads)
    if is_close(came, g * max_norm / norm):
        return
    apart = {name: v * min(1.0, max_norm / np.sqrt(np.square(v).sum())) for name, v in grads.items()}
    known = {
        "leaves them as they are": g,
        "clips each array by its own norm: one factor for all keeps the direction": flat(apart),
        "clips each entry by itself, which turns the gradient": np.clip(g, -max_norm, max_norm),
        "makes the norm 1, whatever `max_norm` is": g / norm,
        "multiplies by the inverse of the factor": g * norm / max_norm,
        "multiplies by `max_norm` alone: divide by the norm, too": g * max_norm,
        "divides by `max_norm`: what they are divided by is the norm": g / max_norm,
        "turns them around": -g * max_norm / norm,
    }
    for message, value in known.items():
        if is_close(came, value):
            raise Mistake(f"given gradients beyond the bound, `clip` {message}")
    cosine = came @ g / (np.linalg.norm(came) * norm) if np.linalg.norm(came) else 0.0
    if cosine > 1 - 1e-9:
        length = "short" if np.linalg.norm(came) < max_norm else "long"
        raise Mistake(f"gradients beyond the bound keep their direction, but `clip` leaves them too {length}")
    raise Mistake("`clip` turns gradients beyond the bound: every entry must be multiplied by the same factor")


@points(1)
@rests_on(RIGHT_NORM)
def test_within_the_bound(learner, rng):
    """Gradients within the bound come back bit for bit."""
    grads = make(rng, norm=0.7)
    clipped, _ = clipped_by(learner, grads, 2.0)
    came, g = flat(clipped), flat(grads)
    if np.linalg.norm(came) > 1.01 * np.linalg.norm(g):
        raise Mistake("`clip` makes gradients within the bound longer: the factor is at most 1")
    if not is_close(came, g):
        raise Mistake("`clip` changes gradients within the bound")
    if not np.array_equal(came, g):
        raise Mistake("`clip` changes the last digits of gradients within the bound: leave them as they are")


@points(0.5)
@rests_on(RIGHT_NORM)
def test_returned_norm(learner, rng):
    """What is returned is the norm before clipping."""
    grads = make(rng, norm=draw_norm(rng, 15, 20))
    max_norm = 3.0
    norm = float(expect.array(clipped_by(learner, grads, max_norm)[1], name="the norm", shape=()))
    if is_close(norm, max_norm):
        raise Mistake("`clip` returns the norm after clipping: return the one before")
    if is_close(norm, max_norm / norm_of(grads)):
        raise Mistake("`clip` returns the factor: return the norm before clipping")
    if not is_close(norm, norm_of(grads)):
        raise Mistake("the norm that `clip` returns is not the global norm before clipping")


@points(0.5)
@rests_on(RIGHT_NORM)
def test_small_and_large_gradients(learner, rng):
    """Gradients end on the bound also where they are tiny, or their norm does not fit their dtype."""
    grads = make(rng, norm=1e-7)
    came = flat(clipped_by(learner, grads, 1e-9)[0])
    right = flat(grads) * 1e-2
    if not is_close(came, right):
        ordinary = {name: g * 2e8 for name, g in grads.items()}  # of norm 20
        if not is_close(flat(clipped_by(learner, ordinary, 0.2)[0]), flat(ordinary) * 1e-2, tolerance=1e-3):
            raise Mistake("`clip` is wrong for ordinary gradients already: mend that first")
        if not is_close(norm_from(learner, grads), 1e-7):
            raise Mistake("`global_norm` is wrong for gradients of norm 1e-7, and so `clip` is: mend that first")
        if 0 < np.linalg.norm(came) < np.linalg.norm(right) and is_close(came, right, tolerance=0.999):
            raise Mistake("`clip` makes small gradients shorter than the bound: is something added to the norm?")
        raise Mistake("`clip` is wrong for gradients of norm 1e-7 and a bound of 1e-9")
    large = make(rng, norm=2e5, dtype=np.float16)
    if not is_close(norm_from(learner, large), norm_of(large), tolerance=1e-3):
        return  # what `global_norm` gets wrong is another test's business
    came, right = flat(clipped_by(learner, large, 3.0)[0]), flat(large) * (3.0 / norm_of(large))
    if not is_close(came, right, tolerance=1e-2):
        raise Mistake(
            "`clip` is wrong for float16 gradients whose norm does not fit float16: multiply in a wider type, "
            "and go back to float16 at the end"
        )


@points(0.5)
@rests_on(RIGHT_NORM)
def test_zero_gradients(learner):
    """Gradients that are all zero stay zero."""
    grads = {name: np.zeros(shape) for name, shape in SHAPES.items()}
    try:
        clipped, norm = clipped_by(learner, grads, 1.0)
    except Mistake as mistake:
        if mistake.raised == "ZeroDivisionError":
            raise Mistake("`clip` divides by the norm of gradients that are all zero") from None
        if mistake.raised:
            raise Mistake(f"gradients that are all zero must stay zero, with norm 0, but {mistake}") from None
        raise
    if not np.all(np.isfinite(flat(clipped))):
        raise Mistake("`clip` makes gradients that are all zero NaN: it divides zero by zero")
    if np.any(flat(clipped)) or norm != 0:
        raise Mistake("gradients that are all zero must stay zero, with norm 0")


@points(0.5)
@rests_on(RIGHT_NORM)
def test_dtypes(learner, rng):
    """Each array keeps its dtype, clipped or not."""
    grads = make(rng, norm=20.0)
    dtypes = dict(zip(grads, [np.float32, np.float16, np.float64, np.float32], strict=True))
    grads = {name: g.astype(dtypes[name]) for name, g in grads.items()}
    done = [call(learner, "clip", grads, max_norm) for max_norm in (1.0, 100.0)]
    expect.depends_on_input(*done, name="clip")
    for clipped in done:
        clipped = clipped[0] if isinstance(clipped, (tuple, list)) and clipped else {}
        for name, dtype in dtypes.items():
            came = getattr(clipped.get(name), "dtype", None) if isinstance(clipped, dict) else None
            if came is not None and came != dtype:
                raise Mistake(f"a {np.dtype(dtype).name} gradient comes back as {came}: keep each array's own dtype")


@points(0.5)
@rests_on(RIGHT_NORM)
def test_arguments_are_left_alone(learner, rng):
    """Clip and step make new arrays."""
    grads, others = make(rng), make(rng)
    leaves_alone(learner, "clip", [(g, 1.0) for g in (grads, others)])
    steps = [({name: array + 1.0 for name, array in g.items()}, [g, g], 8.0, 1.0, 0.1) for g in (grads, others)]
    rests_on(RIGHT_NORM + RIGHT_CLIP)(leaves_alone)(learner=learner, name="step", both=steps)
    for max_norm in (1.0, 100.0):
        try:
            same = learner.call("is_the_same_dict", grads, max_norm)
        except Mistake:
            continue  # what else is wrong with what `clip` returns is another test's business
        if same is True:
            raise Mistake("`clip` returns the very dict that it was given: make a new one, also within the bound")


def leaves_alone(learner, name, both):
    done = [run(learner, name, *args) for args in both]
    for args, call in zip(both, done, strict=True):
        if not all(unchanged(a, b) for a, b in zip(args, call.args, strict=True)):
            raise Mistake(f"`{name}` changes arrays that it was given: make new ones")
    expect.depends_on_input(*(call.value for call in done), name=name)


def unchanged(given, left):
    if isinstance(given, dict):
        return isinstance(left, dict) and all(unchanged(value, left.get(key)) for key, value in given.items())
    if isinstance(given, list):
        return isinstance(left, list) and len(given) == len(left) and all(map(unchanged, given, left))
    return np.array_equal(given, left)


def no_value_error(mistake):
    """Say why an error is not the one that was asked for."""
    if mistake.raised == "AssertionError":
        return Mistake("`clip` uses assert, which is gone when Python is run with -O: raise a ValueError")
    if mistake.raised == "TypeError" and "argument" in str(mistake):  # it cannot even be called as it must be
        return mistake
    if mistake.raised and not hasattr(builtins, mistake.raised):
        return Mistake(
            f"`clip` raises {mistake.raised}, and whether that is a ValueError cannot be seen here: raise ValueError"
        )
    return Mistake(f"{mistake}; raise a ValueError") if mistake.raised else mistake


@points(0.5)
@rests_on(RIGHT_NORM)
def test_refuses_a_bound_that_is_not_above_zero(learner, rng):
    """A bound of zero, or below, raises a ValueError."""
    grads = make(rng)
    for bound in (0.0, -1.0):
        try:
            learner.call("clip", grads, bound)
        except Mistake as mistake:
            if mistake.raised == "ValueError":
                continue
            raise no_value_error(mistake) from None
        effect = "turns the gradients around" if bound else "makes every gradient zero"
        raise Mistake(f"`clip` takes a max_norm of {bound:g}, which {effect}: raise a ValueError")


@points(0.5)
@rests_on(RIGHT_NORM)
def test_refuses_what_is_not_finite(learner, rng):
    """Infinity and NaN raise a ValueError that names the array."""
    for value in (np.inf, -np.inf, np.nan):
        grads = make(rng)
        grads["head.weight"][1, 2] = value
        try:
            learner.call("clip", grads, 1.0)
        except Mistake as mistake:
            if mistake.raised != "ValueError":
                raise no_value_error(mistake) from None
            if "head.weight" not in str(mistake):
                raise Mistake("the error about a gradient that is not finite must contain the array's name") from None
            others = [name for name in SHAPES if name != "head.weight" and name in str(mistake)]
            if others:
                raise Mistake("the error about a gradient that is not finite also names arrays that are") from None
        else:
            raise Mistake(f"`clip` takes a gradient that holds {value}: raise a ValueError")


@points(1)
@rests_on(RIGHT_NORM + RIGHT_CLIP)
def test_step(learner, rng):
    """The step goes along the clipped gradient of the whole batch."""
    scale, max_norm, lr, k = 1024.0, 1.5, 0.25, 3
    micro = telling(
        lambda: [make(rng, norm=norm) for norm in (30.0, 6.0, 12.0)],
        lambda drawn: np.linalg.norm(sum(map(flat, drawn)) / k),
    )
    params = make(rng, norm=3.0)
    scaled = [{name: g * scale for name, g in one.items()} for one in micro]
    result = call(learner, "step", params, scaled, scale, max_norm, lr)
    if not isinstance(result, dict) or set(result) != set(params):
        raise Mistake("`step` must return the new parameters, a dict with the names of params")
    moved = flat(params) - flat({name: expect.array(result[name], name=name) for name in params})
    each = [flat(one) for one in micro]

    def bounded(g):
        return g * min(1.0, max_norm / np.linalg.norm(g))

    mean = sum(each) / k
    if is_close(moved, lr * bounded(mean)):
        unscaled_in_a_wider_type(learner, rng)
        return
    apart = [bounded(np.mean([np.ravel(one[name]) for one in micro], axis=0)) for name in SHAPES]
    if is_close(flat(params) - moved, bounded(flat(params) - lr * mean)):
        raise Mistake("`step` clips the new parameters: what is bounded is the gradient, before the step")
    known = {
        "clips before the scale is undone: the step is far too short": lr * bounded(mean) / scale,
        "clips before the scale is undone, and never undoes it for the rest": lr * bounded(sum(each)) / scale,
        "clips each micro-batch: clip once, the gradient of the whole batch": lr * sum(map(bounded, each)) / k,
        "clips each micro-batch, and adds them up": lr * sum(map(bounded, each)),
        "clips each array by itself: all of them have one norm, and one factor": lr * np.concatenate(apart),
        "does not clip": lr * mean,
        "goes uphill: subtract the gradient": -lr * bounded(mean),
        "is as long as `max_norm`: is the learning rate left out, or multiplied in before clipping?": bounded(mean),
        "uses the last micro-batch alone": lr * bounded(each[-1]),
        "uses the first micro-batch alone": lr * bounded(each[0]),
        "divides by the number of micro-batches after clipping: what is clipped must be the mean": lr
        * bounded(mean)
        / k,
        "returns what is to be subtracted: return the new parameters": flat(params) - lr * bounded(mean),
        "returns the clipped gradient: return the new parameters": flat(params) - bounded(mean),
        "takes a step for each micro-batch": lr * sum(map(bounded, each)),
    }
    for message, value in known.items():
        if is_close(moved, value):
            raise Mistake(f"`step` {message}")
    cosine = moved @ mean / max(np.linalg.norm(moved) * np.linalg.norm(mean), 1e-300)
    if cosine > 1 - 1e-9:
        length = "short" if np.linalg.norm(moved) < lr * max_norm else "long"
        raise Mistake(f"`step` goes in the right direction, but it is too {length}")
    raise Mistake("`step` does not move along the clipped gradient of the mean loss of the whole batch")


def unscaled_in_a_wider_type(learner, rng):
    """Give micro-gradients that fit float16 only as long as they are scaled, as is what the scale is for."""
    scale, micro = 2.0**20, [make(rng, norm=norm, dtype=np.float16) for norm in (0.3, 0.06, 0.12)]
    params = make(rng, norm=3.0)
    mean = sum(map(flat, micro)) / 3
    result = call(learner, "step", params, micro, scale, 1e-9, 1e9)
    moved = flat(params) - flat({name: expect.array(result[name], name=name) for name in params})
    if not is_close(moved, mean / np.linalg.norm(mean), tolerance=2e-2):
        why = "which cannot hold them once the scale is undone, so go to a wider type first"
        raise Mistake(f"`step` loses small micro-gradients: it computes in float16, {why}")


@points(0.5)
@rests_on(RIGHT_NORM + RIGHT_CLIP)
def test_step_within_the_bound(learner, rng):
    """Where nothing is clipped, the step is the plain one: mean and scale are right."""
    micro = [make(rng, norm=norm) for norm in (0.3, 0.6, 0.2, 0.4, 0.5)]  # one more than there are arrays
    params = make(rng, norm=3.0)
    scaled = [{name: g * 4096.0 for name, g in one.items()} for one in micro]
    result = call(learner, "step", params, scaled, 4096.0, 5.0, 0.5)
    if not isinstance(result, dict) or set(result) != set(params):
        raise Mistake("`step` must return the new parameters, a dict with the names of params")
    moved = flat(params) - flat({name: expect.array(result[name], name=name) for name in params})
    right = 0.5 * sum(map(flat, micro)) / 5
    if is_close(moved, right * 5 / len(SHAPES)):
        raise Mistake("`step` divides by the number of arrays: the mean is over the micro-batches")
    if is_close(moved, 5 * right):
        raise Mistake("`step` adds the micro-batches up: the loss is the mean over the whole batch")
    if is_close(moved, right * 2.5 / np.linalg.norm(right)):  # lr * max_norm, in the right direction
        raise Mistake("`step` clips a gradient that is within the bound: undo the scale before you clip")
    if is_close(moved, right / 0.5):
        raise Mistake("`step` leaves the learning rate out")
    if is_close(moved, -right):
        raise Mistake("`step` goes uphill: subtract the gradient")
    if not is_close(moved, right):
        raise Mistake("`step` is wrong where nothing is clipped: look at the mean and at the scale")
    in_float16(learner, rng)


def in_float16(learner, rng):
    """Give micro-gradients that float16 holds one by one, and no two of them together."""
    one = make(rng)
    one = {name: g * (6e4 / np.abs(flat(one)).max()) for name, g in one.items()}  # from 2e4 on
    micro = [{name: (g * part).astype(np.float16) for name, g in one.items()} for part in (1.0, 0.9, 0.8, 0.95, 0.85)]
    params, why = make(rng, norm=3.0), "two of them may add up to more than it holds, so go to a wider type first"
    try:
        result = call(learner, "step", params, micro, 1024.0, 1e6, 0.5)
    except Mistake as mistake:
        if mistake.raised:
            raise Mistake(f"for micro-gradients in float16, {mistake}; {why}") from None
        raise
    new = {name: expect.array(result[name], name=name) for name in params}
    right = 0.5 * sum(map(flat, micro)) / 5 / 1024
    if not is_close(flat(params) - flat(new), right, tolerance=1e-2):
        raise Mistake(f"`step` is wrong for micro-gradients in float16: {why}")
    if narrow := [g.dtype.name for g in new.values() if g.dtype != np.float64]:
        raise Mistake(f"for micro-gradients in float16, `step` returns parameters in {narrow[0]}: they are float64")
