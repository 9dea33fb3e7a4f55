"""Hidden tests of two_layer_gradients: each tells the learner which mistake it found, never a value."""

import itertools

import numpy as np

from course_grader import Mistake, expect, points, rests_on

NAMES = ("w1", "b1", "w2", "b2", "w3", "b3")
CACHED = {
    "z1": "x @ w1 + b1",
    "h1": "the ReLU of z1",
    "z2": "h1 @ w2 + b2",
    "h2": "the ReLU of z2",
    "logits": "h2 @ w3 + b3",
}


CELLS = ("forward", "slope", "loss_backward", "backward")
INSTEAD = {
    r"^course_lib\b": "the course's library has it ready; here you write it yourself",
    r"\.(backward|requires_grad_?)$|^torch\.(autograd|func)\b|^functorch\b|^(autograd|tinygrad|micrograd|tensorflow)\b"
    r"|^jax\.(\w*grad|vjp|jvp|jac\w+|hessian|linearize)\b": "that differentiates for you; here you do it by hand",
}
RIGHT_FORWARD = """
import numpy as np

def forward(x, y, params):
    h = {"x": x, "y": y, "params": params}
    h["z1"] = x @ params["w1"] + params["b1"]
    h["h1"] = np.maximum(h["z1"], 0)
    h["z2"] = h["h1"] @ params["w2"] + params["b2"]
    h["h2"] = np.maximum(h["z2"], 0)
    h["logits"] = h["h2"] @ params["w3"] + params["b3"]
    s = h["logits"] - h["logits"].max(axis=1, keepdims=True)
    return (np.log(np.exp(s).sum(axis=1)) - s[np.arange(len(y)), y]).mean(), h
"""
RIGHT_LOSS_BACKWARD = """
import numpy as np

def loss_backward(logits, y):
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = p / p.sum(axis=1, keepdims=True)
    p[np.arange(len(y)), y] -= 1
    return p / np.asarray(len(y), p.dtype)
"""
TINY = 1e-30


def make(rng, *, b=6, widths=(4, 5, 3, 7), dtype=np.float64):
    """Return inputs, labels and parameters of one network, drawn again until it can tell right from wrong.

    No input of a ReLU is so near 0 that a finite difference steps over the kink, and each unit is on for some
    examples and off for others; else a forgotten mask would make no difference, and the draw would decide the grade.
    No label is so improbable that a small number added to its probability changes the loss.
    """
    while True:
        params = {}
        for layer, (rows, columns) in enumerate(itertools.pairwise(widths), start=1):
            params[f"w{layer}"] = (rng.normal(size=(rows, columns)) * (2 / rows) ** 0.5).astype(dtype)
            params[f"b{layer}"] = (0.3 * rng.normal(size=columns)).astype(dtype)
        x, y = rng.normal(size=(b, widths[0])).astype(dtype), rng.integers(widths[-1], size=b)
        cache = run_forward(x, y, params)[1]
        if all(telling(cache[name]) for name in ("z1", "z2")) and losses(cache["logits"], y).max() < 7:
            return x, y, params


def telling(z):
    on = z > 0
    if len(z) == 1:
        return np.abs(z).min() > 1e-3 and on.any()
    return np.abs(z).min() > 1e-3 and np.all(on.any(axis=0) & ~on.all(axis=0))


def mean_loss(logits, y):
    return float(losses(logits, y).mean())


def losses(logits, y):
    shifted = logits - logits.max(axis=1, keepdims=True)
    return np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(y)), y]


def run_forward(x, y, params):
    """Return the loss and the cache the prompt asks for."""
    z1 = x @ params["w1"] + params["b1"]
    h1 = np.maximum(z1, 0)
    z2 = h1 @ params["w2"] + params["b2"]
    h2 = np.maximum(z2, 0)
    logits = h2 @ params["w3"] + params["b3"]
    cache = {"x": x, "y": y, "z1": z1, "h1": h1, "z2": z2, "h2": h2, "logits": logits, "params": params}
    return mean_loss(logits, y), cache


