"""Hidden tests of gradients_in_jax: each tells the learner which mistake it found, never a value."""

import numpy as np

from course_grader import Mistake, expect, points

OWN = {"asked": "gradients", "pulled": "limit", "accumulated": "accumulate", "program": "accumulate"}
WHEN = {"plain": "", "jit": "under jit, ", "vmap": "under vmap, ", "vmap bound": "under vmap, "}
REFUSED = {
    "nondiff_argnums": "`limit` cannot take a bound that is traced: make it an ordinary argument, not a nondiff one",
    "scalar-output": "`{}` differentiates all that loss_fn returns, which is a pair: say has_aux=True",
    "real- or complex-valued inputs": "`{}` asks for the gradient of something that is no float: which argnums?",
    "No VJP defined": "`limit` has no rule: limit.defvjp(forward, backward) is missing",
    "bwd rule": "the backward half of `limit` must return one gradient for each argument, in a tuple: of the shape of "
    "x, and of the shape of bound",
    "for argument to VJP function": "the forward half of `limit` must return the result first, which is x, and then "
    "what is saved",
    "fwd rule": "the forward half of `limit` must return a pair, the result and what is saved",
    "fwd function": "the forward half of `limit` must return a pair, the result and what is saved",
    "carry": "the carry of the scan in `accumulate` changes its structure, shape or type: begin with zeros like "
    "params, and with 0.0 for a number",
    "boolean conversion of traced": "`{}` asks `if`, `max` or `and` about a traced value: use jnp.where, jnp.maximum",
    "called on traced array": "`{}` gives a traced value to NumPy: use jax.numpy",
    "oncrete": "`{}` makes a Python number of a traced value: leave it an array",
    "UnexpectedTracer": "`{}` keeps a traced value beyond the call: a pure function keeps nothing outside",
}
CLOSE = 2e-4  # float32, and sums in another order


def call(learner, name, *args, way="plain", **options):
    """Call a given function, and say in the exercise's words what JAX refuses."""
    own = OWN[name]
    try:
        return learner.call(name, *args, **options, **({} if way == "plain" else {"way": way}))
    except Mistake as mistake:
        if mistake.raised:
            for sign, message in REFUSED.items():
                if sign in str(mistake):
                    raise Mistake(WHEN[way] + message.format(own)) from None
        raise mistake.reworded(WHEN[way] + str(mistake).replace(f"`{name}`", f"`{own}`", 1), function=own) from None


def is_close(came, right):
    came, right = np.asarray(came, dtype=float), np.asarray(right, dtype=float)
    return bool(np.all(np.isfinite(came))) and bool(np.all(np.abs(came - right) <= CLOSE * np.abs(right).max()))


def number(value, name):
    """Return one number."""
    return float(expect.array(value, name=name, shape=()))


def signed(rng, *shape, low=0.5, high=1.5):
    """Draw numbers of both signs, none near 0, so that each of them counts."""
    return rng.uniform(low, high, size=shape) * rng.choice([-1.0, 1.0], size=shape)


# 1. Two gradients in one pass.


def line(rng, *, groups=()):
    """Draw a line, and points that are off it by numbers from 1 on: no gradient is near 0."""
    params = {"w": signed(rng, 3), "b": rng.uniform(0.5, 1.5)}
    x, off = rng.uniform(0.5, 2.0, size=(*groups, 5, 3)), rng.uniform(1.0, 3.0, size=(*groups, 5))
    return params, x, x @ params["w"] + params["b"] - off


POWER = 4  # of the errors in the loss, so that formulas for the squared error of the prompt do not help


def right_line(params, x, y):
    """Return the loss, the outputs and both gradients."""
    out = x @ params["w"] + params["b"]
    pull = POWER * (out - y) ** (POWER - 1) / y.shape[-1]
    dparams = {"w": np.einsum("...b,...bd->...d", pull, x), "b": pull.sum(axis=-1)}
    return np.mean((out - y) ** POWER, axis=-1), out, dparams, pull[..., None] * params["w"]


def is_params(value):
    return isinstance(value, dict) and set(value) == {"w", "b"}


def is_aux(value):
    return isinstance(value, dict) and set(value) == {"out"}


