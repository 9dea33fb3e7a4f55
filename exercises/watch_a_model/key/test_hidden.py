"""Hidden tests of watch_a_model: each tells the learner which mistake it found, never a value."""

import math

import numpy as np
import pytest

from course_grader import Mistake, expect, points

KEYS = ("norm", "mean", "std", "largest", "nonfinite")
DRIVERS = {"recorded": "record", "searched": "first_nonfinite", "stepped": "ratios"}
REFUSED = {
    "record": {
        "'NoneType' object": "`record` takes the numbers of a gradient that is None: without one, the row is None",
        "at least two data points": "`record` has no `std` for a single element: it is 0 there",
        "division by zero": "`record` divides by 0 for a single element: its `std` is 0",
        "mean(): could not infer": "`record` takes the mean of integers or booleans: count with a sum",
        "linalg.": "`record` takes the norm of a matrix, which is a different one: take the elements as one vector",
        "backward through the graph": "`record` goes backward itself: the gradients are there already, in `.grad`",
    },
    "first_nonfinite": {
        "list index out of range": "`first_nonfinite` takes item 0 of an empty list: where nothing is bad, return None",
        "must be Tensor, not bool": "a hook of `first_nonfinite` returns something: it takes the place of what passes",
        "must be Tensor, not str": "a hook of `first_nonfinite` returns something: it takes the place of what passes",
        "must be Tensor, not tuple": "`first_nonfinite` takes a tuple for a tensor: look into it, however deep it is",
        "must be Tensor, not list": "`first_nonfinite` takes a list for a tensor: look into it, however deep it is",
        "'tuple' object has no": "`first_nonfinite` takes a tuple for a tensor: look into it, however deep it is",
        "positional argument": "a hook of `first_nonfinite` is called with other arguments than it takes: a forward "
        "hook is given the module, its inputs and its output, a pre-hook the first two",
        "more than one value is ambiguous": "`first_nonfinite` asks a whole tensor for one yes or no: is any bad?",
    },
    "ratios": {
        "leaf Variable that requires": "a parameter is changed in place in `before` or `ratios`: compute on copies",
        "call numpy() on Tensor": "a parameter becomes an array only after `.detach()`",
        "division by zero": "`ratios` divides by 0: where the parameter was 0, the ratio is None",
        "'NoneType' object": "`before` keeps nothing that `ratios` can use: is its `return` missing?",
        "linalg.": "`ratios` takes the norm of a matrix, which is a different one: take the elements as one vector",
        "builtin_function_or_method": "`before` or `ratios` names a method without calling it: brackets are missing",
        "deepcopy": "what `before` copies belongs to a graph: detach it first",
    },
}


def call(learner, name, *args, **kwargs):
    """Call a given function, and say in the exercise's words what the learner's own raised or returned."""
    own = DRIVERS[name]
    try:
        return learner.call(name, *args, **kwargs)
    except Mistake as mistake:
        for sign, message in REFUSED[own].items():
            if mistake.raised and sign in str(mistake):
                raise Mistake(message) from None
        if own == "first_nonfinite" and ", which is not plain data" in str(mistake):
            raise Mistake("`first_nonfinite` returns what is not a name: return the module's name, or None") from None
        told = str(mistake).replace("`stepped` raised", "`before` or `ratios` raised", 1)
        raise mistake.reworded(told.replace(f"`{name}`", f"`{own}`", 1), function=own) from None


def number(value, what):
    """Return one number, whatever holds it."""
    try:
        array = expect.array(value, name=what)
    except Mistake:
        raise Mistake(f"{what} is {expect.describe(value)}; it must be one number") from None
    if array.size != 1 or array.dtype.kind == "c":
        raise Mistake(f"{what} has shape {array.shape}; it must be one number")
    return float(array.reshape(()))


def agree(came, right, tolerance=1e-5):
    return bool(np.isclose(came, right, rtol=tolerance, atol=1e-12))


def length(*arrays):
    return math.sqrt(sum(float(np.sum(np.square(a, dtype=float))) for a in arrays))


# 1. The numbers of every gradient.


def gradients(rng, *, offset=0.7):
    """Draw parameters and gradients: several shapes and elements, of both signs, and no mean near 0."""
    shapes = {"encoder.0.weight": (4, 3), "encoder.0.bias": (5,), "head.weight": (2, 6), "tail.scale": (2, 2, 3)}
    arrays = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    pulls = {name: (rng.normal(size=shape) + offset).astype(np.float32) for name, shape in shapes.items()}
    for pull in pulls.values():
        pull.flat[0], pull.flat[1] = -rng.uniform(4, 5), rng.uniform(2.0, 3.0)  # the largest is negative
    return arrays, pulls


