"""Hidden tests of custom_function: each tells the learner which mistake it found, never a value."""

import re

import numpy as np

from course_grader import Mistake, expect, points
from course_grader.grading.exercises.name_analysis import strip_comments_and_strings

REFUSED = {
    "different than None": "`backward` returns a gradient for p, which is a plain number: return None in its place",
    "incorrect number of gradients": "`backward` returns too few or too many gradients: one for each argument, "
    "in a tuple (a list would count as one, and so does a missing `return`)",
    "can only save variables": "`forward` gives save_for_backward a non-tensor: keep numbers as attributes of ctx",
    "Expected output to be a torch.Tensor": "`forward` must return a tensor",
    "has no attribute 'backward'": "`forward` must return a tensor",
    "Module.apply()": "`LeakyPower` is a module: it must be a torch.autograd.Function",
    "LeakyPower.forward()": "`forward` takes other arguments than it must: ctx, x, a, p, and no self",
    "LeakyPower.backward()": "`backward` takes other arguments than it must: ctx and g, and no self",
    "requires you to": "`backward` takes other arguments than it must: ctx and g, and no self",
    "NumPy array": "`LeakyPower` goes through NumPy on its way: use operations of torch",
    "'NoneType' object": "`LeakyPower.apply(x, a, p)` gives None: is the `return` of `forward` missing?",
    "invalid gradient": "`backward` returns a gradient whose shape is not its argument's: mind the order of the "
    "arguments, and what is added up when x has one row, or several",
}


def make(rng, *shape):
    """Return inputs with both signs in every column, none near the kink; slopes; and an upstream gradient."""
    n = shape[-1]
    x = rng.uniform(0.3, 2.0, size=shape) * np.where(np.indices(shape).sum(axis=0) % 2, 1, -1)
    return x, rng.uniform(0.2, 0.8, size=n), rng.uniform(0.5, 1.5, size=shape) * rng.choice([-1, 1], size=shape)


def base(x):
    return np.where(x > 0, x, 1.0)


def right_values(x, a, p):
    return np.where(x > 0, base(x) ** p, a * x)


def right_slopes(x, a, p):
    """Return dy/dx, and dy/da before it is added up over the rows."""
    return np.where(x > 0, p * base(x) ** (p - 1), a + 0 * x), np.where(x > 0, 0, x)


def call(learner, name, *args):
    """Call, and say in the exercise's words what torch says of a backward pass that it refuses."""
    if name.startswith("verdict"):
        return learner.call(name, *args)  # about rules that are not the learner's
    if re.search(r"\bapply\s*=|\bdef\s+apply\b", strip_comments_and_strings(learner.source("leaky_power"))):
        raise Mistake("`LeakyPower` has an `apply` of its own: torch's own `apply` must call `forward` and `backward`")
    try:
        return learner.call(name, *args)
    except Mistake as mistake:
        for sign, message in REFUSED.items():
            if sign in str(mistake):
                raise Mistake(message) from None
        missing = re.search(r"LeakyPowerBackward' object has no attribute '(\w+)'", str(mistake))
        if missing and missing[1] in learner.source("leaky_power"):  # an error may say what it likes
            raise Mistake(f"`backward` reads ctx.{missing[1]}, but `forward` left nothing of that name there") from None
        if mistake.raised:
            raised = str(mistake).removeprefix(f"`{name}` raised ")
            raise mistake.reworded(f"going through `LeakyPower` and back raised {raised}") from None
        raise


def rule_by_hand(learner):
    """Check that `backward` holds a rule: whoever asks torch for the gradients in it has written none."""
    asks = r"^torch\.autograd\.(grad|backward|functional)\b|^torch\.func\b|\.(backward|vjp|jvp|jacrev|jacfwd)$"
    why = "that asks torch for the gradient, and here you write the rule: what dy/dx and dy/da are"
    expect.by_hand(learner, ["LeakyPower"], among=["leaky_power"], instead_of={asks: why})


def slope(learner, name, *args):
    """Return one of the two gradients as an array."""
    rule_by_hand(learner)
    found = call(learner, "slopes", *args)
    if found[name] is None:
        raise Mistake(f"`backward` returns None for {name[1]}, which wants a gradient")
    return expect.array(found[name], name=f"the gradient of {name[1]}", shape=np.shape(args["xa".index(name[1])]))


