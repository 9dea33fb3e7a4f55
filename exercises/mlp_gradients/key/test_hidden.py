"""Hidden tests of mlp_gradients: each tells the learner which mistake it found, never a value."""

import itertools

import numpy as np
import pytest

from course_grader import Mistake, expect, points, rests_on

CELLS = ("forward", "backward", "tied_gradients")
LIBRARY = {r"^course_lib\b": "the course's library has it ready; here you write it yourself"}
DIFFERENTIATES = {
    r"\.(backward|requires_grad_?)$|^torch\.(autograd|func)\b|^functorch\b|^(autograd|tinygrad|micrograd|tensorflow)\b"
    r"|^jax\.(\w*grad|vjp|jvp|jac\w+|hessian|linearize)\b": "that differentiates for you; here you do it by hand",
}
INSTEAD = LIBRARY | DIFFERENTIATES
KEPT = {r"^course_lib\b(?!\.mlp\.mlp_activations$)": LIBRARY[r"^course_lib\b"]} | DIFFERENTIATES
WIDTHS = (5, 4, 6, 3, 2)
RIGHT = """
import numpy as np

def forward(x, weights):
    stack = [x]
    for w in weights[:-1]:
        stack.append(np.maximum(stack[-1] @ w, 0))
    return stack[-1] @ weights[-1], stack

def backward(out, stack, weights):
    g, gradients = out, []
    for w in reversed(weights):
        h = stack.pop()
        gradients.insert(0, h.T @ g)
        g = (g @ w.T) * (h > 0) if stack else g @ w.T
    return gradients, g
"""
TINY = 1e-30
MEASURED = (
    "where {} is tiny, {} is wrong, as it is when slopes are measured: in a difference of losses it is lost. Derive it"
)


# Networks, and what is right for them.


def make(rng, *, b=7, widths=WIDTHS, uses=None, features=None, dtype=np.float64):
    """Return inputs and weights, drawn again until they can tell right from wrong.

    Each row keeps a ReLU open in each layer, and each layer a ReLU closed in some row; else a forgotten mask would make
    no difference, or no gradient would arrive, and the draw would decide the grade.
    """
    while True:
        x = rng.normal(size=(b, features or widths[0])).astype(dtype)
        shapes = list(itertools.pairwise(widths))
        weights = [(rng.normal(size=shape) * (2 / shape[0]) ** 0.5).astype(dtype) for shape in shapes]
        if telling(x, weights if uses is None else [weights[k] for k in uses]):
            return x, weights


def telling(x, weights):
    out, stack = run_forward(x, weights)
    on = [h > 0 for h in stack[1:]]
    both_signs = x.min() < 0 < x.max() and out.min() < 0 < out.max()
    return both_signs and all(o.any(axis=1).all() and (o.shape[1] == 1 or not o.all()) for o in on)


def run_forward(x, weights):
    """Return the output and the stack that the prompt asks for."""
    stack = [x]
    for w in weights[:-1]:
        stack.append(np.maximum(stack[-1] @ w, 0))
    return stack[-1] @ weights[-1], stack


def run_backward(g, stack, weights, *, mask=lambda g, h: h > 0, of_x=False):
    """Return the gradients that come of a cotangent of the output, with another mask if one is asked for."""
    gradients = []
    for i in reversed(range(len(weights))):
        gradients.insert(0, stack[i].T @ g)
        g = g @ weights[i].T
        if i or of_x:
            g = g * mask(g, stack[i])
    return gradients, g


def agree(came, right, *, tolerance=1e-5):
    came, right = np.asarray(came), np.asarray(right)
    if came.shape != right.shape or not np.all(np.isfinite(came)):
        return False
    return bool(np.abs(came - right).max() <= tolerance * np.abs(right).max())


def parallel(came, right):
    """Tell whether one is the other but for a factor."""
    came, right = np.asarray(came), np.asarray(right)
    if came.shape != right.shape or not (np.all(np.isfinite(came)) and came.any() and right.any()):
        return False
    came, right = came / np.linalg.norm(came), right / np.linalg.norm(right)
    return min(np.abs(came - right).max(), np.abs(came + right).max()) < 1e-4