def measured(x, y, params, name, eps=1e-6):
    """Return the gradient of one parameter by central differences, in float64."""
    wide = {key: array.astype(np.float64) for key, array in params.items()}
    gradient = np.empty_like(wide[name])
    for index in np.ndindex(gradient.shape):
        value = wide[name][index]
        wide[name][index] = value + eps
        above = run_forward(x, y, wide)[0]
        wide[name][index] = value - eps
        below = run_forward(x, y, wide)[0]
        wide[name][index] = value
        gradient[index] = (above - below) / (2 * eps)
    return gradient


def agree(came, right, *, tolerance=1e-5):
    return bool(np.all(np.isfinite(came))) and np.abs(came - right).max() <= tolerance * max(1, np.abs(right).max())


def cache_for(learner, x, y, params):
    """Return the right cache, with whatever else the learner's own forward keeps in it for their backward."""
    try:
        own = learner.call("forward", x, y, params)[1]
    except (Mistake, TypeError, LookupError):
        own = {}
    return {**(own if isinstance(own, dict) else {}), **run_forward(x, y, params)[1]}


def loss_of(learner, x, y, params):
    return expect.array(run_theirs(learner, x, y, params)[0], name="the loss", shape=())


def run_theirs(learner, x, y, params):
    loss, cache = expect.pair(learner.call("forward", x, y, params), "the loss and the cache", name="forward")
    if isinstance(loss, dict) and not isinstance(cache, dict):
        raise Mistake("`forward` returns the cache first: the loss comes first, and then the cache")
    return loss, cache


def run_backward_of_theirs(learner, cache):
    """Call `backward`; where it raises because of `loss_backward`, say to mend that first."""
    # What `forward` keeps, `backward` may return.
    expect.by_hand(learner, ["backward", "forward"], among=CELLS, instead_of=INSTEAD)
    needed = {"loss_backward": lambda: slope_of_logits(learner, cache["logits"], cache["y"])}
    with expect.blame_dependency("backward", needed, maybe=True):
        return learner.call("backward", cache)


def slope_of_logits(learner, logits, y, *, shape=None):
    expect.by_hand(learner, ["loss_backward"], among=CELLS, instead_of=INSTEAD)
    came = learner.call("loss_backward", logits, y)
    parts = came if isinstance(came, (tuple, list)) else ()
    if len(parts) == 2 and any(isinstance(part, np.ndarray) and part.ndim == 2 for part in parts):
        raise Mistake("`loss_backward` returns two things: it must return the gradient of the logits alone")
    return expect.array(came, name="loss_backward(logits, y)", shape=shape)


def gradients(learner, x, y, params):
    grads = run_backward_of_theirs(learner, cache_for(learner, x, y, params))
    if not isinstance(grads, dict):
        raise Mistake(f"`backward` returned {expect.describe(grads)}; it must return a dict with the keys of params")
    for name in NAMES:
        if name not in grads:
            keys = ", ".join(str(key)[:10] for key in list(grads)[:6])
            raise Mistake(
                f"`backward` returned no gradient of {name}: the keys are those of params, not {keys or 'none'}"
            )
    return grads


def gradient(grads, name, right, batch):
    """Return one gradient as an array of its parameter's shape, or say what is wrong with the shape."""
    came = expect.array(grads[name], name=f"the gradient of {name}")
    must = right.shape
    if name.startswith("b") and came.shape == (1, *must) and batch > 1:
        done = "it is summed, but an axis" if agree(came[0], right) else "an axis"
        raise Mistake(f"the gradient of {name} has shape {came.shape}: {done} of length 1 is left: drop keepdims")
    if name.startswith("b") and came.ndim == 2 and came.shape[1:] == must:
        raise Mistake(f"the gradient of {name} has shape {came.shape}: sum it over the batch")
    if came.shape == must[::-1] != must:
        raise Mistake(f"the gradient of {name} is transposed: {came.shape}, where the parameter is {must}")
    if came.shape != must:
        raise Mistake(f"the gradient of {name} has shape {came.shape}; it must have the parameter's, {must}")
    return came