def rows_of(found, names):
    """Return the rows and the total, the former for these names at least."""
    rows, total = expect.pair(found["said"], "the rows and the total norm", name="record")
    if not isinstance(rows, dict):
        raise Mistake(f"the rows of `record` are {expect.describe(rows)}; they must be a dict by name")
    for name in names:
        if f".{name}" in rows:
            raise Mistake("`record` puts a dot in front of a name: a parameter of the model itself has none")
        if name not in rows:
            raise Mistake("`record` has no row for a parameter: names are those of model.named_parameters()")
    return rows, total


def entry(rows, name, key):
    """Return one number of one row."""
    row = rows[name]
    if row is None:
        raise Mistake("`record` gives None for a parameter that has a gradient")
    if not isinstance(row, dict):
        raise Mistake(f"a row of `record` is {expect.describe(row)}; it must be a dict")
    if key not in row:
        raise Mistake(f'there is no "{key}" in a row of `record`')
    return number(row[key], f'the "{key}" of a gradient')


def slips(key, g, w):
    """Return what mistakes make of a number of the gradient g of the parameter w, and how to name them."""
    g, w = g.astype(float), w.astype(float)
    sample = g.std(ddof=1)
    return {
        "norm": {
            "is the square of the norm: the root is missing": np.sum(g**2),
            "adds up absolute values: the norm squares them": np.abs(g).sum(),
            "divides by the number of elements: that is the root mean square": np.sqrt(np.mean(g**2)),
            "is the largest element: all belong to the norm": np.abs(g).max(),
            "is that of the parameter: take its gradient": length(w),
            "is the spectral one of a matrix: take the elements as one vector": np.linalg.norm(
                g.reshape(len(g), -1), 2
            ),
            "is that of the first row alone": length(g[0]),
        },
        "mean": {
            "is that of the absolute values: the mean keeps the signs": np.abs(g).mean(),
            "is the sum: divide by the number of elements": g.sum(),
            "is that of the parameter: take its gradient": w.mean(),
            "is the median": np.median(g),
            "divides by the number of rows, not of elements": g.sum() / len(g),
        },
        "std": {
            "is that of a whole population: divide by n - 1": g.std(),
            "is the variance: the root is missing": sample**2,
            "is the variance of a whole population: divide by n - 1, and take the root": g.var(),
            "does not subtract the mean": np.sqrt(np.sum(g**2) / (g.size - 1)),
            "is the root mean square: subtract the mean first": np.sqrt(np.mean(g**2)),
            "is that of the parameter: take its gradient": w.std(ddof=1),
            "is that of the absolute values": np.abs(g).std(ddof=1),
        },
        "largest": {
            "overlooks that a large negative element is large: take absolute values first": g.max(),
            "is right but for its sign: it is an absolute value": -np.abs(g).max(),
            "is that of the parameter: take its gradient": np.abs(w).max(),
            "is the smallest": np.abs(g).min(),
        },
    }[key]


@points(0.5)
@pytest.mark.parametrize("key", ["norm", "mean", "std", "largest"])
def test_numbers(learner, rng, key):
    """Each number of a row is right, for parameters of any shape ({key})."""
    arrays, pulls = gradients(rng)
    rows, _ = rows_of(call(learner, "recorded", arrays, pulls), pulls)
    right = {"norm": length, "mean": np.mean, "std": lambda g: g.std(ddof=1), "largest": lambda g: np.abs(g).max()}[key]
    came = {name: entry(rows, name, key) for name in pulls}
    if not all(agree(came[name], right(pulls[name].astype(float))) for name in pulls):
        for slip in slips(key, pulls["tail.scale"], arrays["tail.scale"]):
            if all(agree(came[name], slips(key, pulls[name], arrays[name])[slip]) for name in pulls):
                raise Mistake(f'the "{key}" of a gradient {slip}')
        wrong = [pulls[name].shape for name in pulls if not agree(came[name], right(pulls[name].astype(float)))]
        raise Mistake(f'the "{key}" of a gradient is wrong for a shape of {wrong[0]}')
    if key == "std":
        for shape in ((1,), (1, 1), ()):
            single = {"layer.bias": np.full(shape, rng.uniform(1, 2), np.float32)}
            rows, _ = rows_of(call(learner, "recorded", single, single), single)
            if math.isnan(entry(rows, "layer.bias", "std")):
                raise Mistake(f'the "std" of a single element is nan, for a shape of {shape}: it is 0 there')
            if entry(rows, "layer.bias", "std"):
                raise Mistake('the "std" of a single element is not 0')


def named_after(what):
    return f"layer.{what.replace(' ', '_')}"


