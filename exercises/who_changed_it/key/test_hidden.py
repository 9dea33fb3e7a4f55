"""Hidden tests of who_changed_it: each tells the learner which mistake it found, never a value."""

import numpy as np

from course_grader import Mistake, expect, points

OWN = {"wrote": "writers", "spoiled": "spoiler", "went_stale": "stale"}
REFUSED = {
    "is a view and is being modified inplace": "`{}` sets full backward hooks on modules that write in place, which "
    "PyTorch refuses: forward hooks are enough here",
    "leaf Variable that requires": "`{}` gives the model a leaf that requires a gradient, which a module can't write "
    "to: give it a clone of one",
    "does not require grad": "`{}` goes back from what has no graph: let a copy of x require a gradient, before the "
    "model runs",
    "must be Tensor, not": "a hook of `{}` returns something: it takes the place of what passes",
    "positional argument": "a hook of `{}` is called with other arguments than it takes",
    "'NoneType' object": "`{}` takes None for a tensor: a gradient in the tuple may be None",
    "more than one value is ambiguous": "`{}` asks a whole tensor for one yes or no",
    "list index out of range": "`{}` takes an item of an empty list: where there is nothing to name, say so",
    "pop from empty list": "`{}` takes away more than it has put there: a hook after a module is called once a run",
    "dictionary changed size": "`{}` changes a dict while it goes through it",
    "modified by an inplace operation": "`{}` goes back through a model whose saved tensors were overwritten: no "
    "backward pass is needed here",
}
WORDS = ("gate", "norm", "mix", "act", "proj", "lift", "pool", "tail", "bias", "fold", "warp", "rate")
WEIGHT = np.array([0.5, 1.0, 2.0])
SAVES_INPUT, SAVES_RESULT = ("square", "scale"), ("tanh", "exp", "root", "relu")
COUNTED, SILENT = ("double_", "first_", "relu_"), ("data_", "numpy_")
WITHIN = {
    "skip": lambda h, out: Tensor(h.numbers + out.numbers),
    "plus": lambda h, out: h.write(h.numbers + out.numbers),
    "rooted": lambda h, out: Tensor(np.sqrt(out.numbers)),
}
NEW = {
    "tanh": np.tanh,
    "exp": np.exp,
    "square": np.square,
    "root": np.sqrt,
    "relu": lambda h: np.maximum(h, 0),
    "mask": lambda h: h * (h > 0),
    "scale": lambda h: h * WEIGHT,
    "add": lambda h: h + 1,
    "copied": lambda h: 2 * h,
}


class Tensor:
    """Numbers, and how often they were written to."""

    def __init__(self, numbers):
        self.numbers, self.version = numbers, 0

    def write(self, numbers):
        """Write in place, counted."""
        self.numbers, self.version = numbers, self.version + 1
        return self


class Truth:
    """What the modules of a chain do: who writes and how, and who saves a tensor that is written to later."""

    def __init__(self, parts, x):
        self.writers, self.saved, self.finite = {}, [], True
        with np.errstate(all="ignore"):
            self._run(parts, Tensor(np.array(x, dtype=float)), "")
        self.stale = sorted({name for name, t, version in self.saved if t.version != version})

    def _run(self, parts, h, path):
        first = h
        for name, kind in parts:
            if isinstance(kind, str):
                h = self._step(path + name, kind, h)
                self.finite &= bool(np.all(np.abs(h.numbers) < 1e4))
            else:
                begun = h
                h = self._run(kind, h, f"{path}{name}.")
                h = WITHIN[name](begun, h) if name in WITHIN else h
        return h if parts else first

    def _step(self, name, kind, h):
        if kind in NEW:
            out = Tensor(NEW[kind](h.numbers))
            kept = h if kind in SAVES_INPUT else out if kind in SAVES_RESULT else None
            self.saved += [(name, kept, kept.version)] if kept else []
            return out
        if kind in SILENT:
            self.writers.setdefault(name, "silent")
            h.numbers = 2 * h.numbers
            return Tensor(h.numbers)
        if kind == "relu_" and (h.numbers < 0).any():
            self.writers[name] = "counted"
            self.saved.append((name, h.write(np.maximum(h.numbers, 0)), h.version))
        if kind in ("double_", "first_"):
            self.writers[name] = "counted"
            h.write(h.numbers * ([2, 2, 2] if kind == "double_" else [2, 1, 1]))
        return h