def check_forward_works(learner, rng):
    """Raise unless the loss follows its inputs: one that computes nothing survives anything, and earns nothing by it.

    What is wrong with it otherwise is the business of `test_forward`.
    """
    x, y, params = make(rng)
    loss = loss_of(learner, x, y, params)
    for name, other in (("x", (-x, y, params)), ("w3", (x, y, {**params, "w3": -params["w3"]}))):
        if loss == loss_of(learner, *other):
            raise Mistake(f"the loss is the same whatever {name} is: this point is for a `forward` that works")


def check_loss_backward_works(learner, rng):
    """Raise unless the gradient of the logits follows the logits, and the labels or a softmax besides."""
    logits, y = rng.normal(size=(6, 7)), rng.integers(7, size=6)

    def came(*args):
        return slope_of_logits(learner, *args, shape=logits.shape)

    first = came(logits, y)
    expect.depends_on_input(first, came(-logits, y), name="loss_backward")
    if np.array_equal(first, came(logits, (y + 1) % 7)) and not agree(came(logits + 1, y), first):
        raise Mistake("`loss_backward` has neither labels nor a softmax in it: this point is for one that works")


def check_backward_works(learner, rng):
    """Return the gradients of an ordinary batch beside the right ones; raise if not a single one is right.

    A factor is forgiven, and so is what `loss_backward` does wrong: both are the business of other tests.
    """
    x, y, params = make(rng)
    grads, cache = gradients(learner, x, y, params), run_forward(x, y, params)[1]
    right = run_backward(cache, of_logits(cache, y))
    for g in starts(learner, cache):
        if any(parallel(grads[name], array) for name, array in run_backward(cache, g).items()):
            return grads, right
    raise Mistake("not one gradient is right for six examples: this point is for a `backward` that works")


def starts(learner, cache):
    """Yield what `backward` may have begun with: the right gradient of the logits, a softmax, the learner's own."""
    y, right = cache["y"], of_logits(cache, cache["y"])
    yield right
    yield right + np.eye(right.shape[1])[y] / len(y)
    try:
        yield expect.array(learner.call("loss_backward", cache["logits"], y), name="it", shape=right.shape)
    except Mistake:
        return


def run_backward(cache, g):
    """Return the gradients of the parameters, given that of the logits."""
    params, grads = cache["params"], {}
    for layer, below in ((3, "h2"), (2, "h1"), (1, "x")):
        grads[f"w{layer}"], grads[f"b{layer}"] = cache[below].T @ g, g.sum(axis=0)
        if layer > 1:
            g = (g @ params[f"w{layer}"].T) * (cache[f"z{layer - 1}"] > 0)
    return grads


def parallel(came, right):
    """Tell whether one is the other but for a factor."""
    try:
        came = expect.array(came, name="it", shape=right.shape)
    except Mistake:
        return False
    if not (np.all(np.isfinite(came)) and np.all(np.isfinite(right)) and came.any() and right.any()):
        return False
    came, right = came / np.linalg.norm(came), right / np.linalg.norm(right)
    return min(np.abs(came - right).max(), np.abs(came + right).max()) < 1e-4


@points(1)
def test_forward(learner, rng):
    """The loss is the mean cross-entropy for other widths and batch sizes, and the cache holds what led to it."""
    wrong = []
    for b in (7, 1):  # with one example, a ReLU that stops nothing makes no difference
        x, y, params = make(rng, b=b)
        try:
            loss, theirs = run_theirs(learner, x, y, params)
        except Mistake as mistake:
            if mistake.function == "forward" and mistake.raised:
                sizes = f"for a batch of {b} and layers of widths 4, 5, 3 and 7"
                raise Mistake(f"{sizes}, {mistake}; does it use its own arguments alone, and the right axes?") from None
            raise
        came, (right, cache) = expect.array(loss, name="the loss", shape=()), run_forward(x, y, params)
        if agree(came, right):
            check_cache(theirs, cache)
            continue
        wrong.append(b)
        if b == 1:
            break  # what is wrong is easier to tell with several
        if agree(came, b * right):
            raise Mistake("the loss is the sum over the batch: it must be the mean")
        if agree(came, -right):
            raise Mistake("the loss has the wrong sign: it is above 0, and shrinks as the right logit grows")
        if agree(came, right / 7):
            raise Mistake("the loss is averaged over the classes as well: the mean is over the batch alone")
        if any(agree(came, loss) for loss in without_relu(x, y, params)):
            raise Mistake("the loss is that of a network in which a ReLU is missing")
        if any(agree(came, loss) for loss in without_bias(x, y, params)):
            raise Mistake("the loss is that of a network in which a bias is missing")
        if agree(came, mean_loss(np.maximum(cache["logits"], 0), y)):
            raise Mistake("the loss is that of a network with a ReLU after the last layer, too: logits may be negative")
        for message, values in mistaken_losses(cache["logits"], y).items():
            if any(agree(came, value) for value in values):
                raise Mistake(f"the loss is wrong: {message}")
        check_hidden_layers(theirs, cache)
    if wrong:
        batches = "batches of 1 and 7" if len(wrong) > 1 else f"a batch of {wrong[0]}"
        raise Mistake(f"the loss is wrong for {batches}, and layers of widths 4, 5, 3 and 7")