@points(0.5)
def test_nonfinite(learner, rng):
    """The elements that are not finite are counted, whatever they are."""
    size, kinds = 12, {"nan": math.nan, "infinity": math.inf, "minus infinity": -math.inf}
    arrays, pulls, counts = {}, {}, {"sound": 0}
    for at, what in enumerate(kinds):
        counts[what] = 2 + at
    for what, count in (counts | {"mixed": 3}).items():
        name = named_after(what)
        arrays[name], pulls[name] = np.ones((3, 4), np.float32), rng.normal(size=(3, 4)).astype(np.float32)
        bad = list(kinds.values()) if what == "mixed" else [kinds[what]] * count if count else []
        pulls[name].flat[rng.permutation(size)[: len(bad)]] = bad
    rows, _ = rows_of(call(learner, "recorded", arrays, pulls), pulls)
    came = {what: entry(rows, named_after(what), "nonfinite") for what in [*counts, "mixed"]}
    if all(agree(came[what], size - counts[what]) for what in counts):
        raise Mistake('"nonfinite" counts the elements that are finite')
    if came["sound"]:
        raise Mistake('"nonfinite" is not 0 though all elements are finite')
    if all(came[what] == 1 for what in kinds):
        raise Mistake('"nonfinite" says whether there are such elements: count them')
    for what, count in counts.items():
        if agree(came[what], count / size) and count:
            raise Mistake('"nonfinite" is a share of the elements: count them')
        if came[what] == 0 and count:
            raise Mistake(f'"nonfinite" does not count {what}')
        if came[what] != count:
            raise Mistake(f'"nonfinite" is wrong for a gradient with {what} in it, several times')
    if came["mixed"] != len(kinds):
        raise Mistake('"nonfinite" is wrong for a gradient with one nan, one infinity and one minus infinity')


@points(0.5)
def test_without_gradient(learner, rng):
    """A parameter without a gradient has the row None, the others have theirs."""
    arrays, pulls = gradients(rng)
    frozen, idle = rng.permutation(list(arrays))[:2].tolist()
    for name in (frozen, idle):
        del pulls[name]
    try:
        found = call(learner, "recorded", arrays, pulls, [frozen])
    except Mistake as mistake:
        if mistake.raised:
            call(learner, "recorded", *gradients(rng))  # if this raises as well, it is not that
            raise Mistake(f"where a parameter has no gradient, {mistake}") from None
        raise
    rows, _ = rows_of(found, pulls)
    for name, why in ((frozen, "that is frozen"), (idle, "that the loss does not depend on")):
        if name not in rows:
            raise Mistake(f"`record` leaves out a parameter {why}: it has a row, which is None")
        if rows[name] is not None:
            raise Mistake(f"`record` gives numbers to a parameter {why}: without a gradient, its row is None")
    for name in pulls:
        entry(rows, name, "norm")
    if set(rows) - set(arrays):
        raise Mistake("`record` has a row for what is not a parameter of this model: does it keep an earlier call's?")
    pulls = {name: 0 * pull for name, pull in pulls.items()}
    rows, _ = rows_of(call(learner, "recorded", arrays, pulls), pulls)
    if any(rows[name] is None for name in pulls):
        raise Mistake("`record` gives None for a gradient of zeros: that is a gradient, and its numbers are 0")
    try:
        rows, total = rows_of(call(learner, "recorded", arrays, {}), arrays)
    except Mistake as mistake:
        raise Mistake(f"where no parameter has a gradient, {mistake}") from None
    if number(total, "the total norm") or any(rows[name] is not None for name in arrays):
        raise Mistake("where no parameter has a gradient, all rows are None, and the total is 0")


@points(0.5)
def test_total(learner, rng):
    """The total norm is that of one long vector, in which a shared parameter counts once."""
    arrays, pulls = gradients(rng)
    arrays["gain"], pulls["gain"] = arrays.pop("tail.scale"), pulls.pop("tail.scale")  # of the model itself
    found = call(learner, "recorded", arrays, pulls)
    check_total(*rows_of(found, pulls), pulls)
    arrays["end.weight"] = "head.weight"
    rows, total = rows_of(call(learner, "recorded", arrays, pulls), [n for n in pulls if n != "head.weight"])
    if "end.weight" in rows and "head.weight" in rows:
        raise Mistake("`record` has two rows for a parameter that two modules share: it is one parameter")
    if "head.weight" not in rows:
        raise Mistake("`record` has the row of a shared parameter under its second name: take the first")
    if agree(number(total, "the total norm"), length(*pulls.values(), pulls["head.weight"])):
        raise Mistake("the total norm counts a parameter that two modules share twice")
    check_total(rows, total, pulls)