def inputs(rng):
    """Draw x: both signs in each column, and no number near 0."""
    x = rng.uniform(0.3, 1.5, size=(2, 3)) * np.array([[1.0], [-1.0]])
    return x.astype(np.float32)


def named(rng, kinds):
    """Give drawn names to kinds, in a plain chain: names with dots are the business of their own tests."""
    names = rng.permutation(WORDS)[: len(kinds)].tolist()
    return list(zip(names, kinds, strict=True))


def drawn(rng, make, telling):
    """Draw kinds and x until the chain tells; ``make`` returns kinds, or pairs of a name and parts among them."""
    while True:
        parts, x = make(), inputs(rng)
        truth = Truth(parts, x)
        if truth.finite and telling(truth):
            return parts, x, truth


def paths(parts, path=""):
    """Return the names of the modules without children, and those of the others."""
    leaves, others = [], []
    for name, kind in parts:
        if isinstance(kind, str):
            leaves.append(path + name)
        else:
            inner = paths(kind, f"{path}{name}.")
            leaves, others = leaves + inner[0], [*others, path + name, *inner[1]]
    return leaves, others


def look(learner, driver, parts, x, *hidden):
    """Return what a tool says and leaves behind; a mistake says it in the exercise's words."""
    own = OWN[driver]
    try:
        return learner.call(driver, parts, x, *hidden)
    except Mistake as mistake:
        for sign, message in REFUSED.items():
            if mistake.raised and sign in str(mistake):
                raise Mistake(message.format(own)) from None
        raise mistake.reworded(str(mistake).replace(f"`{driver}`", f"`{own}`", 1), function=own) from None


def known_names(own, names, parts, *, containers=False):
    """Return the names of modules without children; to name others is a mistake in the tests of containers alone."""
    leaves, others = paths(parts)
    for name in names:
        if not isinstance(name, str):
            raise Mistake(f"`{own}` names something that is {expect.describe(name)}: names are text, with dots")
        if name in leaves or (not containers and name in ("", *others)):
            continue
        if name == "" or name in others:
            raise Mistake(f"`{own}` names a module that has children: only those without are to be named")
        if any(leaf.endswith(f".{name}") for leaf in leaves):
            raise Mistake(f"`{own}` gives the last part of a name: it must be the whole name, with its dots")
        raise Mistake(f"`{own}` names what this model does not have: names are those of model.named_modules()")
    return [name for name in names if name in leaves]


LATE = (
    "`{}` names the model's last module, whichever it was: a hook that is made in a loop sees the loop's `name` as it "
    "is when the hook runs, and that is the last one. Make each hook in a function that takes the name, or keep it as "
    "a default, `name=name`"
)


def left_as_found(own, found, *, when="", but=()):
    """Check what must be the same before and after."""
    what = {
        "hooks": "the hooks are not those that were there before: remove each of your own, and no other",
        "forward methods": "the forward method of a module has been replaced: use hooks",
        "modes": "a module's mode is another one than before, or gradients are switched off",
        "parameters": "a parameter has changed",
        "gradients": "the `.grad` of a parameter has changed: torch.autograd.grad leaves them alone",
        "x": "x has changed: give the model a copy",
    }
    for name, message in what.items():
        if name in found["changed"] and name not in but:
            raise Mistake(f"after `{own}`{when}, {message}")


# 1. Who writes into its input.


def wrote(learner, parts, x, *, containers=False):
    """Return who writes, as a dict of names."""
    said = look(learner, "wrote", parts, x)["said"]
    if not isinstance(said, dict):
        raise Mistake(f"`writers` must return a dict; it returned {expect.describe(said)}")
    said = {name: said[name] for name in known_names("writers", said, parts, containers=containers)}
    wrong = [word for word in said.values() if word not in ("counted", "silent")]
    if wrong:
        raise Mistake('a value in the dict of `writers` is neither "counted" nor "silent"')
    return said