def mistaken_losses(logits, y):
    """Return what the commonest mistakes behind the logits give."""
    rows, top = np.arange(len(y)), logits.max(axis=1)
    entire, picked = np.log(np.exp(logits).sum(axis=1)), logits[rows, y]
    tops = [logits.max(axis=0)] + [top] * (len(top) == logits.shape[1])  # of each class; of each row, but laid across
    return {
        "the logit of the right class is not subtracted": [entire.mean(), (entire - top).mean()],
        "the maximum is subtracted from only one of its two parts": [(entire - top - picked).mean()],
        "each row gets every label: take one logit from each row": [(entire - logits[:, y].mean(axis=1)).mean()],
        "labels begin at 0, not at 1": [(entire - logits[rows, y - 1]).mean()],
        "the exponentials of all examples are added up: each example has a sum of its own": [
            np.log(np.exp(logits).sum()) - picked.mean(),
            (np.log(np.exp(logits - top[:, None]).sum()) - picked + top).mean(),
        ],
        "the maximum is not that of the row": [
            (np.log(np.exp(logits - t).sum(axis=1)) - (logits - t)[rows, y]).mean() for t in tops
        ],
    }


def check_hidden_layers(cache, right):
    """Say which array of the cache is the first to be wrong, where the loss is; a missing one is no news then."""
    for name, made in CACHED.items() if isinstance(cache, dict) else ():
        try:
            came = expect.array(cache.get(name), name=name, shape=right[name].shape)
        except Mistake:
            continue
        if not agree(came, right[name]):
            raise Mistake(f"the loss is wrong, and so is `{name}` in the cache, which is not {made}: begin there")


def check_cache(cache, right):
    """Say which array of the cache is missing, or is not what the text says."""
    if not isinstance(cache, dict):
        raise Mistake(f"the cache is {expect.describe(cache)}; it must be a dict")
    for name in (*CACHED, "x", "y", "params"):
        if name not in cache:
            raise Mistake(f"the cache has no `{name}`")
    for name, made in CACHED.items():
        came = expect.array(cache[name], name=name, shape=right[name].shape)
        if not agree(came, right[name]):
            raise Mistake(f"`{name}` in the cache is not {made}, or it was changed afterwards")
        must = right[name].dtype
        if (dtype := getattr(cache[name], "dtype", must)) != must:  # nested lists have none, and are as good
            raise Mistake(f"with {must} inputs `{name}` in the cache is {dtype}: keep the dtype of the inputs")


def agree_on_ordinary(learner, rng):
    """Tell whether the loss is right where no logit is large; what is wrong there is another test's business."""
    x, y, params = make(rng)
    return agree(loss_of(learner, x, y, params), run_forward(x, y, params)[0])


def without_relu(x, y, params):
    """Return the losses of the network without its first ReLU, without its second, and without both."""
    for first, second in ((False, True), (True, False), (False, False)):
        h = x @ params["w1"] + params["b1"]
        h = (np.maximum(h, 0) if first else h) @ params["w2"] + params["b2"]
        yield mean_loss((np.maximum(h, 0) if second else h) @ params["w3"] + params["b3"], y)