def check_total(rows, total, pulls):
    """Check the total norm; one that follows from the learner's own norms is right in itself."""
    total, norms = number(total, "the total norm"), [length(pull) for pull in pulls.values()]
    own = [entry(rows, name, "norm") for name in pulls]
    if agree(total, length(*norms)) or (min(own) > 0 and len(set(own)) == len(own) and agree(total, length(*own))):
        return
    for known in (norms, own):
        if agree(total, sum(known)):
            raise Mistake("the total norm adds up the norms: add up their squares, and take the root")
        if agree(total, length(*known) ** 2):
            raise Mistake("the total norm is a sum of squares: the root is missing")
        if agree(total, length(*known) / math.sqrt(len(known))) or agree(total, sum(known) / len(known)):
            raise Mistake("the total norm is an average of the norms: it is that of one long vector")
        if agree(total, max(known)):
            raise Mistake("the total norm is the largest of the norms")
        if agree(total, math.sqrt(sum(known))):
            raise Mistake("the total norm is the root of the sum of the norms: add up their squares")
        if agree(total, known[-1]):
            raise Mistake("the total norm is that of the last parameter")
    raise Mistake("the total norm is not that of all gradients as one long vector")


@points(0.5)
def test_large_and_small(learner, rng):
    """Gradients whose squares float32 cannot hold have a norm, a standard deviation, and a total."""
    arrays, pulls = gradients(rng)
    seen = []
    for factor, end in ((1e30, "too large"), (1e-30, "too small")):
        scaled = {name: (pull * factor).astype(np.float32) for name, pull in pulls.items()}
        rows, total = rows_of(call(learner, "recorded", arrays, scaled), scaled)
        numbers = {f'the "{key}" of a gradient': entry(rows, "tail.scale", key) for key in ("norm", "std")}
        if end == "too small" and not (entry(rows, "tail.scale", "mean") and entry(rows, "tail.scale", "largest")):
            raise Mistake("`record` turns a small number that is not 0 into 0: round nothing")
        share = numbers['the "norm" of a gradient'] / length(scaled["tail.scale"])
        if 0 < share < math.inf and not 0.9 < share < 1.1:
            raise Mistake(f'the "norm" is far off where squares are {end} for float32: add nothing to them')
        for what, value in (numbers | {"the total norm": number(total, "the total norm")}).items():
            if not 0 < value < math.inf:
                came = "0" if value == 0 else "not finite"
                raise Mistake(
                    f"{what} is {came} where its squares are {end} for float32: use double precision, and round nothing"
                )
        seen.append(total)
    expect.depends_on_input(*seen, name="record")


@points(0.5)
def test_record_leaves_no_trace(learner, rng):
    """Gradients are left as they were, and the numbers are plain."""
    arrays, pulls = gradients(rng)
    pulls["head.weight"].flat[3] = math.nan
    found = call(learner, "recorded", arrays, pulls)
    rows_of(found, pulls)
    for name, after in found["gradients"].items():
        if after is None:
            raise Mistake("after `record`, the gradients are gone")
        if np.asarray(after).dtype != np.float32:
            raise Mistake("after `record`, the gradients have another dtype: convert a copy")
        if not np.array_equal(after, pulls[name], equal_nan=True):
            raise Mistake("`record` changes the gradients: some operation works in place on them")
    double = {name: pull.astype(float) for name, pull in pulls.items()}
    after = call(learner, "recorded", {name: w.astype(float) for name, w in arrays.items()}, double)["gradients"]
    if not all(same(after[name], double[name]) for name in double):
        raise Mistake("`record` changes gradients that are in float64: .double() and .to() copy only if they convert")
    if found["tensors"]:
        raise Mistake("`record` returns tensors, which a log would keep in memory: turn them into plain numbers")
    expect.depends_on_input(found["said"], call(learner, "recorded", *gradients(rng))["said"], name="record")


# 2. Where the first nan is made.

TANH = ("tanh", "tanh", None)
CLASSES = ("Pointwise", "Scale", "Cell", "Chain", "Residual", "Warm")


def safe(rng, name):
    """Draw a part with parts of its own, which makes moderate numbers."""
    kind, weights = str(rng.choice(["scale", "square", "exp"])), rng.uniform(0.5, 1.5, size=3).astype(np.float32)
    return (name, "chain", [("inner", "tanh", None), ("then", kind, weights)])


def inputs(rng):
    return rng.uniform(0.2, 1.5, size=(2, 3)).astype(np.float32)


def every(value):
    return np.full(3, value, np.float32)


def one(rng, value, others=1.0):
    """Return a row of weights, one of them special."""
    weights = every(others)
    weights[rng.integers(3)] = value
    return weights


def named(learner, *args, **kwargs):
    """Return the name that came."""
    said = call(learner, "searched", *args, **kwargs)["said"]
    if said is not None and not isinstance(said, str):
        raise Mistake(f"`first_nonfinite` must return one name or None; it returned {expect.describe(said)}")
    if said and "(" not in said and said not in CLASSES and said.split(".")[-1] not in names_in(args[0]):
        raise Mistake("`first_nonfinite` names what this model does not have: does it keep what another call found?")
    return said