def asked(learner, drawn, way="plain", *, ordered=False):
    """Return the four things that `gradients` returns, and how often it ran the loss.

    In another order or packed in pairs they are as good: that is a mistake where they are to be ordered.
    """
    found = call(learner, "asked", *drawn, way=way, power=POWER)
    said, what = found["said"], "the loss, aux, dparams and dx"
    if not isinstance(said, (tuple, list)):
        raise Mistake(f"`gradients` must return four things, {what}; it returned {expect.describe(said)}")
    four = list(said)
    if len(four) != 4:
        packed = [part if isinstance(part, (tuple, list)) else [part] for part in said]
        four = [part for parts in packed for part in parts]
        if len(four) != 4 or ordered:
            raise Mistake(f"`gradients` must return four things, {what}; it returned {expect.describe(said)}")
    if is_params(four[3]) and not is_params(four[2]):
        if ordered:
            raise Mistake("`gradients` returns dx before dparams: the gradient of params comes third")
        four = [*four[:2], four[3], four[2]]
    if is_aux(four[0]) and not is_aux(four[1]):
        if ordered:
            raise Mistake("`gradients` returns aux before the loss: the loss comes first")
        four = [four[1], four[0], *four[2:]]
    if not is_params(four[2]):
        raise Mistake("the third thing that `gradients` returns must be a dict like params, with its names")
    return four, found["runs"]


def differentiates(runs):
    """Refuse slopes that are measured: that takes two runs for each number."""
    if runs > 4:
        raise Mistake(f"`gradients` runs the loss {runs} times: let JAX differentiate it, do not measure slopes")


@points(0.25)
def test_loss_and_aux(learner, rng):
    """All four are returned in their order, the loss and what comes beside it as they are."""
    drawn = line(rng)
    (loss, aux, _, _), _ = asked(learner, drawn, ordered=True)
    right, out, _, _ = right_line(*drawn)
    if not is_close(number(loss, "loss"), right):
        raise Mistake("the loss that `gradients` returns is not what loss_fn returned")
    if not isinstance(aux, dict) or "out" not in aux:
        raise Mistake("the second thing that `gradients` returns must be aux, as loss_fn returned it")
    if not is_close(expect.array(aux["out"], name='aux["out"]', shape=(5,)), out):
        raise Mistake("aux is not what loss_fn returned beside the loss")


@points(0.5)
def test_gradient_of_params(learner, rng):
    """The gradient of each parameter is right."""
    drawn = line(rng)
    (_, _, dparams, _), runs = asked(learner, drawn)
    differentiates(runs)
    for name, right in right_line(*drawn)[2].items():
        came = expect.array(dparams[name], name=f"the gradient of {name}", shape=right.shape)
        if is_close(came, -right):
            raise Mistake(f"the gradient of {name} has the wrong sign: `gradients` takes no step, it returns gradients")
        if is_close(came, right_of_squares(drawn)[name]):
            raise Mistake(
                "`gradients` returns the gradient of the squared error, and not that of the loss_fn it is given: let "
                "JAX differentiate loss_fn"
            )
        if not is_close(came, right):
            raise Mistake(f"`gradients` returns a wrong gradient of {name}")


def right_of_squares(drawn):
    """Return the gradient that formulas for the mean squared error give."""
    params, x, y = drawn
    pull = 2 * (x @ params["w"] + params["b"] - y) / y.shape[-1]
    return {"w": pull @ x, "b": pull.sum()}


@points(0.5)
def test_gradient_of_the_input(learner, rng):
    """The gradient of the input is right."""
    drawn = line(rng)
    (_, _, _, dx), runs = asked(learner, drawn)
    differentiates(runs)
    right = right_line(*drawn)[3]
    if dx is None:
        raise Mistake("`gradients` returns None for dx")
    if isinstance(dx, (tuple, list, dict)) and not isinstance(dx, np.ndarray):
        raise Mistake(f"dx must be one array; it is {expect.describe(dx)}: unpack what value_and_grad returns")
    if np.shape(dx) == (5,):
        raise Mistake("dx has the shape of y: it must be the gradient of x, the argument before")
    if not is_close(expect.array(dx, name="dx", shape=right.shape), right):
        raise Mistake("`gradients` returns a wrong gradient of x")


@points(1)
def test_one_run(learner, rng):
    """One run of the loss gives all four."""
    drawn = line(rng)
    (_, _, dparams, _), runs = asked(learner, drawn)
    if runs != 1:
        raise Mistake(f"`gradients` runs the loss {runs} times: one value_and_grad with two argnums runs it once")
    if not is_close(expect.array(dparams["w"], name="the gradient of w", shape=(3,)), right_line(*drawn)[2]["w"]):
        raise Mistake("`gradients` returns a wrong gradient, so how often it runs the loss says nothing")