def mistaken(out, stack, weights):
    """Yield what the commonest mistakes give: a message, and the gradients of the weights and of x."""
    b = len(out)
    right, of_x = run_backward(out, stack, weights)
    for factor, why in (
        (-1, "has the wrong sign"),
        (2, "is twice what it must be: the slope of half a square is the number itself"),
        (0.5, "is half of what it must be: the slope of half a square is the number itself"),
        (1 / b, "is divided by the size of the batch: the loss is a sum"),
        (1 / out.size, "is divided by the number of outputs: the loss is a sum"),
    ):
        yield why, ([factor * g for g in right], factor * of_x)
    for start, why in {
        "ones": "is that of the sum of the outputs: begin with the slope of the loss, which is half a sum of squares",
        "closed": "is stopped where `out` is negative: there is no ReLU after the last layer",
    }.items():
        yield why, run_backward(np.ones_like(out) if start == "ones" else out * (out > 0), stack, weights)
    yield (
        "ignores the ReLUs: a gradient goes on only where H is above 0 (`H >= 0` holds everywhere)",
        run_backward(out, stack, weights, mask=lambda g, h: h >= 0),
    )
    yield (
        "is multiplied by the result of a ReLU: its slope is 0 or 1",
        run_backward(out, stack, weights, mask=lambda g, h: h),
    )
    yield (
        "is stopped where it is itself negative: a ReLU's slope goes by its input",
        run_backward(out, stack, weights, mask=lambda g, h: g > 0),
    )


# The learner's functions.


def run_forward_of_theirs(learner, x, weights):
    """Call `forward`; return its output and stack as arrays, or say what is wrong with their form."""
    expect.by_hand(learner, ["forward"], among=CELLS, instead_of=LIBRARY)
    out, stack = expect.pair(learner.call("forward", x, weights), "out and the stack", name="forward")
    if isinstance(out, (list, tuple)) and isinstance(stack, np.ndarray) and stack.ndim == 2:
        raise Mistake("`forward` returns the stack first: `out` comes first, and then the stack")
    out = expect.array(out, name="out")
    if out.ndim == 0:
        raise Mistake("`forward` returns one number: return `out` itself, not the loss")
    return out, stack


def check_backward_by_hand(learner):
    """Look at both cells: what `forward` keeps, `backward` may return."""
    expect.by_hand(learner, ["backward"], among=CELLS, instead_of=INSTEAD)
    expect.by_hand(learner, ["backward", "forward"], among=CELLS, instead_of=KEPT)


def form(value, weights):
    """Return gradients as a list of arrays, and that of x, or say what is wrong with their form."""
    gradients, g_x = expect.pair(value, "the list of gradients and the gradient of x", name="backward")
    if isinstance(g_x, (list, tuple)) and isinstance(gradients, np.ndarray) and gradients.ndim == 2:
        raise Mistake("`backward` returns the gradient of x first: the list comes first, and then the gradient of x")
    if isinstance(gradients, np.ndarray) and gradients.ndim == 3:
        gradients = list(gradients)
    if not isinstance(gradients, (list, tuple)):
        what = expect.describe(gradients)
        raise Mistake(f"the gradients of the weights that `backward` returns are {what}; they must be a list")
    if len(gradients) != len(weights):
        came, must = len(gradients), len(weights)
        raise Mistake(f"`backward` returns {came} gradients of weights where there are {must} weights: one for each")
    arrays = [expect.array(g, name=f"the gradient of weights[{i}]") for i, g in enumerate(gradients)]
    return arrays, expect.array(g_x, name="the gradient of x")


def backward_of(learner, x, weights):
    """Return the gradients that `backward` gives, on the right output and stack."""
    check_backward_by_hand(learner)
    out, stack = run_forward(x, weights)
    return form(learner.call("backward", out, stack, weights), weights)