def names_in(parts):
    """Return the last parts of the names of these modules, and of those in them."""
    inner = [names_in(values) for _, kind, values in parts if kind == "chain"]
    return {"cell", "inner"}.union(*inner, (name for name, _, _ in parts))


def hold(came, right, *, missed, early=None, parts=()):
    """Compare names, and say what the wrong one is."""
    if came == right:
        return
    if came is None:
        raise Mistake(f"`first_nonfinite` returns None {missed}")
    if right is not None and right.endswith(f".{came}"):
        raise Mistake("`first_nonfinite` returns the last part of a name: it must be the whole name, with its dots")
    if came == "" or came in parts:
        raise Mistake("`first_nonfinite` names a module that has children: name one of those, or none")
    if came in CLASSES or "(" in came:
        raise Mistake("`first_nonfinite` returns what the module is, not its name in model.named_modules()")
    raise Mistake(early or "`first_nonfinite` names a module other than the one that made the first bad number")


BREAKERS = {
    "a nan": lambda rng: ("bad", "scale", one(rng, math.nan)),
    "an infinity": lambda rng: ("bad", "scale", one(rng, math.inf)),
    "minus infinity": lambda rng: ("bad", "scale", one(rng, -math.inf)),
}


@points(0.5)
def test_the_module_is_named(learner, rng):
    """The module that makes the first nan or infinity is named, and none where all is finite."""
    for what, make in BREAKERS.items():
        parts = [safe(rng, "a"), ("mid", "chain", [TANH, make(rng)]), safe(rng, "b"), TANH]
        last = "which runs last: a function made in a loop sees the loop's variable as it is at the end"
        came = named(learner, parts, inputs(rng))
        early = f"`first_nonfinite` names the module {last}" if came == "tanh" else None
        hold(
            came,
            "mid.bad",
            missed=f"where a module within another one makes {what}",
            early=early,
            parts=["a", "mid", "b"],
        )
    came = named(learner, [safe(rng, "a"), safe(rng, "b"), TANH], inputs(rng))
    if came is not None:
        raise Mistake("`first_nonfinite` names a module though all numbers are finite: it must return None")
    huge = [TANH, ("huge", "scale", every(3.2e38)), ("tiny", "scale", every(1e-38))]
    if named(learner, huge, rng.uniform(0.9, 1.0, size=(4, 3)).astype(np.float32)) is not None:
        raise Mistake("`first_nonfinite` takes large numbers for infinite ones: ask each element, not a sum")


@points(0.5)
def test_the_first_to_run(learner, rng):
    """What runs first counts, not what is defined first, and a module may run twice."""
    late, early = ("late", "log", None), ("early", "scale", one(rng, math.nan))
    parts, calls = [late, TANH, early], ["tanh", "early", "late"]
    said = "`first_nonfinite` goes by the order in which modules are defined: the first to run counts"
    hold(
        named(learner, [early, late, TANH], inputs(rng), ["tanh", "early", "late"]),
        "early",
        missed="where a module makes a nan",
    )
    missed = "where a module without parameters makes a nan"
    hold(named(learner, [TANH, late], -inputs(rng), ["tanh", "late"]), "late", missed=missed)
    hold(named(learner, parts, inputs(rng), calls), "early", missed="where modules run in another order", early=said)
    minus, clean = ("minus", "scale", one(rng, -1.0)), ("clean", "clean", None)  # clean makes 0 of nan
    first, calls = ("first", "log", None), ["tanh", "minus", "first", "clean", "late"]
    missed = "where two modules make a bad number out of good ones, one after the other"
    came = named(learner, [TANH, minus, first, clean, late], inputs(rng), calls)
    last = "`first_nonfinite` names the last module that makes a bad number out of good ones: the first counts"
    hold(came, "first", missed=missed, early=last)
    came = named(learner, [late, first, TANH, minus, clean], inputs(rng), calls)
    hold(came, "first", missed=missed, early=said)
    missed = "where a module runs several times, and makes the first bad number in its"
    came = named(learner, [late, TANH], inputs(rng), ["tanh", "late", "late"])  # of a number below 1, then below 0
    hold(came, "late", missed=f"{missed} last run")
    came = named(learner, [late, TANH], inputs(rng), ["tanh", "late", "late", "late", "tanh"])
    hold(came, "late", missed=f"{missed} last run but one: a later one must not undo that")