def writers_are(said, right, missed):
    """Compare two dicts, and say what is wrong with the first."""
    if said == right:
        return
    for name, word in right.items():
        if name not in said:
            raise Mistake(f"`writers` overlooks a module {missed}")
        if said[name] != word:
            other = "the version moved" if word == "counted" else "the version did not move"
            raise Mistake(f'`writers` says "{said[name]}" of a module {missed}: {other}, so it is "{word}"')
    raise Mistake("`writers` accuses a module that writes nothing: compare right before it runs with right after it")


def one_of(rng, culprits, *, safe=("tanh", "add", "scale", "exp", "copied"), steps=5):
    """Draw kinds: safe steps, and one culprit that is not the first and not the last."""
    kinds = rng.choice(safe, size=steps).tolist()
    kinds[rng.integers(1, steps - 1)] = str(rng.choice(culprits))
    return kinds


@points(0.5)
def test_counted_writes(learner, rng):
    """In-place operations are found, also through a view, and where no number changes much."""
    if finds_somebody(learner, rng) == ["tail"]:
        raise Mistake(LATE.format("writers"))
    missed = {
        "double_": "that writes in place",
        "first_": "that writes through a view of its input",
        "relu_": "that writes only for some inputs",
    }
    for kind, how in missed.items():
        parts, x, truth = drawn(rng, lambda kind=kind: named(rng, one_of(rng, [kind])), lambda t: len(t.writers) == 1)
        writers_are(wrote(learner, parts, x), truth.writers, how)
    zero = [("gate", "mask"), ("mix", "double_"), ("tail", "add")]
    said = wrote(learner, zero, -np.abs(inputs(rng)))
    writers_are(said, {"mix": "counted"}, "whose write changes no number, as it doubles zeros")
    several = [("pool", "same"), ("gate", "exp"), ("mix", "double_"), ("tail", "add"), ("fold", "first_")]
    said = wrote(learner, several, inputs(rng))
    if len(said) == 1:
        raise Mistake("`writers` names one of several modules that write")
    writers_are(said, {"mix": "counted", "fold": "counted"}, "among several that write")


@points(1)
def test_silent_writes(learner, rng):
    """Writes that no version counter sees are found, and told from the others."""
    late = finds_somebody(learner, rng) == ["tail"]
    for kind, how in (("data_", "that writes through .data"), ("numpy_", "that writes through NumPy")):
        parts, x, truth = drawn(rng, lambda kind=kind: named(rng, one_of(rng, [kind])), lambda t: len(t.writers) == 1)
        said = wrote(learner, parts, x)
        if not said:
            raise Mistake(f"`writers` overlooks a module {how}: no counter tells, so compare copies of the numbers")
        if late:
            raise Mistake(LATE.format("writers"))
        writers_are(said, truth.writers, how)
    both = [("gate", "exp"), ("mix", "data_"), ("tail", "double_"), ("fold", "add")]
    said = {name: word for name, word in wrote(learner, both, inputs(rng)).items() if name != "tail"}
    writers_are(said, {"mix": "silent"}, "that writes silently, before one whose write is counted")


@points(0.5)
def test_writers_within_a_block(learner, rng):
    """Modules within others are watched, and named by their whole names; those with children are not named."""
    if finds_somebody(learner, rng) == ["tail"]:
        raise Mistake(LATE.format("writers"))
    parts = [("gate", "exp"), ("block", [("mix", "tanh"), ("block", [("act", "double_")])]), ("tail", "add")]
    said = wrote(learner, parts, inputs(rng), containers=True)
    if not said:
        raise Mistake(
            "`writers` overlooks a module that stands within another one: model.named_modules() has all of them, "
            "model.named_children() the outermost alone"
        )
    writers_are(said, {"block.block.act": "counted"}, "that stands within another one")
    wrote(learner, [("gate", "exp"), ("plus", [("mix", "tanh")])], inputs(rng), containers=True)