def ordinary(learner, rng):
    """Return what `backward` gives for an ordinary batch, put right, and what puts it right.

    Raise if not a single gradient is right. A factor is forgiven, and so are a list turned round and arrays transposed:
    they cost their points in one place. A test that looks for what a function must not do needs this, too: one that
    does nothing would pass it.
    """
    x, weights = make(rng)
    (gradients, g_x), (out, stack) = backward_of(learner, x, weights), run_forward(x, weights)
    mend = mending(gradients, weights)
    check_derived(learner, x, weights)
    for start in (out, np.ones_like(out), out * (out > 0)):
        right, _ = run_backward(start, stack, weights)
        if any(parallel(g, must) for g, must in zip(mend(gradients), right, strict=True)):
            return (out, stack, weights), (mend(gradients), g_x), mend
    raise Mistake("not one gradient is right for seven rows and four weights: this point is for one that works")


def check_derived(learner, x, weights):
    """Look at gradients that are too small to be measured, though derived they have all their digits."""
    for first, name in ((True, "weights[0]"), (False, "x")):
        scale = np.where(np.arange(x.shape[1]) == 0, TINY, 1.0)
        tiny = (x * scale, weights) if first else (x, [weights[0] * scale[:, None], *weights[1:]])
        usual, came = ([g[0], of_x.T] for g, of_x in (backward_of(learner, *case) for case in ((x, weights), tiny)))
        right = [[g[0], of_x.T] for g, of_x in (run_backward(*run_forward(*c), c[1]) for c in ((x, weights), tiny))]
        at = 0 if first else 1
        if agree(usual[at], right[0][at]) and not agree(came[at][0] / TINY, right[1][at][0] / TINY):
            what = "a feature" if first else "what multiplies a feature"
            raise Mistake("`backward`: " + MEASURED.format(what, f"the gradient of {name}"))


def still_right(learner, rng, x, weights, where):
    """Hold that what is right for an ordinary batch is right here; what is wrong there is another test's business."""
    args, (gradients, g_x), mend = ordinary(learner, rng)
    try:
        came, of_x = backward_of(learner, x, weights)
    except Mistake as mistake:
        raise Mistake(f"{where}, {mistake}") from None
    came = mend(came)
    there, here = outcomes(*args), outcomes(*run_forward(x, weights), weights)
    known = [rights for (others, _), (rights, _) in zip(there, here, strict=True) if all_agree(gradients, others)]
    if not known and agree(gradients[-1], there[0][0][-1]):
        known = [[*came[:-1], here[0][0][-1]]]  # the last one is right there, and must be here
    if known and not any(all_agree(came, rights) for rights in known):
        i = max(i for i, (g, must) in enumerate(zip(came, known[0], strict=True)) if not agree(g, must))
        shaped(came[i], weights[i], f"weights[{i}]", where=f"{where}, ")
        raise Mistake(f"{where}, the gradient of weights[{i}] is wrong, though `backward` is right elsewhere")
    known = [right for (_, other), (_, right) in zip(there, here, strict=True) if agree(g_x, other)]
    if known and not any(agree(of_x, right) for right in known):
        shaped(of_x, x, "x", where=f"{where}, ")
        raise Mistake(f"{where}, the gradient of x is wrong, though `backward` is right elsewhere")


def outcomes(out, stack, weights):
    """Return what is right, and then what each known mistake gives."""
    right = run_backward(out, stack, weights)
    return [right, *(found for _, found in mistaken(out, stack, weights)), (right[0], right[1] * (stack[0] > 0))]


def all_agree(gradients, others):
    return all(agree(g, other) for g, other in zip(gradients, others, strict=True))


def is_turned(gradients, weights):
    shapes, must = [g.shape for g in gradients], [w.shape for w in weights]
    return shapes != must and shapes[::-1] == must


def mending(gradients, weights):
    """Return what brings gradients to the shapes of the weights: turning their list round, or transposing each."""
    if is_turned(gradients, weights):
        return lambda some: some[::-1]
    if [g.T.shape for g in gradients] == [w.shape for w in weights]:
        return lambda some: [g.T for g in some]
    return lambda some: some


def shaped(g, array, name, *, where=""):
    """Return a gradient that has the shape of its array, or say what is wrong with the shape."""
    if g.shape == array.T.shape != array.shape:
        raise Mistake(f"{where}the gradient of {name} is transposed: {g.shape}, where {name} is {array.shape}")
    if g.shape != array.shape:
        raise Mistake(f"{where}the gradient of {name} has shape {g.shape}; it must have that of {name}, {array.shape}")
    return g


# Forward.