@points(0.25)
def test_gradients_traced(learner, rng):
    """It can be compiled, and mapped over groups of rows."""
    for way, groups in (("jit", ()), ("vmap", (2,))):
        drawn = line(rng, groups=groups)
        (_, _, dparams, dx), runs = asked(learner, drawn, way)
        differentiates(runs)
        _, _, right, right_dx = right_line(*drawn)
        both = [(dparams["w"], right["w"]), (dx, right_dx)]
        if not all(is_close(expect.array(a, name="a gradient", shape=b.shape), b) for a, b in both):
            raise Mistake(f"{WHEN[way]}`gradients` returns other gradients than it should")


# 2. Clip in the middle.


def upstream(rng, *, norm=8.0):
    """Draw x and a v of this norm, whose elements differ in size; the largest of both signs are far from 0."""
    v = np.zeros(1)
    while not v.min() < -0.4 * norm < 0.4 * norm < v.max():
        v = signed(rng, 2, 3) * np.array([[1.0, 4.0, 0.3], [2.0, 0.5, 1.0]])
        v *= norm / np.linalg.norm(v)
    return signed(rng, 2, 3, low=2.0, high=5.0), v


def rows_of(v):
    return np.linalg.norm(v, axis=-1, keepdims=True)


def pulled(learner, x, bound, v, way="plain"):
    """Return what `limit` returns and sends back."""
    try:
        found = call(learner, "pulled", x, bound, v, way=way)
    except Mistake:
        found = by_halves(learner, x, bound, v) if way == "plain" else None
        if not found:
            raise
    if found["y"] is None:
        raise Mistake("`limit` returned None, as happens when a `return` is missing")
    found["dx"] = expect.array(found["dx"], name="what goes back to x", shape=np.shape(x))
    return found


def by_halves(learner, x, bound, v):
    """Return what both halves of the rule say where JAX refuses how they pack it, or None if they do not work either.

    How results are packed is what tests under jit and vmap judge, which have no such way out.
    """
    try:
        found = learner.call("halves", x, bound, v)
    except Mistake:
        return None
    back = found["back"] if isinstance(found["back"], (tuple, list)) else [found["back"]]
    fits = [part for part in back if np.shape(part) == np.shape(x)]
    return {"y": found["y"], "dx": fits[0]} if fits else None


LEFT_TO_JAX = (
    "`limit` clips x in the forward pass, and what goes back is the derivative of that: return x as it is, and write a "
    "rule of your own for v, with jax.custom_vjp"
)


def clips(learner, rng):
    """Refuse an identity: what it does where nothing is to be clipped says nothing."""
    x, v = upstream(rng)
    came = pulled(learner, x, 3.0, v)["dx"]
    if is_close(came, v):
        raise Mistake("`limit` lets a gradient pass that is longer than the bound: it has no rule of its own")
    if is_close(came, v * (np.abs(x) < 3.0)):
        raise Mistake(LEFT_TO_JAX)


@points(1.5)
def test_beyond_the_bound(learner, rng):
    """A gradient that is too long keeps its direction, and ends with the bound as its norm."""
    clips(learner, rng)
    (x, v), bound = upstream(rng), rng.uniform(1.5, 2.5)
    came = pulled(learner, x, bound, v)["dx"]
    if is_close(came, v * bound / 8):
        return
    known = {
        "takes what was saved for v: the backward half is given what was saved, and then v": np.minimum(v, bound),
        "clips each element by itself, which turns it: one factor for all": np.clip(v, -bound, bound),
        "takes a norm for each row: all elements together have one": v * np.minimum(1, bound / rows_of(v)),
        "makes the norm 1, whatever the bound is": v / 8,
        "divides by the square of the norm: the root is missing": v * bound / 64,
        "divides by the sum of the absolute values: the norm squares them": v * bound / np.abs(v).sum(),
        "divides by the largest element, not by the norm": v * bound / np.abs(v).max(),
        "multiplies by the bound, and does not divide by the norm": v * bound,
        "multiplies by the inverse of the factor": v * 8 / bound,
        "divides by the root mean square: the squares are added up": v * bound / (8 / np.sqrt(v.size)),
        "turns it around": -v * bound / 8,
        "takes the norm of x: what is clipped is v": v * min(1.0, bound / np.linalg.norm(x)),
        "sends back the clipped x: what is clipped is v": x * bound / np.linalg.norm(x),
        "sends back a v of ones, whatever came": np.ones_like(v),
        "takes x for the bound: does it unpack what was saved in another order?": v * x / np.maximum(8, x),
    }
    for message, value in known.items():
        if is_close(came, value):
            raise Mistake(f"given a gradient beyond the bound, `limit` {message}")
    norm, length = float(np.vdot(came, came)) ** 0.5, float(np.linalg.norm(v))
    if norm and np.vdot(came, v) / (norm * length) > 1 - 1e-6:
        raise Mistake(f"`limit` keeps the direction, but the gradient ends too {'short' if norm < bound else 'long'}")
    raise Mistake("`limit` turns a gradient that is beyond the bound: multiply every element by the same factor")