def without_bias(x, y, params):
    """Return the losses of the network without each of its biases, and without all."""
    for names in (("b1",), ("b2",), ("b3",), ("b1", "b2", "b3")):
        yield run_forward(x, y, {**params, **{name: np.zeros_like(params[name]) for name in names}})[0]


@points(1)
def test_large_logits(learner, rng):
    """The loss and its gradient survive logits of a thousand."""
    x, y, params = make(rng)
    y[0] = 1  # the logit far below all others
    params["b3"] = params["b3"] + np.array([1000.0, -1000, 500, 0, 0, -500, 800])
    loss = loss_of(learner, x, y, params)
    if not np.isfinite(loss):
        if np.isfinite(loss_of(learner, x, y, {**params, "b3": params["b3"] * 0 + 1000.0})):
            raise Mistake(
                "`forward` gives no finite loss where the right logit is far below the others: the log of 0 is taken"
            )
        raise Mistake(
            "`forward` gives no finite loss for large logits: exp overflows unless you subtract something first"
        )
    logits = run_forward(x, y, params)[1]["logits"]
    if not agree(loss, mean_loss(logits, y)) and agree_on_ordinary(learner, rng):
        raise Mistake(
            "`forward` gives a wrong loss for large logits: is something cut off, or added inside of the logarithm?"
        )
    top = run_forward(1e5 * x, y, params)[1]["logits"].max(axis=1).argmax()
    spread = x * np.where(np.arange(len(x)) == top, 1e5, 1.0)[:, None]  # logits of one row are far above the others'
    loss = loss_of(learner, spread, y, params)
    if not np.isfinite(loss):
        raise Mistake(
            "`forward` gives no finite loss where one row is far below another: subtract what belongs to the row"
        )
    slope = slope_of_logits(learner, logits, y)
    if not np.all(np.isfinite(slope)):
        if np.all(np.isfinite(slope_of_logits(learner, np.full_like(logits, 1000.0), y))):
            raise Mistake("`loss_backward` is not finite for large logits, though exp is: what is divided by 0 here?")
        raise Mistake(
            "`loss_backward` is not finite for large logits: exp overflows unless you subtract something first"
        )
    apart = logits + 1000.0 * (-1) ** np.arange(len(y))[:, None]
    slope = slope_of_logits(learner, apart, y)
    if not np.all(np.isfinite(slope)):
        raise Mistake(
            "`loss_backward` is not finite where one row is far below another: subtract what belongs to the row"
        )
    if np.abs(slope).max() > max(logits.shape):
        raise Mistake("`loss_backward` grows with the logits: a softmax never does")
    check_forward_works(learner, rng)
    check_loss_backward_works(learner, rng)


@points(1)
@rests_on(RIGHT_FORWARD)
def test_slope(learner, rng):
    """The slope is measured by a central difference, and leaves everything as it was."""
    places = (("b3", (1,)), ("w3", (0, 2)), ("w3", (3, 0)))
    follows = [check_slope(learner, *make(rng, widths=(3, 4, 5, 3)), *place) for place in places]
    if not any(follows):
        raise Mistake("the loss of `forward` is the same whatever w3 and b3 are, so `slope` has nothing to measure")


