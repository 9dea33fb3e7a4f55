"""Hidden tests of attention_backward: each tells the learner which mistake it found, never a value."""

import numpy as np

from course_grader import Mistake, expect, points, rests_on

CELLS = ("softmax_backward", "attention", "attention_backward", "backward_in_blocks")
HAND = {
    r"^course_lib\b": "the course's library is not for this: write it yourself",
    r"\.(backward|requires_grad_?)$|^torch\.(autograd|func)\b|^functorch\b|^(autograd|tinygrad|micrograd|tensorflow)\b"
    r"|^jax\.(\w*grad|vjp|jvp|jac\w+|hessian|linearize)\b|softmax_backward_data": "that differentiates for you; here "
    "you do it by hand",
    r"dot_product_attention|flex_attention|MultiheadAttention|flash_attn": "that is a library's attention; here you "
    "write your own",
}
SIZES = {"t": 3, "s": 5, "d": 4, "e": 2}
TINY = 1e-30
MEASURED = "as it is when slopes are measured: in a difference of sums it is lost. Derive it"

RIGHT_SOFTMAX = """
def softmax_backward(p, g):
    return p * (g - (p * g).sum(axis=-1, keepdims=True))
"""
RIGHT_BACKWARD = """
import numpy as np

def attention_backward(g, q, k, v, lse):
    p = np.exp(scores(q, k) - lse[..., None])
    dz = softmax_backward(p, g @ v.swapaxes(-1, -2)) / q.shape[-1] ** 0.5
    return dz @ k, dz.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ g
"""


# Problems, and what is right for them.


def swap(x):
    return x.swapaxes(-1, -2)


def draw(rng, *shape):
    """Return numbers of both signs, none of them small."""
    return rng.uniform(0.5, 1.5, size=shape) * rng.choice([-1, 1], size=shape)