@points(1)
def test_output(learner, rng):
    """The output is right for other depths, widths and batches."""
    for b, widths in ((7, WIDTHS), (4, (3, 6, 2)), (1, (4, 5, 3)), (6, (3, 5))):
        x, weights = make(rng, b=b, widths=widths)
        sizes = f"for {b} row{'s' * (b > 1)} and {len(weights)} weight{'s' * (len(weights) > 1)}"
        try:
            came, _ = run_forward_of_theirs(learner, x, weights)
        except Mistake as mistake:
            if mistake.function == "forward" and mistake.raised:
                raise Mistake(f"{sizes}, {mistake}; does it use its own arguments alone?") from None
            raise
        right, _ = run_forward(x, weights)
        if came.shape != right.shape:
            raise Mistake(f"{sizes}, `out` has shape {came.shape}; it must have shape {right.shape}")
        if agree(came, right):
            continue
        if agree(came, np.maximum(right, 0)):
            raise Mistake(f"{sizes}, `out` is never negative: there is no ReLU after the last layer")
        if agree(came, run_forward(np.maximum(x, 0), weights)[0]):
            raise Mistake(f"{sizes}, a ReLU comes in front of the first layer: `x` goes in as it is")
        if len(weights) > 1 and agree(came, np.linalg.multi_dot([x, *weights])):
            raise Mistake(f"{sizes}, `out` is the product of all: there is a ReLU between two layers")
        raise Mistake(f"{sizes}, `out` is wrong: multiply by each weight in turn, with a ReLU between two of them")


@points(1)
def test_stack(learner, rng):
    """The stack holds what goes into each product, in order, and nothing else."""
    for widths in (WIDTHS, (3, 6, 2), (6, 4)):
        x, weights = make(rng, b=5, widths=widths)
        out, stack = run_forward_of_theirs(learner, x, weights)
        if not isinstance(stack, (list, tuple, np.ndarray)):
            raise Mistake(f"the stack is {expect.describe(stack)}; it must be a list")
        came = [expect.array(h, name=f"stack[{i}]") for i, h in enumerate(stack)]
        _, right = run_forward(x, weights)
        if len(came) == len(right) + 1 and agree(came[-1], out):
            raise Mistake("the stack holds `out` as well: you return that anyway, so leave it off the stack")
        if len(came) == len(right) - 1 and (not came or not agree(came[0], x)):
            raise Mistake("`x` is not on the stack: the gradient of the first weight needs it")
        if len(came) != len(right):
            raise Mistake(f"the stack holds {len(came)} arrays for {len(right)} weights: one for each of them")
        if len(right) > 1 and agree(came[-1], x):
            raise Mistake("the stack is upside down: it begins with `x`, and what is needed first comes last")
        if not agree(came[0], x):
            raise Mistake("the first array on the stack is not `x`, as it was given")
        for i, (h, must) in enumerate(zip(came, right, strict=True)):
            if i and agree(h, right[i - 1] @ weights[i - 1]):
                raise Mistake("the stack holds sums from before a ReLU: keep what comes out of it")
            if i and (h.dtype == bool or agree(h, must > 0)):
                raise Mistake("the stack holds masks: the gradient of a weight needs the numbers, which give the mask")
            if not agree(h, must):
                raise Mistake(f"for {len(right)} weights, `stack[{i}]` is not what is multiplied by `weights[{i}]`")


# Backward.


@points(1.5)
def test_gradients_of_the_weights(learner, rng):
    """The gradients of four weights are right, for sizes that all differ."""
    x, weights = make(rng)
    try:
        gradients, _ = backward_of(learner, x, weights)
    except Mistake as mistake:
        if mistake.function == "backward" and mistake.raised:
            raise Mistake(f"for four weights of different shapes, {mistake}") from None
        raise
    out, stack = run_forward(x, weights)
    if is_turned(gradients, weights):
        raise Mistake("the list begins with the gradient of the last weight: it must have the order of `weights`")
    came = [shaped(g, w, f"weights[{i}]") for i, (g, w) in enumerate(zip(gradients, weights, strict=True))]
    right, _ = run_backward(out, stack, weights)
    wrong = [i for i, (g, must) in enumerate(zip(came, right, strict=True)) if not agree(g, must)]
    if not wrong:
        check_derived(learner, x, weights)
        return
    for why, (others, _) in mistaken(out, stack, weights):
        if all(agree(g, other) for g, other in zip(came, others, strict=True)):
            raise Mistake(f"the gradient of weights[{wrong[-1]}] {why}")
    after = "" if wrong[-1] == len(weights) - 1 else ", while those after it are right"
    raise Mistake(f"the gradient of weights[{wrong[-1]}] is wrong{after}")