def check_slope(learner, x, y, params, name, index, eps=0.5):
    """Say what is wrong with one slope; return whether the learner's own loss has any there."""
    params[name][index] = 1e-9  # so small that a step forth and back rounds
    try:
        with expect.blame_dependency("slope", {"forward": lambda: loss_of(learner, x, y, params)}):
            call = learner.run("slope", x, y, params, name, index, eps)
    except Mistake as mistake:
        if "'tuple' and 'tuple'" in str(mistake):
            raise Mistake("`slope` treats all that `forward` returns as the loss: it returns two things") from None
        raise

    def loss(step):
        moved = {**params, name: params[name].copy()}
        moved[name][index] += step
        return float(loss_of(learner, x, y, moved))

    came, right = expect.array(call.value, name="slope(...)", shape=()), (loss(eps) - loss(-eps)) / (2 * eps)
    if list(differences(params, call.args[2])):
        if right and (came == 0 or agree(came, (loss(eps) - loss(0)) / (2 * eps))):
            raise Mistake(
                "`slope` moves an array that two dicts share: a copied dict has the same arrays, so copy those"
            )
        raise Mistake("`slope` left params changed: put the exact old value back, or work on a copy")
    if agree(came, right):
        return right != 0
    if came == 0:
        raise Mistake("`slope` is 0: both of its losses come from the same numbers; are there really two arrays?")
    if agree(came, -right):
        raise Mistake("`slope` has the wrong sign: from the loss above, subtract the one below")
    if agree(came, (loss(eps) - loss(0)) / eps) or agree(came, (loss(0) - loss(-eps)) / eps):
        raise Mistake("`slope` is a one-sided difference: step to both sides")
    if agree(came, right * eps**2):
        raise Mistake("`slope` multiplies by eps where it must divide: mind the brackets around 2 eps")
    if agree(came, 2 * right):
        raise Mistake("`slope` is twice what it must be: the two points lie 2 eps apart")
    if agree(came, (loss(eps / 2) - loss(-eps / 2)) / eps):
        raise Mistake("`slope` steps by half of eps to each side: step by eps")
    if agree(came, (loss(1e-5) - loss(-1e-5)) / 2e-5):
        raise Mistake("`slope` has an eps of its own, or takes no difference at all: use the eps it was given")
    raise Mistake("`slope` is not the central difference of the loss with the eps it was given")


@points(1)
def test_loss_backward(learner, rng):
    """The gradient of the logits is right for another number of classes."""
    b, k = 4, 6
    logits, y = rng.normal(size=(b, k)), rng.integers(k, size=b)
    came = slope_of_logits(learner, logits, y, shape=(b, k))
    softmax = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    right = (softmax - np.eye(k)[y]) / b
    if agree(came, b * right):
        raise Mistake("`loss_backward` is the gradient of the summed loss: the loss is the mean over the batch")
    if agree(came, k * right / b) or agree(came, right * b / k):
        raise Mistake("`loss_backward` divides by the wrong number: the mean is over the batch, not the classes")
    if agree(came, softmax / b) or agree(came, softmax):
        raise Mistake("`loss_backward` is the softmax alone: something happens at the right class as well")
    if agree(came, -right):
        raise Mistake("`loss_backward` has the wrong sign")
    if not agree(came.sum(axis=1), np.zeros(b)):
        raise Mistake("the rows of `loss_backward` do not sum to 0: each is one softmax, less 1 in one place")
    if not agree(came, right):
        raise Mistake("`loss_backward` is wrong for four examples and six classes")
    alone = expect.array(learner.call("loss_backward", logits[:1], y[:1]), name="loss_backward(logits, y)")
    if alone.shape != (1, k):
        raise Mistake(f"with a batch of one, `loss_backward` returns the shape {alone.shape}; it must be {(1, k)}")
    if not agree(alone, b * right[:1]):
        raise Mistake("with a batch of one, `loss_backward` is wrong, though right for four examples")


@points(1)
@rests_on(RIGHT_LOSS_BACKWARD)
def test_output_layer(learner, rng):
    """The gradients of w3 and b3 agree with finite differences."""
    x, y, params = make(rng)
    grads = gradients(learner, x, y, params)
    for name in ("w3", "b3"):
        check_gradient(learner, grads, x, y, params, name)
    params["w2"][:, 0], params["b2"][0] = TINY * np.abs(params["w2"][:, 0]), TINY
    check_derived(learner, x, y, params, "w3")


@points(2)
@rests_on(RIGHT_LOSS_BACKWARD)
def test_hidden_layers(learner, rng):
    """The gradients of both hidden layers agree with finite differences, for widths that all differ."""
    x, y, params = make(rng, b=6, widths=(4, 5, 3, 7))
    grads = gradients(learner, x, y, params)
    for name in ("w2", "b2", "w1", "b1"):
        check_gradient(learner, grads, x, y, params, name)
    x[:, 0] *= TINY
    check_derived(learner, x, y, params, "w1")