@points(0.5)
def test_forward(learner, rng):
    """The forward pass is the identity, to the bit."""
    x, v = upstream(rng)
    y = expect.array(pulled(learner, x, 0.5, v)["y"], name="what `limit` returns", shape=x.shape)
    if is_close(y, x * 0.5 / np.linalg.norm(x)) or is_close(y, np.clip(x, -0.5, 0.5)):
        raise Mistake("`limit` clips x: in the forward pass it returns x as it is")
    if not np.array_equal(y, x.astype(np.float32)):
        raise Mistake("`limit` changes x: in the forward pass it returns x as it is")
    clips(learner, rng)


@points(0.5)
def test_within_the_bound(learner, rng):
    """A gradient within the bound passes as it is, and one of zeros stays zero."""
    clips(learner, rng)
    x, v = upstream(rng, norm=0.8)
    came = pulled(learner, x, 5.0, v)["dx"]
    if is_close(came, v * 5 / 0.8):
        raise Mistake("`limit` makes a gradient longer that is within the bound: the factor is at most 1")
    if not is_close(came, v):
        raise Mistake("`limit` changes a gradient that is within the bound")
    zeros = pulled(learner, x, 5.0, np.zeros_like(v))["dx"]
    if np.isnan(zeros).any():
        raise Mistake("`limit` makes a gradient of zeros nan: it divides by the norm, which is 0")
    if zeros.any():
        raise Mistake("`limit` makes something else of a gradient of zeros")
    tiny = pulled(learner, x, 1e-6, v * 1e-5)["dx"]
    length = float(np.linalg.norm(tiny))
    if length < (1 - CLOSE) * 1e-6 and is_close(tiny, v * length / 0.8):
        raise Mistake("`limit` makes a small gradient shorter than a small bound: is something added to the norm?")


@points(0.5)
def test_traced_bound(learner, rng):
    """The bound may be traced, and its gradient is 0."""
    x, v = upstream(rng)
    found = pulled(learner, x, 2.0, v, "jit")
    if not is_close(found["dx"], v * 2 / 8) and not is_close(found["dx"], pulled(learner, x, 2.0, v)["dx"]):
        raise Mistake("under jit, `limit` sends back something else than without")
    clips(learner, rng)
    dbound = found["dbound"]
    if dbound is None or number(dbound, "the gradient of bound"):
        raise Mistake("the gradient of bound must be 0: it is a setting, and `limit` does not depend on it")


@points(0.5)
def test_mapped(learner, rng):
    """Under vmap each row has a norm of its own, and may have a bound of its own."""
    clips(learner, rng)
    x, v = upstream(rng)
    v /= rows_of(v)
    v *= np.array([[3.0], [7.0]])
    came = pulled(learner, x, 2.0, v, "vmap")["dx"]
    if is_close(came, v * 2 / np.linalg.norm(v)):
        raise Mistake("under vmap, `limit` takes the norm of all rows together")
    alone = [pulled(learner, one, 2.0, pull)["dx"] for one, pull in zip(x, v, strict=True)]
    if not is_close(came, alone):
        raise Mistake("under vmap, `limit` sends back something else than for one row alone")
    came = pulled(learner, x, np.array([1.0, 4.0]), v, "vmap bound")["dx"]
    alone = [pulled(learner, one, bound, pull)["dx"] for one, bound, pull in zip(x, (1.0, 4.0), v, strict=True)]
    if not is_close(came, alone):
        raise Mistake("under vmap, `limit` is wrong where each row has its own bound")