@points(1)
def test_gradient_of_x(learner, rng):
    """The gradient of x is right."""
    x, weights = make(rng)
    (_, came), (out, stack) = backward_of(learner, x, weights), run_forward(x, weights)
    shaped(came, x, "x")
    _, right = run_backward(out, stack, weights)
    if agree(came, right):
        check_derived(learner, x, weights)
        return
    if agree(came, right * (x > 0)):
        raise Mistake("the gradient of x is stopped where x is negative: no ReLU stands in front of the first layer")
    for why, (_, other) in mistaken(out, stack, weights):
        if agree(came, other):
            raise Mistake(f"the gradient of x {why}")
    raise Mistake("the gradient of x is wrong")


@points(0.5)
@pytest.mark.parametrize("depth", [1, 9])
def test_depth(learner, rng, depth):
    """The gradients are right in a network of depth {depth}."""
    x, weights = make(rng, widths=(5, 3) if depth == 1 else (5, 8, 9, 7, 8, 10, 9, 8, 7, 3))
    still_right(learner, rng, x, weights, "with a single weight" if depth == 1 else "with nine weights")


@points(0.5)
def test_equal_widths(learner, rng):
    """The gradients are right where batch and widths are all equal, so that a wrong product has the right shape."""
    x, weights = make(rng, b=4, widths=(4, 4, 4, 4))
    still_right(learner, rng, x, weights, "where the batch and all widths are equal")


@points(0.5)
def test_batch_and_width_of_one(learner, rng):
    """A batch of one row works, and so does a layer of width one."""
    x, weights = make(rng, b=1, widths=(4, 5, 3, 2))
    still_right(learner, rng, x, weights, "with a batch of one")
    x, weights = make(rng, b=3, widths=(4, 1, 5, 2))
    still_right(learner, rng, x, weights, "with a layer of width one")


ZEROS = ((0, 1), (1, 4))  # layers, and units of them


def make_with_zeros(rng):
    """Draw a network of which two units give exactly 0, and let through what comes back if their mask is wrong."""
    while True:
        x, weights = make(rng)
        for layer, unit in ZEROS:
            weights[layer][:, unit] = 0
        out, stack = run_forward(x, weights)
        slips = [run_backward(out, stack, weights, mask=slip)[0] for slip in (lambda g, h: h >= 0, lambda g, h: g > 0)]
        if all(gradients[layer][:, unit].any() for gradients in slips for layer, unit in ZEROS):
            return x, weights


@points(0.5)
def test_relu_at_zero(learner, rng):
    """The slope of a ReLU at exactly 0 is 0."""
    _, _, mend = ordinary(learner, rng)
    x, weights = make_with_zeros(rng)
    gradients = mend(backward_of(learner, x, weights)[0])
    for layer, unit in ZEROS:
        if np.any(shaped(gradients[layer], weights[layer], f"weights[{layer}]")[:, unit] != 0):
            raise Mistake(
                f"where the input of a ReLU is exactly 0, the gradient of weights[{layer}] is not: the slope there is 0"
            )


@points(0.5)
def test_float32(learner, rng):
    """Float32 in, float32 out."""
    ordinary(learner, rng)
    x, weights = make(rng, dtype=np.float32)
    out, stack = run_forward(x, weights)
    layers = run_backward(out, stack, weights)
    for name, call, args in (
        ("forward", "forward", (x, weights)),
        ("backward", "backward", (out, stack, weights)),
        ("tied_gradients", "tied_alone", (x, weights, [0, 1, 2, 3], out, stack, *layers)),
    ):
        done = ran(learner, call, *args)
        for array in flat(done.value if done else None):
            if array.dtype.kind == "f" and array.dtype != np.float32:
                change = "widens" if array.dtype.itemsize > 4 else "narrows"
                raise Mistake(f"with float32 inputs, something in `{name}` {change} them: it returns {array.dtype}")