def check_derived(learner, x, y, params, name):
    """Look at a row of a gradient that is too small to be measured, though derived it has all its digits."""
    came = expect.array(
        gradients(learner, x, y, params)[name], name=f"the gradient of {name}", shape=params[name].shape
    )
    cache = run_forward(x, y, params)[1]
    right = run_backward(cache, of_logits(cache, y))[name]
    if not agree(came[0] / TINY, right[0] / TINY):
        raise Mistake(
            f"where what is multiplied by w{name[1]} is tiny, the gradient of {name} is wrong, as it is when slopes "
            "are measured: in a difference of losses it is lost. `backward` must derive it from the cache"
        )


def check_gradient(learner, grads, x, y, params, name):
    right = measured(x, y, params, name)
    came = gradient(grads, name, right, len(y))
    for factor in (len(y), 1 / len(y)):
        if agree(came, factor * right):
            size = "too large" if factor > 1 else "too small"
            raise Mistake(f"the gradient of {name} is {len(y)} times {size} for {len(y)} examples: divide by b once")
    if agree(came, -right):
        raise Mistake(f"the gradient of {name} has the wrong sign")
    if not agree(came, right) and name[1] in "12" and agree(came, unmasked(x, y, params, name)):
        raise Mistake(f"the gradient of {name} ignores a ReLU: let it through only where its input was above 0")
    if not agree(came, right) and name in ("w2", "w3") and agree(came, of_pre_activations(x, y, params, name)):
        raise Mistake(f"the gradient of {name} multiplies by a z of the cache: take what went into that product")
    if not agree(came, right) and name[1] in "12" and agree(came, unmasked(x, y, params, name, by_result=True)):
        raise Mistake(f"the gradient of {name} is multiplied by a ReLU's result: a ReLU's slope is 0 or 1")
    if not agree(came, right):
        if follows(learner, came, x, y, params, name):
            raise Mistake(f"the gradient of {name} follows from what `loss_backward` gives, which is wrong: mend that")
        raise Mistake(f"the gradient of {name} disagrees with finite differences")


def follows(learner, came, x, y, params, name):
    """Tell whether a gradient is what the learner's own gradient of the logits leads to."""
    cache = run_forward(x, y, params)[1]
    return any(agree(came, run_backward(cache, g)[name]) for g in list(starts(learner, cache))[2:])


def of_logits(cache, y):
    """Return the gradient of the logits."""
    logits = cache["logits"] - cache["logits"].max(axis=1, keepdims=True)
    return (np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True) - np.eye(logits.shape[1])[y]) / len(y)


def of_pre_activations(x, y, params, name):
    """Return the gradient of w2 or w3 as it is when z is taken for h."""
    cache = run_forward(x, y, params)[1]
    g = of_logits(cache, y)
    return cache["z2"].T @ g if name == "w3" else cache["z1"].T @ ((g @ params["w3"].T) * (cache["z2"] > 0))


def unmasked(x, y, params, name, *, by_result=False):
    """Return the gradient as it is when no ReLU stops anything, or the last one multiplies by its result."""
    cache = run_forward(x, y, params)[1]
    g = of_logits(cache, y) @ params["w3"].T
    if by_result and name[1] == "2":
        g = g * cache["h2"]
    if name[1] == "2":
        return cache["h1"].T @ g if name == "w2" else g.sum(axis=0)
    g = (g * (cache["h2"] if by_result else cache["z2"] > 0)) @ params["w2"].T
    g = g * cache["h1"] if by_result else g
    return x.T @ g if name == "w1" else g.sum(axis=0)


@points(1)
@rests_on(RIGHT_LOSS_BACKWARD)
def test_batch_of_one(learner, rng):
    """A batch with a single example works."""
    x, y, params = make(rng, b=1)
    try:
        grads = gradients(learner, x, y, params)
    except Mistake as mistake:
        anyway = str(mistake).endswith("is not written yet") or "` uses `" in str(mistake)
        where = "" if anyway else "with a batch of one, "
        raise Mistake(f"{where}{mistake}") from None
    several, rights = check_backward_works(learner, rng)
    cache = run_forward(x, y, params)[1]
    right = run_backward(cache, of_logits(cache, y))
    for name in NAMES:
        came = expect.array(grads[name], name=f"the gradient of {name}")
        if np.shape(several[name]) != params[name].shape:
            continue  # what is wrong for any batch is another test's business
        if came.shape != params[name].shape:
            must = params[name].shape
            raise Mistake(f"with a batch of one, the gradient of {name} has shape {came.shape}; it must have {must}")
        if agree(np.asarray(several[name]), rights[name]) and not agree(came, right[name]):
            raise Mistake(f"with a batch of one, the gradient of {name} is wrong, though right for six examples")