# 3. Accumulate with scan.

K, B, D, M = 5, 4, 3, 4


def network(rng, rows, *, copies=()):
    """Draw a network and micro-batches with so many rows that count; rows of padding hold what would show."""
    params = {"w": signed(rng, *copies, D, M), "b": signed(rng, *copies, M), "v": signed(rng, *copies, M)}
    x, y = rng.normal(size=(len(rows), B, D)), rng.normal(size=(len(rows), B))
    y += 3.0 * np.arange(1, len(rows) + 1)[:, None]  # so that no two micro-batches have alike gradients
    counts = (np.arange(B) < np.asarray(rows)[:, None]).astype(float)
    return params, (x, y, counts)


def right_network(params, batches, weights=None):
    """Return the loss and its gradient, where each micro-batch's sum over rows has a weight; else all rows alike."""
    x, y, counts = batches
    weights = np.full(len(x), 1 / counts.sum()) if weights is None else weights
    hidden = np.tanh(x @ params["w"] + params["b"])
    off = hidden @ params["v"] - y
    share = counts * weights[:, None]
    pull = 2 * off * share
    back = pull[..., None] * params["v"] * (1 - hidden**2)
    grads = {"w": np.einsum("kbd,kbm->dm", x, back), "b": back.sum((0, 1)), "v": np.einsum("kb,kbm->m", pull, hidden)}
    return float((share * off**2).sum()), grads


def flat(grads):
    return np.concatenate([np.ravel(grads[name]) for name in "wbv"])


def accumulated(learner, drawn, way="plain", *, ordered=False):
    """Return the loss, the gradient as arrays, and the most rows that loss_fn was given at once.

    The other order is a mistake where they are to be ordered.
    """
    found = call(learner, "accumulated", *drawn, way=way)
    loss, grads = expect.pair(found["said"], "the loss and the gradient", name="accumulate")
    if isinstance(loss, dict) and not isinstance(grads, dict):
        if ordered:
            raise Mistake("`accumulate` returns the gradient first: the loss comes first")
        loss, grads = grads, loss
    params = drawn[0]
    if not isinstance(grads, dict) or set(grads) != set(params):
        raise Mistake("the gradient that `accumulate` returns must be a dict like params, with its names")
    shapes = {name: array.shape for name, array in params.items()}
    grads = {name: expect.array(grads[name], name=f"the gradient of {name}", shape=shapes[name]) for name in params}
    return loss, grads, found["rows"]


@points(1)
def test_each_row_counts_alike(learner, rng):
    """The gradient is that of all rows together, though micro-batches have different numbers of rows."""
    rows = [4, 1, 3, 2, 4]
    drawn = network(rng, rows)
    _, grads, at_once = accumulated(learner, drawn)
    if at_once > B:
        raise Mistake("`accumulate` gives loss_fn several micro-batches at once: the large batch does not fit")
    params, batches = drawn
    n, total = np.asarray(rows, dtype=float), sum(rows)
    if is_close(flat(grads), flat(right_network(*drawn)[1])):
        return
    last = np.zeros(K)
    last[-1] = 1.0
    known = {
        "is the mean of the micro-batches' means: weight each by its rows, or a lone row counts as much as four": 1
        / (K * n),
        "is a sum of means: multiply by the rows of each, and divide by all rows at the end": 1 / n,
        "is the sum over all rows: divide by their number": np.ones(K),
        "is divided by the number of micro-batches, not of rows": np.full(K, 1 / K),
        "counts the padding, too: divide by the rows that count": np.full(K, 1 / (K * B)),
        "is weighted by rows twice": n / total,
        "is that of the last micro-batch alone: add to the sum, do not replace it": last / n[-1],
        "is the last one's share alone: add to the sum, do not replace it": last / total,
        "is divided by the rows of the last micro-batch, not of all": np.full(K, 1 / n[-1]),
        "misses the first micro-batch": np.where(np.arange(K) == 0, 0, 1 / total),
        "misses the last micro-batch": np.where(np.arange(K) == K - 1, 0, 1 / total),
        "is divided twice by the number of rows": np.full(K, 1 / total**2),
    }
    for message, weights in known.items():
        if is_close(flat(grads), flat(right_network(params, batches, weights)[1])):
            raise Mistake(f"the gradient that `accumulate` returns {message}")
    if is_close(flat(grads), -flat(right_network(*drawn)[1])):
        raise Mistake("the gradient that `accumulate` returns has the wrong sign: it takes no step")
    raise Mistake("the gradient that `accumulate` returns is not that of all rows together")