@points(0.5)
def test_what_came_in(learner, rng):
    """No module is named for what it was given."""
    came = named(learner, [TANH, ("bad", "scale", one(rng, math.nan)), ("last", "tanh", None)], inputs(rng))
    hold(came, "bad", missed="where a module makes a nan")
    for value in (math.nan, math.inf):
        x = inputs(rng)
        x[rng.integers(2), rng.integers(3)] = value
        if named(learner, [("a", "scale", one(rng, 1.0)), ("b", "scale", one(rng, 2.0))], x) is not None:
            raise Mistake("`first_nonfinite` names a module for a number that was in x: look at its inputs, too")
    x, weights = inputs(rng), np.array([math.inf, 1, 1], np.float32)
    x[:, 0] = math.nan  # clean makes 0 of it, and late a nan of that
    parts = [("first", "scale", weights), ("late", "scale", weights), ("clean", "clean", None)]
    came = named(learner, parts, x, ["first", "late", "clean", "late"])
    said = "where x has a nan, one module makes 0 of it, and another, which was given the nan before, a nan of its own"
    hold(came, "late", missed=said, early="`first_nonfinite` names a module for a number that was in x")
    sums = [("sum", "residual", every(1.0)), ("then", "square", None), TANH]
    x = rng.uniform(2e38, 3e38, size=(2, 3)).astype(np.float32)  # twice that is infinite in float32
    came = named(learner, sums, x)
    if came is not None:
        said = "`first_nonfinite` names a module for what came in: the sum of the one before it overflowed"
        hold(came, None, missed="", early=said, parts=["sum"])


@points(0.5)
def test_tuples(learner, rng):
    """Tuples are looked into, however deep, both those that go in and those that come out."""
    cell, behind = ("cell", "cell", one(rng, math.nan)), ("behind", "cell", every(1.0))
    missed = "where a number within the state of a cell is nan: look into the tuples within tuples"
    early = "`first_nonfinite` sees a nan in a state later than it is made, or in another place"
    hold(named(learner, [TANH, cell, ("last", "tanh", None)], inputs(rng)), "cell", missed=missed, early=early)
    hold(named(learner, [TANH, cell, behind], inputs(rng)), "cell", missed=missed, early=early)
    try:
        if named(learner, [TANH], inputs(rng) * math.nan) is not None:
            return
    except Mistake:  # what happens where nothing is to be named is another test's business
        return
    warm = ("warm", "warm", one(rng, -1.0, others=1.5))
    if named(learner, [TANH, warm, ("last", "tanh", None)], inputs(rng)) == "warm.cell":
        raise Mistake("`first_nonfinite` names a cell whose state came with a nan: look into its inputs' tuples")


@points(0.5)
def test_in_place(learner, rng):
    """A module that overwrites its input is named, and so is one whose output was overwritten."""
    minus = ("minus", "scale", one(rng, -1.0))
    came = named(learner, [TANH, minus, ("over", "log_", None), ("last", "tanh", None)], inputs(rng))
    missed = "where a module writes a nan over its input: look at the input before it runs"
    hold(came, "over", missed=missed, early="`first_nonfinite` blames a module other than the one that works in place")
    came = named(learner, [TANH, minus, ("log", "log", None), ("clean", "clean_", None)], inputs(rng))
    missed = "where a nan was overwritten by the next module: look at an output as soon as it is there"
    hold(came, "log", missed=missed, early="`first_nonfinite` does not blame the module whose output was overwritten")


@points(0.5)
def test_hooks(learner, rng):
    """All hooks are gone, also after an error, which comes through; those of others stay, and gradients are on."""
    case = [TANH, ("bad", "scale", one(rng, math.nan)), ("last", "tanh", None)]
    found = call(learner, "searched", case, inputs(rng))
    if found["said"] is None:
        raise Mistake("`first_nonfinite` returns None where a module makes a nan: this point is for one that finds it")
    check_hooks(found, "")
    on = found["after"]["gradients on"]
    found = call(learner, "searched", [TANH, safe(rng, "a"), ("no", "refuse", None)], inputs(rng))
    if not found["raised"]:
        raise Mistake("where the model raises, `first_nonfinite` keeps the error to itself: let it through")
    check_hooks(found, " after the model has raised an error: remove them in a `finally`")
    if on and not found["after"]["gradients on"]:
        raise Mistake("after the model has raised an error, gradients stay switched off: say `with torch.no_grad():`")


def check_hooks(found, when):
    if found["hooks"] > 0:
        raise Mistake(f"`first_nonfinite` leaves hooks behind{when}")
    if found["hooks"] < 0 or not found["own"]:
        raise Mistake("`first_nonfinite` removes a hook that was there before: remove your own, by their handles")