@points(0.5)
def test_nobody_is_accused_falsely(learner, rng):
    """A module that changes nothing is not named, whatever it returns and whatever it is given."""
    finds_somebody(learner, rng)
    if wrote(learner, [("gate", "exp"), ("mix", "same"), ("tail", "add")], inputs(rng)):
        raise Mistake("`writers` accuses a module that returns the tensor it was given")
    said = wrote(learner, [("gate", "exp"), ("mix", "same"), ("act", "double_"), ("tail", "add")], inputs(rng))
    if "mix" in said:
        raise Mistake(
            "`writers` accuses a module that ran before the write: look right after each module, not at the end"
        )
    x = inputs(rng)
    innocent = {
        "that writes into a copy of its input": [("gate", "exp"), ("mix", "copied"), ("tail", "add")],
        "that had nothing to write this time": [("gate", "exp"), ("mix", "relu_"), ("tail", "add")],
        "that has nothing but a container around it which writes": [("gate", "exp"), ("plus", [("mix", "tanh")])],
    }
    for who, parts in innocent.items():
        if wrote(learner, parts, x):
            raise Mistake(f"`writers` accuses a module {who}")
    x[0, rng.integers(3)] = np.nan
    said = wrote(learner, [("gate", "add"), ("mix", "scale"), ("tail", "tanh")], x)
    if said:
        raise Mistake("`writers` accuses a module whose input has a nan: a nan is not equal to itself")


def finds_somebody(learner, rng):
    """Return whom a tool names where mix writes; refuse one that says the same where nobody does."""
    said = list(wrote(learner, [("gate", "exp"), ("mix", "double_"), ("tail", "add")], inputs(rng)))
    if not said:
        raise Mistake("`writers` overlooks a module that writes in place, so what it spares says nothing")
    if list(wrote(learner, [("gate", "exp"), ("mix", "tanh"), ("tail", "add")], inputs(rng))) == said:
        raise Mistake("`writers` names the same modules whether one of them writes or none does")
    return said


@points(0.5)
def test_writers_runs_once_on_a_copy(learner, rng):
    """The model runs once, on a copy of x, and its first module may be the one that writes."""
    for kind in ("double_", "data_"):
        parts, x = [("gate", kind), ("mix", "tanh")], inputs(rng)
        if kind == "double_" and not wrote(learner, parts, x):
            raise Mistake("`writers` overlooks a module that writes into the model's own input")
        found = look(learner, "wrote", parts, x)
        if found["runs"] != 1:
            raise Mistake(f"`writers` runs the model {found['runs']} times: once is enough, and it may have a state")
        if "x" in found["changed"]:
            raise Mistake("after `writers`, x has changed: the first module wrote into it, so give the model a copy")


@points(0.5)
def test_writers_leaves_no_trace(learner, rng):
    """The hooks of `writers` are gone afterwards, also when the model raises, and its error comes through."""
    finds_somebody(learner, rng)
    leaves_no_trace(learner, rng, "wrote", [("gate", "exp"), ("mix", "tanh")])


def leaves_no_trace(learner, rng, driver, parts, *, refusing="refuse", but=("x",)):
    """Check what is left of a run that returns, and of one that raises."""
    own = OWN[driver]
    left_as_found(own, look(learner, driver, parts, inputs(rng)), but=but)
    found = look(learner, driver, [*parts, ("tail", refusing)], inputs(rng))
    if not found["raised"]:
        raise Mistake(f"the model raised an error, and `{own}` keeps it back: it must come through")
    left_as_found(own, found, when=" and an error in the model", but=but)


# 2. Who spoils the gradient.


def spoiled(learner, parts, x, *hidden):
    """Return the name that came."""
    said = look(learner, "spoiled", parts, x, *hidden)["said"]
    if said is not None and not isinstance(said, str):
        raise Mistake(f"`spoiler` must return one name or None; it returned {expect.describe(said)}")
    if said is not None:
        known_names("spoiler", [said], parts, containers=True)
    return said


def watches_the_last(learner, rng):
    """Refuse hooks that all have the last name, which is also said of a gradient that is finite where it ends."""
    parts = [("gate", "tanh"), ("act", "relu"), ("mix", "root"), ("tail", "scale")]
    if spoiled(learner, parts, inputs(rng)) == "tail" and spoiled(learner, parts[:2] + parts[3:], inputs(rng)) is None:
        raise Mistake(LATE.format("spoiler"))