@points(1)
@rests_on(RIGHT_LOSS_BACKWARD)
def test_relu_at_zero(learner, rng):
    """The ReLU's slope at exactly zero is zero."""
    x, y, params = make(rng)
    x[:] = np.abs(x)
    params["w1"][:, 0], params["b1"][0] = 0, 0
    params["w2"][:, 1], params["b2"][1] = 0, 0
    grads = gradients(learner, x, y, params)
    for layer, unit in ((1, 0), (2, 1)):
        name = f"w{layer}"
        came = expect.array(grads[name], name=f"the gradient of {name}")
        if came.shape == params[name].T.shape:
            came = came.T  # that it is transposed is another test's business
        if came.shape != params[name].shape:
            must = params[name].shape
            raise Mistake(f"the gradient of {name} has shape {came.shape}; it must have the parameter's, {must}")
        if np.any(came[:, unit] != 0):
            raise Mistake(f"where z{layer} is exactly 0 the gradient of {name} is not 0: the ReLU's slope there is 0")
    ordinary, _ = check_backward_works(learner, rng)
    for name in ("w1", "w2"):
        if not np.any(expect.array(ordinary[name], name=f"the gradient of {name}")):
            raise Mistake(f"the gradient of {name} is 0 everywhere: this point is for one that is 0 where it must be")


@points(0.5, part="backward")
def test_float32(learner, rng):
    """Float32 in, float32 out."""
    x, y, params = make(rng, dtype=np.float32)
    grads = gradients(learner, x, y, params)
    for name in NAMES:
        dtype = getattr(grads[name], "dtype", np.dtype(np.float32))  # nested lists have none, and are as good
        if dtype != np.float32:
            done = "widens" if np.dtype(dtype).itemsize > 4 else "narrows"
            where = "loss_backward" if changes_dtype(learner, x, y, params) else "backward"
            raise Mistake(f"with float32 inputs the gradient of {name} is {dtype}: something in `{where}` {done} it")
    check_backward_works(learner, rng)


def changes_dtype(learner, x, y, params):
    """Tell whether `loss_backward` returns another dtype than that of the logits."""
    logits = run_forward(x, y, params)[1]["logits"]
    try:
        return getattr(learner.call("loss_backward", logits, y), "dtype", logits.dtype) != logits.dtype
    except Mistake:
        return False


@points(0.5)
def test_arguments_are_left_alone(learner, rng):
    """No function changes what it is given."""
    calls = {"forward": [], "loss_backward": [], "backward": []}
    for x, y, params in (make(rng), make(rng)):
        cache = cache_for(learner, x, y, params)
        calls["forward"].append((x, y, params))
        calls["loss_backward"].append((cache["logits"], y))
        calls["backward"].append((cache,))
    for name, both in calls.items():
        done = [learner.run(name, *args) for args in both]
        for args, call in zip(both, done, strict=True):
            changed = [leaf for given, left in zip(args, call.args, strict=True) for leaf in differences(given, left)]
            if changed:
                what = f"`{changed[0]}`" if changed[0] else "its argument"
                raise Mistake(f"`{name}` changed {what}, which it was given: work on a copy")
        expect.depends_on_input(*(call.value for call in done), name=name)
    check_forward_works(learner, rng)
    check_loss_backward_works(learner, rng)
    check_backward_works(learner, rng)


def differences(given, left, name=""):
    """Yield the names under which two trees of arrays differ."""
    if isinstance(given, dict):
        for key, value in given.items():
            yield from differences(value, left.get(key) if isinstance(left, dict) else None, key)
    elif isinstance(given, np.ndarray) and not (isinstance(left, np.ndarray) and np.array_equal(given, left)):
        yield name