def agree(came, right):
    return came.shape == right.shape and np.allclose(came, right, rtol=1e-8, atol=1e-10)


@points(1)
def test_forward(learner, rng):
    """The values are right for other shapes and powers."""
    for shape, p in (((5,), 2.0), ((4, 3), 2.5)):
        x, a, _ = make(rng, *shape)
        came = expect.array(call(learner, "values", x, a, p), name="y", shape=shape)
        if np.isnan(came).any():
            raise Mistake("`forward` gives nan: a negative number has no power of 2.5, so keep it out of the power")
        if agree(came, right_values(x, np.zeros_like(a), p)):
            raise Mistake("`forward` is 0 where x is negative: the slope a is missing there")
        if agree(came, np.where(x > 0, right_values(x, a, p), -a * x)):
            raise Mistake("`forward` has the wrong sign where x is negative")
        if not agree(came, right_values(x, a, p)) and came.dtype != x.dtype:
            raise Mistake(f"`forward` returns {came.dtype} where x is {x.dtype}: keep the dtype, and its digits")
        if not agree(came, right_values(x, a, p)):
            raise Mistake(f"`forward` is wrong for an x of shape {shape} and a power of {p}")


@points(2)
def test_gradient_of_x(learner, rng):
    """The gradient of x is right for any upstream gradient."""
    for shape, p in (((6,), 3.0), ((4, 3), 2.5)):
        x, a, g = make(rng, *shape)
        came, (dx, da) = slope(learner, "dx", x, a, p, g), right_slopes(x, a, p)
        y = right_values(x, a, p)
        if agree(came, dx):
            raise Mistake("the gradient of x ignores `g`: it is dy/dx, and must be g times that")
        if x.ndim == 1 and agree(came, g * da):
            raise Mistake("the gradients of x and a are swapped: return them in the order of forward's arguments")
        if agree(came, g * np.where(x > 0, p * base(y) ** (p - 1), a + 0 * x)):
            raise Mistake("the gradient of x is computed from y: the rule needs the input, so save that, as it came")
        if agree(came, g * np.where(x > 0, dx, 0)):
            raise Mistake("the gradient of x is 0 where x is negative: the slope there is a")
        if agree(came, g * np.where(x > 0, dx, -dx)):
            raise Mistake("the gradient of x has the wrong sign where x is negative")
        if agree(came, g * np.where(x > 0, dx, 1)):
            raise Mistake("the gradient of x has the slope 1 where x is negative: it is a there")
        if agree(came, g * np.where(x > 0, dx / p, dx)):
            raise Mistake("the gradient of x lacks the factor p")
        if agree(came, g * np.where(x > 0, dx / p * (p - 1), dx)):
            raise Mistake("the gradient of x has the factor p - 1: one less is the power, and the factor is p")
        if agree(came, g * np.where(x > 0, p * base(x) ** p, dx)):
            raise Mistake("the gradient of x raises to the power p: the slope of a power has one less")
        if agree(came, g * dx):
            continue
        if came.any() and agree(came / np.linalg.norm(came), g * dx / np.linalg.norm(g * dx)):
            raise Mistake("the gradient of x is a multiple of what it must be: a factor is missing, or one too many")
        raise Mistake(f"the gradient of x is wrong for an x of shape {shape} and a power of {p}")


@points(1)
def test_gradient_of_a(learner, rng):
    """The gradient of a is right, for one row and for several."""
    for shape in ((6,), (4, 3)):
        x, a, g = make(rng, *shape)
        came, (dx, da) = slope(learner, "da", x, a, 2.5, g), right_slopes(x, a, 2.5)
        total = (lambda rows: rows) if x.ndim == 1 else (lambda rows: rows.sum(axis=0))
        if agree(came, total(g * x)):
            raise Mistake("the gradient of a counts positive x too: a has no part in y there")
        if agree(came, total(da)):
            raise Mistake("the gradient of a ignores `g`")
        if x.ndim == 1 and agree(came, g * dx):
            raise Mistake("the gradients of x and a are swapped: return them in the order of forward's arguments")
        if x.ndim == 2 and agree(came, (g * da).mean(axis=0)):
            raise Mistake("the gradient of a averages over the rows: each a serves every row, so add them up")
        if x.ndim == 2 and agree(came, (g * da).sum(axis=0) / (x <= 0).sum(axis=0)):
            raise Mistake("the gradient of a averages over the rows where x is negative: add them up")
        if agree(came, -total(g * da)):
            raise Mistake("the gradient of a has the wrong sign")
        if agree(came, total(g * (x <= 0))):
            raise Mistake("the gradient of a lacks the factor x: it is the slope of a x along a")
        if not agree(came, total(g * da)):
            raise Mistake(f"the gradient of a is wrong for an x of shape {shape}")