def ran(learner, name, *args):
    """Run a function; None where it raises, which is another test's business unless it is not written yet."""
    try:
        return learner.run(name, *args)
    except Mistake as mistake:
        if str(mistake).endswith("is not written yet"):
            raise
        return None


def flat(value):
    """Yield the arrays in nested lists; plain numbers have no dtype, and are as good."""
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from flat(part)
    elif isinstance(value, np.ndarray):
        yield value


@points(0.5)
def test_stack_is_emptied(learner, rng):
    """After `backward` the stack is empty."""
    ordinary(learner, rng)
    x, weights = make(rng)
    left = learner.run("backward", *run_forward(x, weights), weights).args[1]
    if len(left) == len(weights):
        raise Mistake("`backward` leaves the whole stack as it was: pop each array when its turn comes")
    if left:
        raise Mistake(f"`backward` leaves {len(left)} of {len(weights)} arrays on the stack: pop each of them")


@points(0.5)
def test_arguments_are_left_alone(learner, rng):
    """No function changes an array that it is given, or the list of weights."""
    ordinary(learner, rng)
    for widths in (WIDTHS, (5, 3)):
        x, weights = make(rng, widths=widths)
        out, stack = run_forward(x, weights)
        uses, layers = list(range(len(weights))), run_backward(out, stack, weights)
        for name, call, names, args in (
            ("forward", "forward", ("x", "weights"), (x, weights)),
            ("backward", "walk_back", ("out", "stack", "weights"), (out, stack, weights)),
            ("tied_gradients", "tied_alone", ("x", "weights", "uses"), (x, weights, uses, out, stack, *layers)),
        ):
            done = ran(learner, call, *args)
            for arg, given, left in zip(names, args, done.args if done else args, strict=False):
                if changed := list(differences(given, left, arg)):
                    where = " (which is `x`)" if changed[0] == "stack[0]" else ""
                    raise Mistake(f"`{name}` changed `{changed[0]}`{where}, which is not its own: make a new array")


def differences(given, left, path):
    """Yield where two lists of arrays differ."""
    if isinstance(given, list):
        if not isinstance(left, list) or len(left) != len(given):
            yield path
            return
        for i, (one, other) in enumerate(zip(given, left, strict=True)):
            yield from differences(one, other, f"{path}[{i}]")
    elif not np.array_equal(given, left):
        yield path


# One weight in several places.


def tied_of(learner, x, weights, uses):
    """Return the gradients of shared weights, and those of the layers, of which they are made.

    Where the learner's own `forward` or `backward` is wrong, which has cost its points, others stand in for them.
    """
    expect.by_hand(learner, ["tied_gradients"], among=CELLS, instead_of=INSTEAD)
    layers = [weights[k] for k in uses]
    out, stack = run_forward(x, layers)
    right, g_x = run_backward(out, stack, layers)
    if rests_on_what_is_right(learner, x, layers):
        return listed(learner.call("tied_gradients", x, weights, uses), weights, uses), right
    try:
        came = learner.call("tied_alone", x, weights, uses, out, stack, right, g_x)
    except Mistake as mistake:
        raise Mistake(str(mistake).replace("tied_alone", "tied_gradients")) from None
    return listed(came, weights, uses), right


def rests_on_what_is_right(learner, x, layers):
    """Tell whether the learner's own `forward` and `backward`, one after the other, are right for these layers."""
    try:
        check_backward_by_hand(learner)
        there = learner.run("forward", x, layers)
        gradients, _ = form(learner.call("backward", *there.value, there.args[1]), layers)
    except (Mistake, TypeError, ValueError):
        return False
    return all_agree(gradients, run_backward(*run_forward(x, layers), layers)[0])