@points(0.5)
def test_the_model_is_left_alone(learner, rng):
    """The model runs in its modes and without a graph, and it is as it was: modes, parameters, gradients."""
    parts = [
        TANH,
        ("part", "chain", [("a", "scale", every(2.0)), ("b", "scale", every(math.nan))]),
        ("exp", "exp", None),
    ]
    for asleep in ([], ["part.a"], ["part", "exp"]):
        found = call(learner, "searched", parts, inputs(rng), None, asleep)
        before, after = found["before"], found["after"]
        if len(found["runs"]) != 1:
            came = "runs the model more than once" if found["runs"] else "does not run the model, but perhaps a copy"
            raise Mistake(f"`first_nonfinite` {came}: it must run it once")
        ran = found["runs"][0]
        if ran["modes"] != before["modes"]:
            woken = any(ran["modes"][name] and not mode for name, mode in before["modes"].items())
            now = "training" if woken else "evaluation"
            raise Mistake(f"`first_nonfinite` runs a module in {now} mode that was in the other: run it as it is")
        if before["modes"] != after["modes"]:
            raise Mistake("after `first_nonfinite`, a module is in another mode than before, training or evaluation")
        for what in ("parameters", "gradients"):
            if any(not same(after[what][name], value) for name, value in before[what].items()):
                raise Mistake(f"after `first_nonfinite`, {what} are not what they were before")
        if before["requires grad"] != after["requires grad"]:
            raise Mistake("after `first_nonfinite`, `requires_grad` of a parameter is not what it was before")
        if not after["gradients on"]:
            raise Mistake("after `first_nonfinite`, gradients are switched off: say `with torch.no_grad():`")
    if ran["graph"]:
        raise Mistake("`first_nonfinite` builds a graph that nobody goes back through: run under torch.no_grad()")


def same(after, before):
    return after is not None and np.array_equal(after, before, equal_nan=True)


# 3. How far a step goes.


def step(rng, dtype, scale=1.0):
    """Draw parameters, gradients and a rate, until the step changes the norm of each parameter, too."""
    shapes = {"encoder.weight": (4, 3), "encoder.bias": (6,), "head.weight": (2, 2, 3)}
    while True:
        arrays = {name: (rng.normal(size=shape) * scale + scale / 2).astype(dtype) for name, shape in shapes.items()}
        pulls = {name: (rng.normal(size=shape) * scale + scale / 3).astype(dtype) for name, shape in shapes.items()}
        rate = float(rng.uniform(0.2, 0.4))
        if all(abs(length(a - rate * pulls[name]) / length(a) - 1) > 0.02 for name, a in arrays.items()):
            return arrays, pulls, rate


def ratios_of(found, names):
    said = found["said"]
    if not isinstance(said, dict):
        raise Mistake(f"`ratios` must return a dict by name; it returned {expect.describe(said)}")
    if set(names) - set(said):
        raise Mistake("`ratios` leaves a parameter out: names are those of model.named_parameters()")
    return said


def ratio(value):
    if value is None:
        raise Mistake("`ratios` gives None for a parameter that was not 0")
    return number(value, "a ratio")


def wrong_ratios(w, g, rate):
    """Return what mistakes make of a ratio, and how to name them."""
    w, d = w.astype(float), rate * g.astype(float)
    new, size = w - d, length(w)
    right = length(d) / size
    return {
        "divides by the norm after the step: it is the one before": length(d) / length(new),
        "is the square of what it must be: take the roots": right**2,
        "compares two norms: a parameter may move far and keep its norm": abs(length(new) - size) / size,
        "compares two norms, with a sign: it is the norm of the difference": (length(new) - size) / size,
        "is upside down: divide the norm of the step by that of the parameter": 1 / right,
        "is the norm of the step alone: divide by that of the parameter": length(d),
        "divides a norm after the step by one before it: divide the norm of the difference": length(new) / size,
        "is an average of the elements' own ratios: take norms": np.mean(np.abs(d) / np.abs(w)),
        "takes standard deviations for norms": d.std(ddof=1) / w.std(ddof=1),
        "takes standard deviations, of a whole population, for norms": d.std() / w.std(),
        "is the logarithm of what it must be": math.log10(right),
        "is made of sums of absolute values: take the roots of sums of squares": np.abs(d).sum() / np.abs(w).sum(),
        "is made of the gradient, and not of what the step did": length(g) / size,
        "is made of largest elements: take norms": np.abs(d).max() / np.abs(w).max(),
        "is negative: a norm is never": -right,
    }


@points(1)
def test_ratios(learner, rng):
    """The ratio of each parameter is right, in float32 and in float64."""
    for dtype, kind in ((np.float32, "float32"), (np.float64, "float64")):
        arrays, pulls, rate = step(rng, dtype)
        said = ratios_of(call(learner, "stepped", arrays, pulls, rate), arrays)
        came = {name: ratio(said[name]) for name in arrays}
        right = {name: rate * length(pulls[name]) / length(arrays[name]) for name in arrays}
        if all(agree(came[name], right[name], 1e-4) for name in arrays):
            continue
        if not any(came.values()) and dtype is np.float64:
            raise Mistake("all ratios are 0 in float64: .double() and .to() copy only where they convert, so clone")
        if not any(came.values()):
            raise Mistake("all ratios are 0: what `before` keeps changes with the parameters, so keep copies")
        for slip in wrong_ratios(arrays["head.weight"], pulls["head.weight"], rate):
            if all(agree(came[n], wrong_ratios(arrays[n], pulls[n], rate)[slip], 1e-4) for n in arrays):
                raise Mistake(f"a ratio {slip}")
        if len({round(value, 6) for value in came.values()}) == 1:
            raise Mistake("all parameters have the same ratio: each has its own")
        raise Mistake(f"a ratio is wrong, in {kind}, for parameters that a step has moved")
    arrays, pulls, rate = step(rng, np.float64)
    said = ratios_of(call(learner, "stepped", arrays, pulls, rate * 1e-7), arrays)
    right = {name: rate * 1e-7 * length(pulls[name]) / length(arrays[name]) for name in arrays}
    if any(not 0.9 < ratio(said[name]) / right[name] < 1.1 for name in arrays):
        raise Mistake("the ratio of a very small step is wrong in float64: keep float64 as it is, and round nothing")