SMOOTH = ("tanh", "scale", "add", "exp")


def find(parts, mark):
    """Return the name of the step of this kind."""
    return next(name for name, kind in parts if kind == mark)


@points(0.75)
def test_the_spoiler_is_named(learner, rng):
    """The module that made the first bad gradient is named, wherever it is."""
    watches_the_last(learner, rng)
    for _ in range(2):
        parts, x = drawn_spoiled(rng, ["blow up"])
        names(spoiled(learner, parts, x), find(parts, "blow up"), "that makes an infinite gradient")
    parts, x = drawn_spoiled(rng, ["mask", "root"])
    names(spoiled(learner, parts, x), find(parts, "root"), "that takes the root of 0, where the slope is infinite")


@points(0.25)
def test_spoiler_within_a_block(learner, rng):
    """Modules within others are watched, and named by their whole names."""
    watches_the_last(learner, rng)
    for within in ("block", "skip"):
        parts = [("gate", "exp"), (within, [("mix", "tanh"), ("block", [("fold", "blow up")])]), ("tail", "scale")]
        said = spoiled(learner, parts, inputs(rng))
        if said is None:
            raise Mistake(
                "`spoiler` overlooks a module that stands within another one: model.named_modules() has all of them, "
                "model.named_children() the outermost alone"
            )
        names(said, f"{within}.block.fold", "that stands within another one and makes a bad gradient")


@points(0.5)
def test_a_hidden_hook(learner, rng):
    """A module on which somebody left a hook that spoils its gradient is named."""
    watches_the_last(learner, rng)
    parts, x = drawn_spoiled(rng, ["square"])
    hidden = find(parts, "square")
    names(spoiled(learner, parts, x, hidden), hidden, "on which somebody left a hook that makes its gradient nan")


def drawn_spoiled(rng, culprits):
    """Draw a chain of smooth steps, with these culprits somewhere within, one after the other."""

    def make():
        kinds = rng.choice(SMOOTH, size=4).tolist()
        at = int(rng.integers(1, 4))
        return named(rng, [*kinds[:at], *culprits, *kinds[at:]])

    while True:
        parts, x = make(), inputs(rng)
        forward = [(name, "copied" if kind == "blow up" else kind) for name, kind in parts]
        if Truth(forward, x).finite and ("root" not in culprits or zeros_at_the_root(parts, x)):
            return parts, x


def zeros_at_the_root(parts, x):
    """Tell whether the step before the root makes zeros of negative numbers."""
    h = np.array(x, dtype=float)
    with np.errstate(all="ignore"):
        for _, kind in parts[: parts.index((find(parts, "root"), "root"))]:
            h = NEW[kind](h)
    return bool((h == 0).any() and (h > 0).any())


def names(said, right, who):
    """Compare one name."""
    if said == right:
        return
    if said is None:
        raise Mistake(f"`spoiler` returns None where there is a module {who}")
    raise Mistake(f"`spoiler` names another module than the one {who}")


@points(0.5)
def test_the_first_in_the_backward_pass(learner, rng):
    """Of two, the one that the backward pass meets first is named."""
    watches_the_last(learner, rng)
    parts = [("gate", "tanh"), ("mix", "blow up"), ("act", "relu"), ("fold", "root"), ("tail", "exp")]
    said = spoiled(learner, parts, inputs(rng))  # relu cleans what the root of 0 has made
    if said == "mix":
        raise Mistake(
            "`spoiler` names a module that the backward pass meets after another one that makes a bad gradient"
        )
    names(said, "fold", "that the backward pass meets first")


@points(0.5)
def test_nobody_spoils(learner, rng):
    """None where all is finite, or a container made it; a gradient that is cleaned on its way was bad all the same."""
    x = inputs(rng)
    if spoiled(learner, [("gate", "tanh"), ("act", "relu"), ("mix", "root"), ("tail", "scale")], x) is None:
        who = "whose bad gradient is cleaned by the next one: ask each module, not the result"
        raise Mistake(f"`spoiler` returns None where there is a module {who}")
    if spoiled(learner, [("gate", "tanh"), ("block", [("mix", "exp")]), ("tail", "scale")], x) is not None:
        raise Mistake("`spoiler` names a module though all gradients are finite: it must return None")
    said = spoiled(learner, [("gate", "mask"), ("rooted", [("mix", "scale")]), ("tail", "tanh")], x)
    if said is not None:
        raise Mistake(
            "`spoiler` blames a module for a bad gradient that it received: ask for both, received and returned"
        )