def softmax(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def row_sums(p, g):
    return (p * g).sum(axis=-1, keepdims=True)


class Problem:
    """Queries, keys, values and an upstream gradient, and all that is right for them."""

    def __init__(self, rng, lead=(), *, t=3, s=5, d=4, e=2, scale=1.0, dtype=np.float64):
        shapes = [(t, d), (s, d), (s, e), (t, e)]
        self.q, self.k, self.v, self.g = (draw(rng, *lead, *shape).astype(dtype) for shape in shapes)
        self.q *= dtype(scale)
        self.root = d**0.5
        self.solve()

    def solve(self):
        t, s = self.q.shape[-2], self.k.shape[-2]
        z = self.q @ swap(self.k) / self.root
        self.z = np.where(np.arange(s) > np.arange(t)[:, None] + (s - t), -np.inf, z)
        largest = self.z.max(axis=-1, keepdims=True)
        self.lse = (largest + np.log(np.exp(self.z - largest).sum(axis=-1, keepdims=True)))[..., 0]
        self.p = softmax(self.z)
        self.out = self.p @ self.v
        self.dp = self.g @ swap(self.v)
        self.dz = self.p * (self.dp - row_sums(self.p, self.dp)) / self.root
        self.right = {"q": self.dz @ self.k, "k": swap(self.dz) @ self.q, "v": swap(self.p) @ self.g}


def agree(came, right, *, tolerance=1e-7):
    came, right = np.asarray(came), np.asarray(right)
    if came.shape != right.shape or not np.all(np.isfinite(came)):
        return False
    return bool(np.abs(came - right).max() <= tolerance * max(np.abs(right).max(), 1e-300))


def say(known, came, *, start):
    """Raise the first known mistake whose result this is."""
    for message, value in known.items():
        if np.ndim(value) and agree(came, value):
            raise Mistake(f"{start} {message}")


# What came.


def by_hand(learner, name):
    expect.by_hand(learner, [name], among=CELLS, instead_of=HAND)


def call(learner, name, *args, sizes=SIZES):
    """Call, and say for which sizes it raised: a product that fits only where two sizes are equal raises here."""
    by_hand(learner, name)
    try:
        return learner.call(name, *args)
    except Mistake as mistake:
        if mistake.raised and mistake.raised != "NotImplementedError":
            told = str(mistake).replace("`blocks_and_peak` raised", "`backward_in_blocks` raised", 1)
            where = ", ".join(f"{key} = {size}" for key, size in sizes.items())
            raise mistake.reworded(f"for {where}, {told}") from None
        raise


def forward_of(learner, problem):
    """Return out and lse as the learner's `attention` has them."""
    what = "out and lse"
    out, lse = expect.pair(call(learner, "attention", problem.q, problem.k, problem.v), what, name="attention")
    out, lse = expect.array(out, name="out"), expect.array(lse, name="lse")
    if out.shape == problem.lse.shape and lse.shape == problem.out.shape:
        raise Mistake("`attention` returns lse first: `out` comes first, and then lse")
    if lse.shape in ((*problem.lse.shape, 1), problem.p.shape):
        kept = (
            "is a column: drop its last axis" if lse.shape[-1] == 1 else "has a number for each pair: keep one a query"
        )
        raise Mistake(f"`lse` {kept}, so that its shape is (..., t)")
    for name, came, right in (("out", out, problem.out), ("lse", lse, problem.lse)):
        if came.shape != right.shape:
            raise Mistake(f"`{name}` has shape {came.shape}; it must have shape {right.shape}")
    return out, lse


def gradients_of(learner, problem, *, lse=None):
    """Return what `attention_backward` gives, by the names of what it is the gradient of."""
    args = problem.g, problem.q, problem.k, problem.v, problem.lse if lse is None else lse
    return form(call(learner, "attention_backward", *args), problem, "attention_backward")


def form(came, problem, name):
    if not isinstance(came, (tuple, list)) or len(came) != 3:
        raise Mistake(f"`{name}` must return three things, dq, dk and dv; it returned {expect.describe(came)}")
    arrays = {key: expect.array(g, name=f"d{key}") for key, g in zip("qkv", came, strict=True)}
    for key, g in arrays.items():
        must = getattr(problem, key).shape
        other = next((o for o in "qkv" if o != key and g.shape == getattr(problem, o).shape != must), None)
        if other:
            raise Mistake(
                f"`{name}` returns gradients in another order, as d{key} has the shape of {other}: return dq, dk, dv"
            )
        if g.shape != must:
            raise Mistake(f"d{key} of `{name}` has shape {g.shape}; it must have that of {key}, {must}")
    return arrays


# 1. Softmax.


def probabilities(rng, *shape):
    p = rng.uniform(0.5, 1.5, size=shape)
    return p / p.sum(axis=-1, keepdims=True), draw(rng, *shape)


def softmax_slips(p, g):
    right = p * (g - row_sums(p, g))
    other = p - 1 / p.shape[-1]
    return {
        "is p * g: raising one score also lowers the other probabilities of its row": p * g,
        "is the diagonal of the Jacobian alone: the other probabilities of the row move, too": p * (1 - p) * g,
        "subtracts the plain sum of g: weigh it by p": p * (g - g.sum(axis=-1, keepdims=True)),
        "subtracts the plain mean of g: weigh it by p": p * (g - g.mean(axis=-1, keepdims=True)),
        "averages p * g over the row: it is the sum that is subtracted": p * (g - (p * g).mean(axis=-1, keepdims=True)),
        "lacks the factor p": g - row_sums(p, g),
        "subtracts the row's sum from p * g: that sum, too, is multiplied by p": p * g - row_sums(p, g),
        "sums over the queries: each row is a softmax of its own, so sum along the last axis": p
        * (g - (p * g).sum(axis=-2, keepdims=True)),
        "sums over all rows: each row is a softmax of its own, so sum along the last axis": p * (g - (p * g).sum()),
        "has the wrong sign": -right,
        "is p - g, which belongs to a softmax with cross-entropy, where g are the targets": p - g,
        "ignores g": other,
        "multiplies by p twice": p * right,
        "divides by p once too often": right / p**2,
    }


@points(1.5)
def test_softmax_backward(learner, rng):
    """The gradient of the scores is right for a row of any length."""
    for t, s in ((4, 5), (3, 7)):
        p, g = probabilities(rng, t, s)
        came = expect.array(
            call(learner, "softmax_backward", p, g, sizes={"t": t, "s": s}), name="dL/dz", shape=p.shape
        )
        right = p * (g - row_sums(p, g))
        say(softmax_slips(p, g), came, start="`softmax_backward`")
        if not agree(came, right):
            if not np.allclose(came.sum(axis=-1), 0):
                raise Mistake(
                    "a row of what `softmax_backward` returns does not sum to 0, and it must: mind the sum's axis"
                )
            raise Mistake(f"`softmax_backward` is wrong for {t} rows of {s}")
    p[:, 0] *= TINY
    came = expect.array(call(learner, "softmax_backward", p, g), name="dL/dz", shape=p.shape)
    if not agree(came[:, 0] / TINY, (p * (g - row_sums(p, g)))[:, 0] / TINY):
        raise Mistake(f"where a probability is tiny, `softmax_backward` is wrong, {MEASURED}")


@points(0.5)
def test_softmax_backward_of_heads(learner, rng):
    """Axes for batch and heads may stand in front, and rows of a single score have gradient 0."""
    works(learner, rng)
    for shape in ((2, 3, 4, 5), (3, 2, 6), (2, 2, 1, 1)):
        p, g = probabilities(rng, *shape)
        sizes = {"the shape of p": shape}
        came = expect.array(call(learner, "softmax_backward", p, g, sizes=sizes), name="dL/dz")
        if came.shape != p.shape:
            raise Mistake(f"for p of shape {shape}, `softmax_backward` returns shape {came.shape}: return that of p")
        right = p * (g - row_sums(p, g))
        if not np.all(np.abs(came - right) < 1e-7):
            say(softmax_slips(p, g), came, start="`softmax_backward`")
            raise Mistake(f"for p of shape {shape}, `softmax_backward` is wrong: sum along the last axis, not axis 1")


def works(learner, rng):
    """Raise unless the softmax's gradient is right in at least one entry: this point is for one that works."""
    p, g = probabilities(rng, 4, 5)
    came = expect.array(call(learner, "softmax_backward", p, g, sizes={"t": 4, "s": 5}), name="dL/dz")
    if not agree(came, p * (g - row_sums(p, g))):
        raise Mistake("`softmax_backward` is wrong without axes in front already: mend that first")


# 2. Forward.


@points(0.5)
def test_output(learner, rng):
    """The output is right, for one head and for several."""
    for lead, sizes in (((), SIZES), ((), {"t": 4, "s": 4, "d": 3, "e": 5}), ((2, 3), SIZES)):
        problem = Problem(rng, lead, **sizes)
        out, _ = forward_of(learner, problem)
        e = np.exp(problem.z)
        known = {
            "is not divided by the sum of the exponentials": e @ problem.v,
            "weighs values by softmax along the wrong axis: each query's weights sum to 1": e
            / e.sum(axis=-2, keepdims=True)
            @ problem.v,
            "averages over all queries together: each row is a softmax of its own": e / e.sum() @ problem.v,
            "lets a query see every key: `scores` has -inf where it must not": softmax(
                problem.q @ swap(problem.k) / problem.root
            )
            @ problem.v,
            "divides the scores by sqrt(d) twice: `scores` has done that": softmax(problem.z / problem.root)
            @ problem.v,
            "is not weighed by the softmax, but by the scores": np.where(np.isfinite(problem.z), problem.z, 0)
            @ problem.v,
        }
        say(known, out, start="the output of `attention`")
        if not agree(out, problem.out):
            where = " with axes for batch and heads in front" if lead else ""
            raise Mistake(f"the output of `attention` is wrong{where}")


@points(0.5)
def test_log_sum_exp(learner, rng):
    """What is kept is the log of the sum of the exponentials of each row of scores."""
    for lead in ((), (2, 3)):
        problem = Problem(rng, lead)
        _, lse = forward_of(learner, problem)
        largest = problem.z.max(axis=-1)
        known = {
            "is the sum of the exponentials: its log is missing": np.exp(problem.lse),
            "is that of the shifted scores: add what you subtracted": problem.lse - largest,
            "is the largest score": largest,
            "has the wrong sign": -problem.lse,
            "subtracts the largest score, which must be added back": problem.lse - 2 * largest,
            "is a log to the base 2": problem.lse / np.log(2),
            "is the inverse of the sum of the exponentials": np.exp(-problem.lse),
            "averages the exponentials: sum them": problem.lse - np.log(problem.k.shape[-2]),
        }
        say(known, lse, start="`lse`")
        if not agree(lse, problem.lse):
            raise Mistake("`lse` is not the log of the sum of the exponentials of a query's scores")


@points(0.5)
def test_large_scores(learner, rng):
    """Scores of several hundred, of both signs, harm neither the output nor the log-sum-exp."""
    forward_works(learner, rng)
    for shift in (1.0, -1.0):
        problem = Problem(rng, scale=30.0)
        problem.k = np.sign(problem.q[:1]) * shift * np.abs(problem.k)
        problem.k[0] *= 40.0  # the scores of one row differ by hundreds, and so do those of two rows
        problem.q[1:] = np.sign(problem.q[:1]) * np.abs(problem.q[1:]) * np.array([[-1.0], [0.02]])
        problem.solve()
        for name, came, right in zip(
            ("out", "lse"), forward_of(learner, problem), (problem.out, problem.lse), strict=True
        ):
            if not np.all(np.isfinite(came)):
                raise Mistake(
                    f"`{name}` is not finite for large scores: exp overflows, or the log of 0 is taken, unless you "
                    "subtract the largest score of each row first"
                )
            if not agree(came, right):
                raise Mistake(
                    f"`{name}` is wrong for large scores: subtract what belongs to the row, and cut nothing off"
                )


def forward_works(learner, rng):
    problem = Problem(rng)
    for name, came, right in zip(("out", "lse"), forward_of(learner, problem), (problem.out, problem.lse), strict=True):
        if not agree(came, right):
            raise Mistake(f"`{name}` is wrong for ordinary scores already: mend that first")


# 3. Backward.


def slips(problem, name):
    """Return what mistakes make of one gradient, and how to name them."""
    p, g, q, k, v, root = (getattr(problem, x) for x in ("p", "g", "q", "k", "v", "root"))
    right, z = problem.right[name], np.where(np.isfinite(problem.z), problem.z, 0)
    if name == "v":
        return {
            "is made of the scores: the values are weighed by the probabilities": swap(z) @ g,
            "ignores g": swap(p) @ np.ones_like(g),
            "is made of the exponentials: subtract lse from the scores first": swap(np.exp(problem.z)) @ g,
            "is divided by sqrt(d): only the scores are": right / root,
            "is multiplied by sqrt(d)": right * root,
            "has the wrong sign": -right,
            "lets a query see every key: `scores` has -inf where it must not": swap(
                np.exp(q @ swap(k) / root - problem.lse[..., None])
            )
            @ g,
        }
    other, of = (k, lambda m: m) if name == "q" else (q, swap)
    every = np.exp(q @ swap(k) / root - problem.lse[..., None])
    made = {
        "is not divided by sqrt(d), as the scores are": root,
        "is divided by d, or by sqrt(d) twice: the scores are divided by it once": 1 / root,
        "has the wrong sign": -1.0,
        "is multiplied by sqrt(d): the scores are divided by it": root**2,
    }
    known = {message: factor * right for message, factor in made.items()}
    return known | {
        "goes past the softmax in `attention_backward`: `softmax_backward` leads from dp to dz": of(problem.dp / root)
        @ other,
        "goes past the softmax in `attention_backward`, mask and all: `softmax_backward` leads from dp to dz": of(
            np.where(np.isfinite(problem.z), problem.dp, 0) / root
        )
        @ other,
        "takes p * dp for the gradient of the scores: the softmax's rule subtracts something from dp": of(
            p * problem.dp / root
        )
        @ other,
        "takes p for the gradient of the scores": of(p) @ other,
        "lets a query see every key: `scores` has -inf where it must not": of(
            every * (problem.dp - row_sums(every, problem.dp)) / root
        )
        @ other,
        "ignores g": of(p * (v.sum(axis=-1)[..., None, :] - row_sums(p, v.sum(axis=-1)[..., None, :])) / root) @ other,
        "takes the scores for the probabilities in the softmax's rule": of(
            z * (problem.dp - row_sums(z, problem.dp)) / root
        )
        @ other,
    }


def check_gradient(learner, problem, name, *, where=""):
    came = gradients_of(learner, problem)[name]
    say(slips(problem, name), came, start=f"{where}d{name}")
    if not agree(came, problem.right[name]):
        if not np.all(np.isfinite(came)):
            raise Mistake(f"{where}d{name} is not finite: where a score is -inf, use its exponential alone")
        raise Mistake(f"{where}d{name} is wrong")


@points(0.5)
@rests_on(RIGHT_SOFTMAX)
def test_gradient_of_v(learner, rng):
    """The gradient of the values is right, with as many keys as queries, and with more."""
    for sizes in (SIZES, {"t": 4, "s": 4, "d": 3, "e": 5}):
        check_gradient(learner, Problem(rng, **sizes), "v")
    problem = Problem(rng)
    problem.g[:, 0] *= TINY
    problem.solve()
    if not agree(gradients_of(learner, problem)["v"][:, 0] / TINY, problem.right["v"][:, 0] / TINY):
        raise Mistake(f"where a column of g is tiny, dv is wrong, {MEASURED}")


@points(0.75)
@rests_on(RIGHT_SOFTMAX)
def test_gradient_of_q(learner, rng):
    """The gradient of the queries is right, with as many keys as queries, and with more."""
    for sizes in (SIZES, {"t": 4, "s": 4, "d": 3, "e": 5}):
        check_gradient(learner, Problem(rng, **sizes), "q")
    problem = Problem(rng)
    problem.k[:, 0] *= TINY
    problem.solve()
    if not agree(gradients_of(learner, problem)["q"][:, 0] / TINY, problem.right["q"][:, 0] / TINY):
        raise Mistake(f"where a column of k is tiny, dq is wrong, {MEASURED}")


@points(0.75)
@rests_on(RIGHT_SOFTMAX)
def test_gradient_of_k(learner, rng):
    """The gradient of the keys is right, with as many keys as queries, and with more."""
    for sizes in (SIZES, {"t": 4, "s": 4, "d": 3, "e": 5}):
        check_gradient(learner, Problem(rng, **sizes), "k")
    problem = Problem(rng)
    problem.q[:, 0] *= TINY
    problem.solve()
    if not agree(gradients_of(learner, problem)["k"][:, 0] / TINY, problem.right["k"][:, 0] / TINY):
        raise Mistake(f"where a column of q is tiny, dk is wrong, {MEASURED}")


def backward_works(learner, rng):
    """Raise unless one of the gradients is right: this point is for a function that works."""
    problem = Problem(rng)
    came = gradients_of(learner, problem)
    if not any(agree(came[name], problem.right[name]) for name in "qkv"):
        raise Mistake("not one of the gradients of `attention_backward` is right: mend that first")
    return [name for name in "qkv" if agree(came[name], problem.right[name])]


@points(0.5)
@rests_on(RIGHT_SOFTMAX)
def test_gradients_of_heads(learner, rng):
    """Axes for batch and heads may stand in front."""
    good = backward_works(learner, rng)
    for lead in ((2, 3), (2,)):
        problem = Problem(rng, lead)
        args = problem.g, problem.q, problem.k, problem.v, problem.lse
        where = "with axes for " + ("batch and heads" if len(lead) > 1 else "the heads") + " in front"
        try:
            came = form(call(learner, "attention_backward", *args), problem, "attention_backward")
        except Mistake as mistake:
            raise mistake.reworded(f"{where}, {mistake}; transpose the last two axes alone") from None
        for name in good:
            if not agree(came[name], problem.right[name]):
                raise Mistake(f"{where}, d{name} is wrong, though it is right for one head")


@points(1)
@rests_on(RIGHT_SOFTMAX)
def test_from_the_log_sum_exp(learner, rng):
    """Probabilities are computed again, from the log-sum-exp that is given, also where scores are large."""
    good = backward_works(learner, rng)
    for name in good:
        problem = Problem(rng, scale=4000.0)
        problem.k[0] = np.abs(problem.k[0]) * np.sign(problem.q[0])
        problem.k[1] = 1.0001 * problem.k[0]  # the first query meets two large scores, close to each other
        problem.solve()
        came = gradients_of(learner, problem)[name]
        if not np.all(np.isfinite(came)):
            raise Mistake(
                f"with large scores d{name} is not finite: subtract lse from the scores before exp, not after"
            )
        if not np.allclose(came, problem.right[name], rtol=1e-6, atol=1e-6):
            raise Mistake(f"with large scores d{name} is wrong: is something cut off?")
    problem, shift = Problem(rng), rng.uniform(0.5, 1.0)
    usual = gradients_of(learner, problem)["v"]
    came = gradients_of(learner, problem, lse=problem.lse + shift)["v"]
    if agree(came, usual):
        raise Mistake(
            "with another lse, `attention_backward` returns the same dv: compute the probabilities from lse, which "
            "costs no maximum and no sum"
        )
    if not agree(came, usual * np.exp(-shift)):
        raise Mistake("with a larger lse every probability is smaller by one factor, and so is dv: here it is not")


# 4. Blocks.


def blocks_of(learner, problem, size):
    """Return what `backward_in_blocks` gives, and the peak of its memory."""
    args = problem.g, problem.q, problem.k, problem.v, problem.out, problem.lse, size
    t, s = problem.z.shape[-2:]
    sizes = {"t": t, "s": s, "d": problem.q.shape[-1], "e": problem.v.shape[-1], "size": size}
    by_hand(learner, "backward_in_blocks")
    if "attention_backward" in learner.source("backward_in_blocks"):
        by_hand(learner, "attention_backward")
    found = call(learner, "blocks_and_peak", *args, sizes=sizes)
    return form(found["gradients"], problem, "backward_in_blocks"), found["peak"]


def check_blocks(learner, problem, size):
    came, peak = blocks_of(learner, problem, size)
    s = problem.z.shape[-1]
    where = f"with {s} keys in blocks of {size}"
    for name in "vqk":
        if agree(came[name], problem.right[name]):
            continue
        say(block_slips(problem, size, name), came[name], start=f"{where}, d{name}")
        if (
            s > size
            and s % size
            and agree(came[name][..., : s - s % size, :], problem.right[name][..., : s - s % size, :])
            and name != "q"
        ):
            raise Mistake(f"{where}, d{name} is wrong in the last block alone, which is smaller")
        raise Mistake(f"{where}, d{name} is wrong")
    return peak


def block_slips(problem, size, name):
    """Return what mistakes make of one gradient, if the keys come in blocks, and how to name them."""
    dz, p, s = problem.dz, problem.p, problem.z.shape[-1]
    starts = range(0, s, size)
    own, unmoved = np.empty_like(dz), np.empty_like(p)
    for start in starts:
        block = slice(start, start + size)
        part, dp = p[..., block], problem.dp[..., block]
        own[..., block] = part * (dp - row_sums(part, dp)) / problem.root
        t, n = part.shape[-2:]
        seen = np.arange(n) <= np.arange(t)[:, None] + n - t
        z = problem.q @ swap(problem.k[..., block, :]) / problem.root
        unmoved[..., block] = np.exp(np.where(seen, z, -np.inf) - problem.lse[..., None])
    mask = "hides the wrong keys: is the mask that of this block? `scores` takes s - t - start"
    first, last = np.arange(s) < size, np.arange(s) >= starts[-1]
    alone = {
        "is that of the first block alone: go on to the others. Is `return` inside the loop?": first,
        "is that of the last block alone: each block fills its own keys": last,
    }
    if name == "v":
        known = {message: block[:, None] * problem.right["v"] for message, block in alone.items()}
        return known | {mask: swap(unmoved) @ problem.g}
    put = {"q": lambda dz: dz @ problem.k, "k": lambda dz: swap(dz) @ problem.q}[name]
    known = {
        mask: put(unmoved * (problem.dp - row_sums(p, problem.dp)) / problem.root),
        "is wrong: the row sum of the softmax's rule is taken over one block; it belongs to the whole row, and g and "
        "out have it": put(own),
        "takes p * dp for the gradient of the scores: the softmax's rule subtracts a row sum from dp": put(
            p * problem.dp / problem.root
        ),
        "is not divided by sqrt(d), as the scores are": problem.root * put(dz),
        "is divided by d, or by sqrt(d) twice: the scores are divided by it once": put(dz) / problem.root,
        "has the wrong sign": -put(dz),
    }
    if name == "q":
        known["is that of the last block: a query meets all blocks, so add them up"] = put(last * dz)
        known["is that of the first block: a query meets all blocks, so add them up"] = put(first * dz)
        return known
    return known | {message: put(block * dz) for message, block in alone.items()}


@points(0.5)
def test_gradients_from_blocks(learner, rng):
    """Blocks give the gradients of the whole, whatever their size and the axes in front."""
    by_hand(learner, "backward_in_blocks")  # with all that it calls, before any of it is replaced
    check_all_blocks(learner, rng=rng)


@rests_on(RIGHT_SOFTMAX + RIGHT_BACKWARD)
def check_all_blocks(learner, rng):
    for lead, sizes, size in (
        ((), {"t": 6, "s": 6, "d": 3, "e": 4}, 3),
        ((), {"t": 4, "s": 9, "d": 3, "e": 2}, 4),
        ((), SIZES, 1),
        ((), SIZES, 8),
        ((2, 3), {"t": 4, "s": 7, "d": 3, "e": 2}, 3),
    ):
        try:
            check_blocks(learner, Problem(rng, lead, **sizes), size)
        except Mistake as mistake:
            if lead:
                raise mistake.reworded(f"with axes for batch and heads in front, {mistake}") from None
            raise


@points(2)
def test_memory(learner, rng):
    """No array of t x s numbers is held at any time."""
    by_hand(learner, "backward_in_blocks")
    check_memory(learner, rng=rng)


@rests_on(RIGHT_SOFTMAX + RIGHT_BACKWARD)
def check_memory(learner, rng):
    small, t = Problem(rng), 512
    came, _ = blocks_of(learner, small, 2)
    if not all(agree(came[name], small.right[name]) for name in "qkv"):
        raise Mistake("`backward_in_blocks` is wrong for 5 keys in blocks of 2: these points are for one that works")
    problem = Problem(rng, t=t, s=t, d=4, e=3)
    came, peak = blocks_of(learner, problem, 16)
    if peak > 8 * t * t / 2:
        raise Mistake(
            "`backward_in_blocks` holds an array of t x s numbers at some time: compute the scores of one block of "
            "keys, use them, and let the next ones take their place"
        )
    if not all(agree(came[name], problem.right[name]) for name in "qkv"):
        raise Mistake("with 512 keys in blocks of 16, `backward_in_blocks` is wrong")


# All of them.


@points(0.5, part="attention_backward")
@rests_on(RIGHT_SOFTMAX)
def test_dtype_and_arguments(learner, rng):
    """Float32 in, float32 out, and arguments are left as they were."""
    p, g = probabilities(rng, 3, 5)
    one, seen = Problem(rng), 0
    for name, args in (
        ("softmax_backward", (p, g)),
        ("attention", (one.q, one.k, one.v)),
        ("attention_backward", (one.g, one.q, one.k, one.v, one.lse)),
        ("backward_in_blocks", (one.g, one.q, one.k, one.v, one.out, one.lse, 2)),
    ):
        narrow = tuple(x.astype(np.float32) if isinstance(x, np.ndarray) else x for x in args)
        done = None
        for given in (args, narrow):
            try:
                done = learner.run(name, *given)
            except Mistake as mistake:
                if str(mistake).endswith("is not written yet"):
                    raise
                continue  # what raises is another test's business
            if not all(map(np.array_equal, given, done.args)):
                raise Mistake(f"`{name}` changes an array that it was given: make a new one")
        value = done.value if done else None
        for x in value if isinstance(value, (tuple, list)) else [value]:
            seen += isinstance(x, (np.ndarray, list))
            if isinstance(x, (np.ndarray, np.generic)) and x.dtype != np.float32:
                change = "widens" if x.dtype.itemsize > 4 else "narrows"
                raise Mistake(f"with float32 inputs, something in `{name}` {change} them: it returns {x.dtype}")
    if seen < 4:
        raise Mistake("no dtype can be looked at: your functions return no arrays")