@points(0.5)
def test_parameters_of_zero(learner, rng):
    """A parameter that was 0 has no ratio, and one that was small has its own."""
    arrays, pulls, rate = step(rng, np.float32)
    arrays["encoder.bias"][:] = 0
    try:
        said = ratios_of(call(learner, "stepped", arrays, pulls, rate), arrays)
    except Mistake as mistake:
        if mistake.raised:
            call(learner, "stepped", *step(rng, np.float32))  # if this raises as well, it is not that
            raise Mistake(f"where a parameter was 0, {mistake}") from None
        raise
    zero = said["encoder.bias"]
    if zero is not None:
        value = number(zero, "a ratio")
        came = "0" if value == 0 else f"{value}" if not math.isfinite(value) else "a number"
        raise Mistake(f"the ratio of a parameter that was 0 is {came}: it must be None")
    for factor, what in ((1e-25, "small"), (1e25, "large")):
        arrays, pulls, rate = step(rng, np.float32, factor)
        said = ratios_of(call(learner, "stepped", arrays, pulls, rate), arrays)
        if any(said[name] is None for name in arrays):
            raise Mistake(f"`ratios` takes a {what} parameter for 0: its squares are lost in float32, or below a bound")
        came = [number(said[name], "a ratio") for name in arrays]
        if not all(1e-6 < abs(value) < 1e6 for value in came):
            raise Mistake(f"the ratio of a {what} parameter is far off: compute in double precision, and add nothing")
    arrays, pulls, rate = step(rng, np.float32)
    frozen = "encoder.weight"
    del pulls[frozen]
    value = rng.uniform(0.5, 1)
    arrays["encoder.bias"][:] = [0, value, -value, 0, 0, 0]
    said = ratios_of(call(learner, "stepped", arrays, pulls, rate, [frozen]), arrays)
    if said["encoder.bias"] is None:
        raise Mistake("`ratios` gives None where some elements were 0, or their sum: there is none only if all were")
    if said[frozen] is None or number(said[frozen], "a ratio") != 0:
        raise Mistake("the ratio of a frozen parameter, which was not 0 and stayed where it was, must be 0")
    for bad, what in ((math.nan, "nan"), (math.inf, "infinite")):
        arrays, pulls, rate = step(rng, np.float32)
        pulls["head.weight"].flat[1] = bad
        said = ratios_of(call(learner, "stepped", arrays, pulls, rate), arrays)
        if said["head.weight"] is None:
            raise Mistake(f"`ratios` gives None where the step made a parameter {what}: only one that was 0 has none")
        if math.isfinite(number(said["head.weight"], "a ratio")):
            raise Mistake(f"the ratio of a parameter is finite where the step made it {what}: do not hide that")


@points(0.5)
def test_ratios_leave_no_trace(learner, rng):
    """What is kept has no graph, ratios are plain, and no parameter is changed."""
    seen = []
    for dtype in (np.float32, np.float64):
        arrays, pulls, rate = step(rng, dtype)
        found = call(learner, "stepped", arrays, pulls, rate)
        for name in arrays:
            moved = arrays[name] - rate * pulls[name]
            if not np.allclose(found["after"][name], moved, rtol=1e-4, atol=1e-5):
                raise Mistake("`before` changes the parameters, or their gradients, which the step needs")
            if not np.array_equal(found["after"][name], found["left"][name]):
                raise Mistake("`ratios` changes the parameters: subtract without working in place")
        if found["graph"]:
            raise Mistake("what `before` keeps belongs to a graph, and keeps it alive: detach it")
        if found["tensors"]:
            raise Mistake("`ratios` returns tensors, which a log would keep in memory: turn them into plain numbers")
        said = ratios_of(found, arrays)
        seen.append([said[name] for name in arrays])
    if any(seen[0]) or not found["keeps"]:  # ratios that are 0 since no copy was kept are another test's business
        expect.depends_on_input(*seen, name="ratios")