def finds_a_nan(learner, rng):
    """Refuse a tool that finds nothing, or the same in each model: what it leaves behind says nothing."""
    x = -np.abs(inputs(rng))  # so that relu cleans whatever mix has made, and the result says nothing
    models = {
        kind: [("gate", "tanh"), ("act", "relu"), ("mix", kind), ("tail", "scale")] for kind in ("exp", "blow up")
    }
    spared = look(learner, "spoiled", models["exp"], x)["said"]
    for kind, hidden in (("exp", ["mix"]), ("blow up", [])):
        found = look(learner, "spoiled", models[kind], x, *hidden)
        if found["said"] is not None and found["said"] != spared:
            return found
    raise Mistake("`spoiler` does not find a module that spoils its gradient, so what it leaves behind says nothing")


@points(0.5)
def test_spoiler_touches_nothing(learner, rng):
    """The model runs once, and parameters' `.grad`, x and hooks are what they were."""
    found = finds_a_nan(learner, rng)
    left_as_found("spoiler", found)
    if found["runs"] != 1:
        raise Mistake(f"`spoiler` runs the model {found['runs']} times: once is enough, and it may have a state")


@points(0.5)
def test_spoiler_and_errors(learner, rng):
    """Those of `spoiler` are gone also when the forward or the backward pass raises, and the error comes through."""
    finds_a_nan(learner, rng)
    for refusing in ("refuse", "refuse backward"):
        parts = [("gate", "tanh"), ("mix", "scale")]
        leaves_no_trace(learner, rng, "spoiled", parts, refusing=refusing, but=("x", "gradients"))


# 3. Whose saved tensor is it.


def went_stale(learner, parts, x, *, containers=False):
    """Return the names that came."""
    said = look(learner, "went_stale", parts, x)["said"]
    if isinstance(said, (str, dict)) or not isinstance(said, (list, tuple)):
        raise Mistake(f"`stale` must return a list of names; it returned {expect.describe(said)}")
    return known_names("stale", said, parts, containers=containers)


def owners_are(said, right, missed):
    """Compare names in any order."""
    if set(said) == set(right):
        return
    if set(right) - set(said):
        raise Mistake(f"`stale` overlooks a module {missed}")
    raise Mistake("`stale` names a module whose saved tensors are as they were")


@points(1)
def test_owners_are_named(learner, rng):
    """The module that saved what was written to later is named, not the one that wrote."""
    watches_each(learner, rng)
    for saver in ("tanh", "exp", "root"):
        writer = str(rng.choice(["double_", "first_"]))

        def make(saver=saver, writer=writer):
            kinds = rng.choice(["add", "copied", "exp"], size=4).tolist()
            at = int(rng.integers(1, 4))
            return named(rng, [*kinds[:at], saver, writer, *kinds[at:]])

        parts, x, truth = drawn(rng, make, lambda t: len(t.stale) == 1)
        said = went_stale(learner, parts, x)
        if set(said) & set(truth.writers):
            raise Mistake("`stale` names the module that writes: it is the one that saved the tensor before")
        if not said:
            raise Mistake(
                "`stale` overlooks a module whose result was overwritten: does the model's input require a gradient, "
                "so that every module saves what it needs?"
            )
        owners_are(said, truth.stale, "that saved its result, into which the next one writes")
    several = [("pool", "exp"), ("gate", "exp"), ("mix", "double_"), ("fold", "tanh"), ("tail", "first_")]
    owners_are(went_stale(learner, several, inputs(rng)), ["gate", "fold"], "among several")