@points(1)
def test_at_the_kink(learner, rng):
    """Where x is exactly 0, the lower line holds."""
    x, a, g = make(rng, 2, 4)
    x[0, 1] = 0.0
    while abs(np.float32(g[0, 1]) - g[0, 1]) < 3e-8:  # what is narrowed to float32 always tells
        g[0, 1] = rng.uniform(0.5, 1.5)
    came, right = slope(learner, "dx", x, a, 1.5, g), g * right_slopes(x, a, 1.5)[0]
    if np.isclose(came[0, 1], right[0, 1], rtol=1e-4):  # with how many digits is another test's business
        return
    if not agree(came[x != 0], right[x != 0]):
        raise Mistake("the gradient of x is wrong where x is 0, and elsewhere, too: begin with the others")
    raise Mistake("where x is exactly 0, the gradient of x is not a: the lower line holds there")


@points(1)
def test_second_derivative(learner, rng):
    """The gradient can be differentiated again."""
    x, a, g = make(rng, 3, 4)
    v = rng.uniform(0.5, 1.5, size=x.shape)
    rule_by_hand(learner)
    try:
        found = call(learner, "second_slopes", x, a, 2.5, g, v)
    except Mistake as mistake:
        if "does not require grad" in str(mistake) or "once_differentiable" in str(mistake):
            raise Mistake("the gradient cannot be differentiated again: `backward` cuts it off the graph") from None
        raise
    if found["ddx"] is None:
        raise Mistake("the second derivative of x is missing: `backward` cuts off what it saved")
    ddx = expect.array(found["ddx"], name="the second derivative", shape=x.shape)
    if np.isnan(ddx).any():
        raise Mistake("the second derivative is nan: in `backward`, too, negative numbers must not get into a power")
    bend = np.where(x > 0, 2.5 * 1.5 * base(x) ** 0.5, 0)
    steep = call(learner, "second_slopes", x, a, 1.5, g, v)["ddx"]  # where 0 to the power -0.5 is infinite
    if steep is not None and np.isnan(expect.array(steep, name="the second derivative", shape=x.shape)).any():
        raise Mistake("the second derivative is nan for a power of 1.5: negative numbers became 0, whose root is steep")
    x_0 = x.copy()
    x_0[0, 1] = 0.0
    steep = call(learner, "second_slopes", x_0, a, 1.5, g, v)["ddx"]
    if steep is not None and np.isnan(expect.array(steep, name="the second derivative", shape=x.shape)).any():
        raise Mistake(
            "the second derivative is nan where x is 0 and the power 1.5: the slope of a root is infinite there, and 0 "
            "times that is nan, so keep 0 out of the power, too"
        )
    if not agree(ddx, v * g * bend):
        if not agree(slope(learner, "dx", x, a, 2.5, g), g * right_slopes(x, a, 2.5)[0]):
            raise Mistake("the second derivative follows the first, which is wrong")
        raise Mistake("the second derivative is wrong: use differentiable operations on g and on saved tensors alone")
    squared = call(learner, "second_slopes", x, a, 2.5, g, v, 2)["ddx"]
    ddx = expect.array(squared, name="the second derivative of y squared", shape=x.shape)
    y, slope_x, up = right_values(x, a, 2.5), right_slopes(x, a, 2.5)[0], x > 0
    if agree(ddx[up], (2 * v * g * y * bend)[up]):
        raise Mistake("where g depends on x, the second derivative is wrong: `backward` cuts g off the graph")
    if not agree(ddx[up], (2 * v * g * (slope_x**2 + y * bend))[up]):
        raise Mistake("the second derivative of the square of y is wrong, where g depends on x")