def listed(came, weights, uses):
    """Return the gradients as a list of arrays, one for each weight, or say what is wrong with their form."""
    if isinstance(came, np.ndarray) and came.ndim == 3:
        came = list(came)
    if not isinstance(came, (list, tuple)):
        raise Mistake(f"`tied_gradients` returns {expect.describe(came)}; it must return a list of gradients")
    if len(came) == len(uses) != len(weights):
        raise Mistake("`tied_gradients` returns one gradient for each layer: add up those of one weight")
    if any(g is None for g in came):
        raise Mistake("`tied_gradients` returns None for a weight that no layer uses: its gradient is all zeros")
    if len(came) != len(weights):
        raise Mistake(
            f"`tied_gradients` returns {len(came)} gradients for {len(weights)} weights: each has one, used or not"
        )
    return [expect.array(g, name=f"the gradient of weights[{i}]") for i, g in enumerate(came)]


def put_together(layers, weights, uses, how=sum):
    """Return one gradient for each weight, made of those of its uses."""
    return [
        how([g for g, use in zip(layers, uses, strict=True) if use == k]) if k in uses else np.zeros_like(weights[k])
        for k in range(len(weights))
    ]


@points(1)
@rests_on(RIGHT)
def test_uses_add_up(learner, rng):
    """The gradient of a weight is the sum over all layers that use it."""
    for b, widths, uses, features in ((6, (3, 5, 5, 2), [0, 1, 1, 1, 2], 3), (5, (6, 4, 6), [1, 0, 1, 0, 1], 4)):
        x, weights = make(rng, b=b, widths=widths, uses=uses, features=features)
        came, layers = tied_of(learner, x, weights, uses)
        if all_agree(came, put_together(layers, weights, uses)):
            if features == 3:
                tiny = x * np.array([TINY, 1, 1])
                came, layers = tied_of(learner, tiny, weights, uses)
                if not agree(came[0][0] / TINY, layers[0][0] / TINY):
                    raise Mistake("`tied_gradients`: " + MEASURED.format("a feature", "the gradient of weights[0]"))
            continue
        for how, why in (
            (lambda g: g[-1], "is that of its last use: add up all of them"),
            (lambda g: g[0], "is that of its first use: add up all of them"),
            (lambda g: sum(g) / len(g), "is the mean over its uses: it is their sum"),
            (lambda g: sum(g) * len(g), "counts each use more than once: add up, and multiply by nothing"),
        ):
            if all_agree(came, put_together(layers, weights, uses, how)):
                raise Mistake(f"the gradient of a weight that several layers use {why}")
        if features == 3 and all_agree(came, run_backward(*run_forward(x, weights), weights)[0]):
            raise Mistake("`tied_gradients` takes one layer for each weight: layer i multiplies by weights[uses[i]]")
        for i, (g, w) in enumerate(zip(came, weights, strict=True)):
            shaped(g, w, f"weights[{i}]", where="where weights are shared, ")
        raise Mistake("the gradient of a weight that several layers use is not the sum of what each of them gets")


@points(0.5)
def test_places_in_the_list(learner, rng):
    """A weight that no layer uses has a gradient of zeros, and two that hold the same numbers are two."""
    x, weights = make(rng, b=6, widths=(3, 4, 4, 2), uses=[0, 1, 1, 2])
    first, shared, last = weights
    weights, uses = [first, rng.normal(size=(5, 6)), shared, last], [0, 2, 2, 3]
    came, layers = tied_of(learner, x, weights, uses)
    if np.any(came[1]):
        raise Mistake("the gradient of a weight that no layer uses is not 0: the loss does not change with it")
    if came[1].shape != weights[1].shape:
        raise Mistake("the gradient of a weight that no layer uses must be an array of zeros, in that weight's shape")
    check_places(came, layers, weights, uses, "where no layer uses the second of four weights")
    weights, uses = [first, shared, last, shared.copy()], [0, 1, 3, 2]
    came, layers = tied_of(learner, x, weights, uses)
    if any(agree(came[k], layers[1] + layers[2]) for k in (1, 3)):
        raise Mistake("two weights that hold the same numbers are taken for one: go by their place in the list")
    check_places(came, layers, weights, uses, "where two weights hold the same numbers")


def check_places(came, layers, weights, uses, where):
    """Hold that each gradient is at the place of its weight; whether several uses add up is another test's business."""
    right = put_together(layers, weights, uses)
    if not all(agree(came[k], right[k]) for k in range(len(weights)) if uses.count(k) == 1):
        raise Mistake(f"{where}, the gradients of the others are not at the places of their weights")