@points(0.5)
def test_owners_within_a_block(learner, rng):
    """Modules within others are watched, and named by their whole names, also where the container writes."""
    watches_each(learner, rng)
    parts = [("gate", "scale"), ("block", [("mix", "tanh"), ("block", [("act", "exp")])]), ("tail", "double_")]
    said = went_stale(learner, parts, inputs(rng), containers=True)
    if not said:
        raise Mistake(
            "`stale` overlooks a module that stands within another one: model.named_modules() has all of them, "
            "model.named_children() the outermost alone"
        )
    owners_are(said, ["block.block.act"], "that stands within another one")
    for saver in ("square", "scale"):
        parts = [("gate", "scale"), ("plus", [("mix", saver), ("act", "add")]), ("tail", "add")]
        said = went_stale(learner, parts, inputs(rng), containers=True)
        owners_are(said, ["plus.mix"], "that saved its input, into which the container around it writes")


@points(0.5)
def test_harmless_writes(learner, rng):
    """A write that nobody's saved tensor suffers from makes nobody stale."""
    saves_somebody(learner, rng)
    harmless = {
        "that saved its input, when only its result is written to": [
            ("gate", "scale"),
            ("mix", "square"),
            ("tail", "double_"),
        ],
        "that saved nothing": [("gate", "add"), ("mix", "double_"), ("tail", "double_")],
        "that saved its result after the write": [("gate", "add"), ("mix", "double_"), ("tail", "exp")],
        "that is written to silently: the version counter decides": [("gate", "exp"), ("mix", "data_")],
        "that saved the very tensor which it wrote": [("gate", "add"), ("mix", "scale"), ("tail", "relu_")],
    }
    for who, parts in harmless.items():
        x = inputs(rng)
        if Truth(parts, x).stale:
            continue
        if went_stale(learner, parts, x):
            raise Mistake(f"`stale` names a module {who}")
    two = [("pool", "scale"), ("gate", "exp"), ("mix", "double_"), ("tail", "double_")]
    if not went_stale(learner, two, inputs(rng)):
        raise Mistake("`stale` overlooks a module whose result is written to twice")
    said = went_stale(learner, [("pool", "scale"), ("plus", [("mix", "square"), ("act", "add")])], inputs(rng))
    if len(said) > len(set(said)):
        raise Mistake("`stale` names a module twice: each name stands in the list once")


SAVES, SPARES = (
    [("gate", "scale"), ("mix", "exp"), ("tail", writer), ("fold", "add")] for writer in ("double_", "copied")
)


def saves_somebody(learner, rng):
    """Return whom a tool names of whom mix is right; refuse one whose names say nothing."""
    said = went_stale(learner, SAVES, inputs(rng))
    if not said:
        raise Mistake("`stale` overlooks a module whose result was overwritten, so what it spares says nothing")
    if "tail" in said:
        raise Mistake("`stale` names the module that writes: it is the one that saved the tensor before")
    if set(went_stale(learner, SPARES, inputs(rng))) == set(said):
        raise Mistake("`stale` names a module whose saved tensors are as they were: compare each version afterwards")
    return said


def watches_each(learner, rng):
    """Refuse hooks that all have the last name."""
    if saves_somebody(learner, rng) == ["fold"]:
        raise Mistake(LATE.format("stale"))


@points(0.5)
def test_nobodys_tensor(learner, rng):
    """What a container saves in its own work is nobody's, and the model runs once, on a copy of x."""
    saves_somebody(learner, rng)
    parts = [("gate", "exp"), ("rooted", [("mix", "add")]), ("tail", "double_")]
    if went_stale(learner, parts, inputs(rng)):
        raise Mistake("`stale` blames a module for what the container around it saved: by then it has ended")
    found = look(learner, "went_stale", [("gate", "double_"), ("mix", "exp"), ("tail", "double_")], inputs(rng))
    if "x" in found["changed"]:
        raise Mistake("after `stale`, x has changed, or requires a gradient: give the model a copy")
    if found["runs"] != 1:
        raise Mistake(f"`stale` runs the model {found['runs']} times: once is enough, and it may have a state")


@points(0.5)
def test_stale_leaves_no_trace(learner, rng):
    """The hooks of `stale` are gone afterwards, also when the model raises, and its error comes through."""
    saves_somebody(learner, rng)
    leaves_no_trace(learner, rng, "went_stale", [("gate", "exp"), ("mix", "double_")])