@points(0.5)
def test_overwriting(learner, rng):
    """A changed input is refused, not used; and the upstream gradient is not overwritten."""
    x, a, _ = make(rng, 2, 5)
    if call(learner, "notices_overwriting", x, a, 2.0) is not True:
        if "save_for_backward" in strip_comments_and_strings(learner.source("leaky_power")):
            raise Mistake(
                "an x that was overwritten after the forward pass goes unnoticed: save x itself, since "
                "writing into x changes neither a copy of it nor what `forward` computed from it"
            )
        raise Mistake("an x that was overwritten after the forward pass is used: save tensors with save_for_backward")
    x, a, g = make(rng, 2, 5)
    try:
        left = call(learner, "slopes", x, a, 2.5, g)["g"]
    except Mistake:
        return  # what else is wrong with `backward` is another test's business
    if not np.array_equal(np.asarray(left), g):
        raise Mistake("`backward` changes `g` in place, which may be on its way to other operations: make a new tensor")


def judged(learner, rng, *fault, inputs=None, asked="verdict"):
    """Return what the learner's check says of a rule with a fault."""
    x, a = inputs or make(rng, 4)[:2]
    try:
        said = np.asarray(call(learner, asked, x, a, *fault)["said"])
    except Mistake as mistake:
        if mistake.raised == "AssertionError":
            raise Mistake("`agrees` raises an AssertionError: it must return True or False") from None
        said = str(mistake).replace(f"`{asked}` raised", "`agrees` raised", 1)
        raise mistake.reworded(said, function="agrees") from None
    if said.dtype != bool or said.ndim:
        what = expect.describe(said.item()) if said.ndim == 0 else f"something of shape {said.shape}"
        raise Mistake(f"`agrees` must return True or False; it returned {what}")
    return bool(said)


@points(1)
def test_right_rules_pass(learner, rng):
    """A right gradient is called right, a wrong one is not."""
    if not judged(learner, rng):
        raise Mistake("`agrees` calls a right gradient wrong")
    if judged(learner, rng, "scaled", 0, 0, -1.0):
        raise Mistake("`agrees` calls a gradient with the wrong sign right")
    if not judged(learner, rng, "none", 0, 0, 1.0, 0.01):
        raise Mistake("`agrees` calls a right gradient wrong when eps is larger: step to both sides, not to one")
    if judged(learner, rng, "none", 0, 0, 1.0, 1e20):  # x is lost beside such a step, and so is its slope
        raise Mistake("`agrees` takes steps of its own choice: step by the eps that it is given")
    theirs = {r"\.(grad)?gradcheck\b": "that is a library's own check, so measure the differences yourself"}
    expect.by_hand(learner, ["agrees"], among=["leaky_power", "agrees"], instead_of=theirs)


@points(1)
def test_each_element_of_each_input(learner, rng):
    """One element that is off by a twentieth is found, wherever it is."""
    if not judged(learner, rng):
        raise Mistake("`agrees` calls a right gradient wrong, so what it calls wrong says nothing")
    for which, name in enumerate("xa"):
        for at in range(4):
            if judged(learner, rng, "scaled", which, at, 1.05):
                where = "input" if which else "element"
                raise Mistake(f"`agrees` overlooks a fault in the gradient of {name}: is every {where} checked?")
        if judged(learner, rng, "missing", which):
            raise Mistake(f"`agrees` calls it right when there is no gradient of {name}, though y depends on {name}")
    in_a_table(learner, rng)


def in_a_table(learner, rng):
    """Ask for inputs with two axes, and a y of another shape."""
    inputs = rng.uniform(0.5, 1.5, size=(2, 3)), rng.uniform(0.5, 1.5, size=(2, 3))
    try:
        if not judged(learner, rng, inputs=inputs, asked="verdict_of_a_table"):
            raise Mistake("`agrees` calls a right gradient wrong where the inputs have two axes")
        for which, at in [(which, at) for which in range(2) for at in range(6)]:
            if judged(learner, rng, "scaled", which, at, 1.05, inputs=inputs, asked="verdict_of_a_table"):
                raise Mistake("`agrees` overlooks an element where the inputs have two axes: go through all of them")
    except Mistake as mistake:
        if mistake.raised:
            raise Mistake(f"where the inputs and y have two axes, {mistake}; they may have any number") from None
        raise