@points(0.5)
def test_loss_and_an_empty_micro_batch(learner, rng):
    """The loss is the mean over all rows, and a micro-batch without rows adds nothing."""
    right, known = 0.0, {"": 0.0}
    while any(abs(value - right) <= 0.02 * abs(right) for value in known.values()):
        drawn = network(rng, [3, 4, 1, 2, 4])
        n, right = drawn[1][2].sum(axis=1), right_network(*drawn)[0]
        known = {
            "the mean of the means: each row counts alike": right_network(*drawn, 1 / (K * n))[0],
            "that of the last micro-batch": right_network(*drawn, np.where(np.arange(K) == K - 1, 1 / n[-1], 0))[0],
            "a sum: divide by the rows": right * n.sum(),
        }
    loss = number(accumulated(learner, drawn, ordered=True)[0], "the loss")
    for what, value in known.items():
        if is_close(loss, value):
            raise Mistake(f"the loss that `accumulate` returns is {what}")
    if not is_close(loss, right):
        raise Mistake("the loss that `accumulate` returns is not the mean over all rows")
    drawn = network(rng, [0, 3, 1, 4, 0])
    loss, grads, _ = accumulated(learner, drawn)
    right, _ = right_network(*drawn)
    if not np.all(np.isfinite(flat(grads))):
        raise Mistake("`accumulate` returns nan where a micro-batch has no row that counts: divide once, by all rows")
    if not is_close(number(loss, "the loss"), right):
        raise Mistake("`accumulate` is wrong where a micro-batch has no row that counts: it adds nothing to any sum")


def program(learner, drawn):
    """Return what stands in the program of `accumulate`."""
    found = call(learner, "program", *drawn)
    if not found["rows"]:
        raise Mistake("the network is nowhere in the program of `accumulate`: does it call loss_fn when it is traced?")
    return found


@points(1)
def test_one_step_in_a_loop(learner, rng):
    """The program holds the step once, in a loop, however many micro-batches there are."""
    found = program(learner, network(rng, [4, 1, 3, 2, 4]))
    if found["rows"] > B:
        raise Mistake("`accumulate` has no loop in its program, as it runs all micro-batches at once: use jax.lax.scan")
    if found["outside"]:
        why = "a Python loop is unrolled when it is traced" if found["outside"] > 1 else "scan runs it k times"
        raise Mistake(f"`accumulate` has the network outside of a loop in its program: {why}, so use jax.lax.scan")


@points(1)
def test_one_micro_batch_in_memory(learner, rng):
    """One micro-batch is in memory at a time, and one sum of gradients."""
    drawn = network(rng, [4, 1, 3, 2, 4])
    found = program(learner, drawn)
    if found["rows"] > B:
        raise Mistake("`accumulate` runs all micro-batches at once, as vmap does: their activations are all in memory")
    if found["handed over"] > 2 * flat(drawn[0]).size + 4 * K:
        what = "stacked gradients, or activations that a backward pass through the scan needs"
        raise Mistake(
            f"the loop of `accumulate` hands over something large for each micro-batch ({what}): carry one sum"
        )


@points(0.5)
def test_accumulate_traced(learner, rng):
    """It can be compiled, and mapped over several networks."""
    params, batches = network(
        rng, [4, 4, 4, 4, 4], copies=(2,)
    )  # how unequal ones are weighted is another test's business
    first = {name: array[0] for name, array in params.items()}
    if program(learner, (first, batches))["rows"] > B:
        raise Mistake("`accumulate` runs all micro-batches at once: this is for one that takes them one at a time")
    right = flat(accumulated(learner, (first, batches))[1])
    came = {"jit": accumulated(learner, (first, batches), "jit")[1]}
    mapped = accumulated(learner, (params, batches), "vmap")[1]
    came["vmap"] = {name: array[0] for name, array in mapped.items()}
    for way, grads in came.items():
        if not is_close(flat(grads), right):
            raise Mistake(f"{WHEN[way]}`accumulate` returns another gradient than without")
    if is_close(flat({name: array[1] for name, array in mapped.items()}), right):
        raise Mistake("under vmap, `accumulate` returns the same for two networks: this is for one that works")