@points(0.5)
def test_each_output(learner, rng):
    """Each output is compared by itself: a rule that handles g wrongly is found, and a small fault in one pair."""
    if not judged(learner, rng):
        raise Mistake("`agrees` calls a right gradient wrong, so what it calls wrong says nothing")
    if judged(learner, rng, "mean"):
        raise Mistake("`agrees` overlooks a rule that takes the mean of g: check each output, not their sum")
    inputs = rng.uniform(1.02, 1.05, size=8), rng.uniform(0.5, 0.55, size=8)  # all slopes are a little above 1
    if not judged(learner, rng, "scaled", 0, 0, 1 + 2e-5, inputs=inputs):
        raise Mistake("`agrees` calls a gradient wrong that differs by less than the tolerance")
    if judged(learner, rng, "scaled", 0, 0, 1 + 4e-4, inputs=inputs):
        raise Mistake("`agrees` overlooks one pair that differs by four times the tolerance: do not average over pairs")
    if judged(learner, rng, "scaled", 0, 0, 1 + 1.6e-4, inputs=inputs):
        raise Mistake("`agrees` allows more than it may: the tolerance times 1 or the slope, not times their sum")
    large = rng.uniform(1e3, 2e3, size=4), rng.uniform(1e3, 2e3, size=4)
    if not judged(learner, rng, inputs=large):
        raise Mistake("`agrees` calls a right gradient wrong where the slopes are large: the tolerance grows with them")
    small = rng.uniform(0.2, 0.25, size=4), rng.uniform(0.2, 0.25, size=4)
    if not judged(learner, rng, "scaled", 0, 0, 1 + 5e-4, inputs=small):
        raise Mistake("`agrees` makes the tolerance smaller where a slope is below 1: there it stays what it is")
    (x, a, _), at = make(rng, 4), int(rng.integers(1, 4))
    if not judged(learner, rng, inputs=(x[:1], a)):
        raise Mistake("`agrees` calls a right gradient wrong where y has more elements than x")
    if judged(learner, rng, "scaled", 0, at, 1.05, inputs=(x[:1], a)):  # all of y depends on the one x
        raise Mistake("`agrees` compares each y with the x in its own place alone: y may depend on the others, too")
    beside = x[:1], np.where(np.arange(4) == at, a, 1e3)
    if judged(learner, rng, "scaled", 0, at, 1.005, inputs=beside):
        raise Mistake("`agrees` overlooks a fault beside larger slopes: compare pair by pair, do not add outputs up")
    if judged(learner, rng, "scaled", 0, 0, float("nan")):
        raise Mistake("`agrees` calls a gradient with nan in it right: nan is above no bound, and below none")


@points(0.5)
def test_float32_is_refused(learner):
    """A check in float32 is refused with a ValueError; what wants no gradient may be float32."""
    try:
        came = call(learner, "verdict_in_float32")
    except Mistake as mistake:
        if mistake.raised:
            raised = str(mistake).replace("verdict_in_float32", "agrees")
            raise Mistake(f"float32 inputs must be refused with a ValueError, but {raised}") from None
        raise
    if came != "ValueError":
        raise Mistake("`agrees` takes float32 inputs: their rounding drowns the differences, so raise a ValueError")
    why = "only those that require grad are checked, and must be float64"
    try:
        came = call(learner, "verdict_in_float32", False)
    except Mistake as mistake:
        raised = str(mistake).replace("verdict_in_float32", "agrees")
        raise Mistake(f"where a float32 input wants no gradient, {raised}: {why}") from None
    if came == "ValueError":
        raise Mistake(f"`agrees` refuses a float32 input that wants no gradient: {why}")
    if "True" not in str(came):
        raise Mistake(f"`agrees` calls a right gradient wrong where a float32 input wants none: {why}")


@points(0.5)
def test_inputs_are_left_alone(learner, rng):
    """The inputs hold the same values afterwards, to the bit."""
    x, a = (rng.uniform(1, 2, size=4) * 1e-10 for _ in range(2))  # so small that a step forth and back rounds
    expect.depends_on_input(*(judged(learner, rng, *fault) for fault in ((), ("scaled", 0, 0, 3.0))), name="agrees")
    found = call(learner, "verdict", x, a)
    if not (np.array_equal(np.asarray(found["x"]), x) and np.array_equal(np.asarray(found["a"]), a)):
        raise Mistake("`agrees` leaves an input changed: put back the exact value, since adding and subtracting rounds")
