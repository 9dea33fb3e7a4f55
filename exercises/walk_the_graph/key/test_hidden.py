"""Hidden tests of walk_the_graph: each tells the learner which mistake it found, never a value."""

import re
from collections import Counter, deque
from math import prod

import numpy as np
import pytest

from course_grader import Mistake, expect, points
from course_grader.grading.exercises.name_analysis import strip_comments_and_strings

DEEP, DIAMONDS = 30_000, 100


# Graphs, and what is right.


def parents_of(step):
    return step[1:] if step[0] != "leaf" else []


def needed(steps, result):
    """Return the places of all that a value depends on, itself among them."""
    found = {result}
    for i in range(result, -1, -1):
        if i in found:
            found.update(parents_of(steps[i]))
    return found


VALUES = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "matmul": lambda a, b: a @ b,
    "tanh": np.tanh,
    "turned": np.transpose,
    "total": np.sum,
}
VJPS = {
    "add": lambda g, a, b: (g, g),
    "mul": lambda g, a, b: (g * b, g * a),
    "matmul": lambda g, a, b: (g @ b.T, a.T @ g),
    "tanh": lambda g, a: (g * (1 - np.tanh(a) ** 2),),
    "turned": lambda g, a: (g.T,),
    "total": lambda g, a: (g * np.ones_like(a),),
}


def right_grads(steps, g, result):
    """Return the gradient of each leaf that the result depends on, by the order in which the steps were made."""
    data = []
    for name, *args in steps:
        data.append(np.asarray(args[0]) if name == "leaf" else VALUES[name](*(data[i] for i in args)))
    arrived, grads = {result: g}, {}
    for i in sorted(needed(steps, result), reverse=True):
        name, *args = steps[i]
        if name == "leaf":
            grads[i] = arrived[i]
            continue
        for parent, share in zip(args, VJPS[name](arrived[i], *(data[j] for j in args)), strict=True):
            arrived[parent] = arrived.get(parent, 0) + share
    return grads


def matrix(rng):
    return rng.uniform(0.5, 1.5, size=(3, 3)) * rng.choice([-1, 1], size=(3, 3))


def leaves(rng, count):
    """Return the first steps of a graph."""
    return [["leaf", matrix(rng)] for _ in range(count)]


def tangled(rng, size=14):
    """Draw a graph of products and tanhs over three leaves: all is used, some of it often, and at any distance."""
    steps = leaves(rng, 3)
    unused = [0, 1, 2]
    while len(steps) < size or len(unused) > 1:
        i = unused.pop(int(rng.integers(len(unused))))
        kind = ["mul", "mul", "matmul", "tanh"][int(rng.integers(4))] if len(steps) < size else "mul"
        if kind == "tanh":
            steps.append([kind, i])
        else:
            others = range(len(steps)) if len(steps) < size else unused
            pair = [i, int(rng.choice(others))]
            steps.append([kind, *(int(j) for j in rng.permutation(pair))])
            steps.append(["tanh", len(steps) - 1])  # so that nothing grows without bounds
            unused = [j for j in unused if j != pair[1]]
        unused.append(len(steps) - 1)
    return steps


def twice_used(rng):
    """Return graphs in which a value is used early and late: by the result, and by what the result rests on."""
    start = [*leaves(rng, 2), ["mul", 0, 1]]
    chain = [["tanh", 2], ["mul", 3, 1], ["tanh", 4]]
    return [[*start, *chain, ["mul", *pair]] for pair in ([5, 2], [2, 5])]


def waiting(rng):
    """Return graphs in which one operand of the result is an operand of the other, or of what that was made from."""
    start = [*leaves(rng, 3), ["tanh", 0]]
    return [[*start, ["mul", *one], ["mul", *two]] for one in ([3, 1], [1, 3]) for two in ([4, 3], [3, 4])]


def diamonds(rng):
    """Return a tower in which each floor has two ways down, and a leaf of its own."""
    steps, top = [["leaf", rng.uniform(1, 2, size=2)]], 0
    for _ in range(DIAMONDS):
        n = len(steps)
        steps += [["leaf", rng.uniform(0.1, 0.5, size=2)], ["mul", top, n], ["tanh", top], ["add", n + 1, n + 2]]
        top = n + 3
    return steps


def tower(x):
    """Return a graph of thirty thousand sums, one on the other, that all use one more leaf."""
    return [["leaf", x], ["leaf", x], *(["add", i - 1, 0] for i in range(2, DEEP))]


def ladders(size):
    """Return graphs in which each value is used by the next two, as in a network with skip connections."""
    start = [["leaf", 0.0], ["leaf", 0.0]]
    return [[*start, *(["add", i - a, i - b] for i in range(2, size))] for a, b in ((1, 2), (2, 1))]


def packed(steps):
    """Return the steps in fewer words: after its leaves, a deep graph goes over as one operation that is repeated."""
    if len(steps) < DEEP:
        return steps
    name, *args = steps[-1]
    return [*steps[:2], ["repeat", len(steps) - 2, name, *(i and i - len(steps) + 1 for i in args)]]


# Asking the learner.


RAISED = {
    "RecursionError": "`{}` calls itself for each value on the way down, which Python stops after a thousand: "
    "keep a list of what is still to do instead",
    "MemoryError": "`{}` collects so much that no memory can hold it: follow each edge once, not every path",
    "output array is read-only": "`{}` writes into an array that a vjp returned: such a view cannot be written to, "
    "and others may hold it, so make a new array",
    "assignment destination is read-only": "`{}` writes into an array that a vjp returned: such a view cannot be "
    "written to, and others may hold it, so make a new array",
    "unhashable type: 'numpy.ndarray'": "`{}` takes arrays where Values should be told apart: a Value is itself, "
    "whatever it holds",
    "unsupported operand type(s) for +": "`{}` adds to what is not a number or array: a .grad is None before the first "
    "walk, and so is what `get` finds in a dict for a value to which nothing has come yet",
    "has no attribute 'number'": "`{}` asks for the number of a value's creation, but these values have none",
    "KeyError": "`{}` asks a dict for a value that is not in it, or not yet: put something in for it first",
    "tuple index out of range": "`{}` asks for a parent or a vjp that is not there: some operations have one parent",
    "truth value of an array": "`{}` asks whether a whole array is true: to know whether one is there, ask `is None`",
}
RAISED_BY_SUM = {
    "AxisError": "`summed_to` asks for an axis that is not there, or not any more: those after one that is summed "
    "move up",
    "tuple index out of range": "`summed_to` asks a shape for more axes than it has: shapes line up at their last axes",
    "truth value of an array": "`summed_to` asks whether a whole array is true",
}


def call(learner, name, asked, steps, *args, **kwargs):
    """Ask through a function of the setup, and speak of the learner's own."""
    try:
        return learner.call(asked, packed(steps), *args, **kwargs)
    except Mistake as mistake:
        said = str(mistake)
        if not mistake.raised:
            raise mistake.reworded(said.replace(f"`{asked}`", f"`{name}`"), function=name) from None
        if f"name '{name}' is not defined" in said:
            raise Mistake(f"`{name}` is not defined: look at what its own cell says") from None
        if "does not come to an end" in said:
            raise Mistake(said.split(": ", 1)[1]) from None
        for sign, why in RAISED.items():
            if sign in said:
                raise Mistake(why.format(name)) from None
        raise mistake.reworded(said.replace(f"`{asked}`", f"`{name}`"), function=name) from None


def orders(learner, steps, *results, sets=True):
    """Return the orders as places in the list of steps."""
    came = []
    for kind, order in call(learner, "users_first", "orders_found", steps, *results):
        if kind in ("NoneType", "Value", "int", "bool", "dict", "str"):
            what = expect.describe(None) if kind == "NoneType" else f"something of the type {kind}"
            raise Mistake(f"`users_first` must return a list of Values; it returned {what}")
        strange = [entry for entry in order if not isinstance(entry, int)]
        if strange:
            what = f"something of the type {strange[0]}" if strange[0] != "Value" else "a Value of another graph"
            raise Mistake(
                f"the list of `users_first` has {what} in it; it must hold the Values of the graph, and no others"
            )
        if kind in ("set", "frozenset") and not sets:
            raise Mistake(f"`users_first` returns a {kind}, which has no order")
        came.append(order)
    return came


def once(order, steps, result, *, graph):
    """Check that all values are there, and once."""
    right, counts = needed(steps, result), Counter(order)
    if not order:
        raise Mistake(f"`users_first` returns an empty list {graph}")
    if result not in counts:
        raise Mistake(f"{graph} the result itself is missing from the order: it comes first")
    if set(counts) - right:
        raise Mistake(f"{graph} the order has values in it that the result does not depend on")
    missing = right - set(counts)
    if missing and all(steps[i][0] == "leaf" for i in missing) and len(order) == len(counts):
        if any(steps[i][0] == "leaf" for i in counts):
            raise Mistake(f"{graph} a leaf is missing from the order: two leaves may hold the same numbers")
        raise Mistake(f"{graph} the leaves are missing from the order: they belong to it, too")
    if max(counts.values()) > 1:
        raise Mistake(f"{graph} a value is in the order more than once")
    if missing:
        raise Mistake(f"{graph} values are missing from the order")


def first_wrong(order, steps):
    """Return a value and its user that stand in the wrong order, or None; the last place of each counts."""
    at = {i: position for position, i in enumerate(order)}
    for i in at:
        for parent in parents_of(steps[i]):
            if at.get(parent, len(order)) < at[i]:
                return parent, i
    return None


def seen_first(steps, result, *, depth, flipped):
    """Return the order in which a search comes to the values, if it takes each as soon as it sees it."""
    order, todo = [], deque([result])
    while todo:
        i = todo.pop() if depth else todo.popleft()
        if i not in order:
            order.append(i)
            parents = parents_of(steps[i])
            todo.extend(parents[::-1] if flipped else parents)
    return order


def marked_early(steps, result, *, flipped):
    """Return what a search with two visits gives if it marks a value when it is pushed, not when its turn comes."""
    finished, marked, todo = [], {result}, [(result, False)]
    while todo:
        i, done = todo.pop()
        if done:
            finished.append(i)
            continue
        todo.append((i, True))
        for parent in reversed(parents_of(steps[i])) if flipped else parents_of(steps[i]):
            if parent not in marked:
                marked.add(parent)
                todo.append((parent, False))
    return finished[::-1]


def sorted_right(order, steps, result, *, graph):
    """Check that every user comes before what it uses."""
    if first_wrong(order, steps) is None:
        return
    if first_wrong(order[::-1], steps) is None and len(order) > 1:
        raise Mistake("the order is backwards: the parents come first in it, and their users after them")
    for depth, what in ((False, "level by level"), (True, "along one branch to its end, and then along the next")):
        if any(order == seen_first(steps, result, depth=depth, flipped=flipped) for flipped in (False, True)):
            raise Mistake(
                f"{graph} a value comes before one of its users: the order goes {what}, and lists a value when it is "
                "first seen, though other users of it are still to come"
            )
    if any(order == marked_early(steps, result, flipped=flipped) for flipped in (False, True)):
        raise Mistake(
            f"{graph} a value comes before one of its users: it is marked as seen when it is put on the list of what "
            "is to do, and so it cannot move further up when another user leads to it"
        )
    raise Mistake(f"{graph} a value comes before one of its users")


def sound(learner, steps, result):
    """Tell whether `users_first` gives a right order here."""
    try:
        for order in orders(learner, steps, result, result, sets=False):
            once(order, steps, result, graph="")
            if first_wrong(order, steps) is not None:
                return False
    except Mistake:
        return False
    return True


def judged(learner, judge, steps, g, result=None, **kwargs):
    """Have the learner walk, and judge what is left; a wrong `users_first` has cost its own points already.

    So where it is wrong here, the walk is judged by how it goes with a right order.
    """
    result = len(steps) - 1 if result is None else result
    try:
        judge(call(learner, "backward", "walk_found", steps, g, result, **kwargs))
    except Mistake as mistake:
        if sound(learner, steps, result):
            raise
        try:
            order = sorted(needed(steps, result), reverse=True)
            judge(call(learner, "backward", "walk_found", steps, g, result, order=order, **kwargs))
        except Mistake as again:
            if str(again) != str(mistake) and again.raised:
                raise Mistake(
                    f"{mistake}. `users_first` is wrong for this graph: if `backward` rests on it, mend that"
                ) from None
            raise


def agree(came, right):
    return came.shape == np.shape(right) and np.allclose(came, right, rtol=1e-8, atol=1e-11)


def grads_of(found, steps, result):
    """Return the .grad of each leaf that the result depends on."""
    grads = {}
    for leaf in needed(steps, result):
        if steps[leaf][0] == "leaf":
            if leaf not in found["grads"]:
                raise Mistake("after the walk a leaf on which the result depends has no .grad")
            grads[leaf] = expect.array(found["grads"][leaf], name="the .grad of a leaf", shape=np.shape(steps[leaf][1]))
            if not np.any(grads[leaf]):
                raise Mistake("the .grad of a leaf is 0 after the walk, though the result depends on the leaf")
    return grads


def same(came, right):
    return all(agree(came[leaf], right[leaf]) for leaf in right)


# The order.


@points(0.25)
def test_each_value_once(learner, rng):
    """Every value that the result depends on is in the order, and none is in it twice."""
    square = [*leaves(rng, 1), ["tanh", 0], ["mul", 1, 1], ["tanh", 2]]
    same = [["leaf", np.ones((3, 3))], ["leaf", np.ones((3, 3))], ["mul", 0, 1], ["mul", 0, 1], ["mul", 2, 3]]
    beside = [*leaves(rng, 2), ["tanh", 0], ["mul", 2, 1], ["tanh", 2], ["mul", 3, 4]]
    for steps, result, graph in [
        (square, 3, "where one operation uses a value twice,"),
        (same, 4, "where different values hold the same numbers,"),
        (beside, 2, "where the graph goes on beyond the result,"),
        *((steps, len(steps) - 1, "where a value is used early and late,") for steps in twice_used(rng)),
        *((steps, len(steps) - 1, "in a graph with many branches,") for steps in [tangled(rng) for _ in range(4)]),
        (leaves(rng, 1), 0, "where the result is a leaf,"),
    ]:
        [order] = orders(learner, steps, result)
        once(order, steps, result, graph=graph)


@points(2)
def test_users_before_what_they_use(learner, rng):
    """Each value comes before all of its parents, whichever way the graph branches."""
    for steps, graph in [
        *((steps, "where a value is used early and late,") for steps in twice_used(rng)),
        *((steps, "where a result uses a value and what was made of it,") for steps in waiting(rng)),
        *((tangled(rng, 14 + i), "in a graph with many branches,") for i in range(6)),
    ]:
        result = len(steps) - 1
        [order] = orders(learner, steps, result, sets=False)
        if len(set(order)) < 2:
            raise Mistake("`users_first` returns no order of several values: this point is for what comes first in it")
        sorted_right(order, steps, result, graph=graph)


@points(0.25)
def test_order_again(learner, rng):
    """A second call gives a right order, too, and so does one for another value of the same graph."""
    steps = tangled(rng)
    last, inner = len(steps) - 1, len(steps) - 2
    first, *others = orders(learner, steps, last, last, inner)
    if not first:
        raise Mistake("`users_first` returns an empty list")
    if sorted(others[0]) != sorted(first):
        raise Mistake(
            "a second call of `users_first` on the same graph gives other values: something is left over from the first"
        )
    if set(others[1]) - needed(steps, inner) or not set(others[1]) - {inner}:
        raise Mistake("a call of `users_first` for another value of the same graph gives more than that value's order")
    right = [
        sorted(order) == sorted(needed(steps, result)) and first_wrong(order, steps) is None
        for order, result in [(first, last), (others[0], last), (others[1], inner)]
    ]
    if right[0] and not all(right):  # a first order that is wrong has cost its points
        raise Mistake("the first order of `users_first` is right, but that of a later call on the same graph is not")


@points(0.5)
def test_order_of_many_paths(learner, rng):
    """A hundred diamonds, one on the other, take no longer than their edges."""
    steps = diamonds(rng)
    try:
        [order] = orders(learner, steps, len(steps) - 1)
    except Mistake as mistake:
        if endless(mistake):
            raise Mistake(
                "`users_first` does not come to an end for a hundred diamonds, one on the other: it follows every path"
            ) from None
        raise
    if len(set(order)) < 3 * DIAMONDS - 1:  # that the result or the leaves are missing has cost its points
        raise Mistake("for a hundred diamonds, one on the other, values are missing from the order")
    sorted_right(order, steps, len(steps) - 1, graph="for a hundred diamonds, one on the other,")


@points(0.5)
def test_order_of_a_deep_graph(learner, rng):
    """A graph may be thirty thousand values deep."""
    steps = tower(float(rng.uniform(1, 2)))
    try:
        [order] = orders(learner, steps, len(steps) - 1)
    except Mistake as mistake:
        if "come to an end" in str(mistake):
            raise Mistake(
                "`users_first` takes too long for a graph thirty thousand deep: each value may cost only a moment, "
                "so look nothing up in a list"
            ) from None
        raise
    if len(set(order)) < len(steps) - 3:
        raise Mistake("in a graph thirty thousand deep, values are missing from the order")
    keeps_the_limit(learner, "users_first")
    for steps in [ladders(DIAMONDS)[0], *ladders(DEEP)]:
        try:
            orders(learner, steps, len(steps) - 1)
        except Mistake as mistake:
            if endless(mistake):
                if len(steps) < DEEP:
                    return  # to follow every path has cost its points
                raise Mistake(
                    "where each of thirty thousand values is used by the next two, `users_first` takes too long: it "
                    "goes over all that lies below a value again, each time that it finds a longer way there"
                ) from None
            raise


def endless(mistake):
    return "come to an end" in str(mistake) or "no memory" in str(mistake)


def keeps_the_limit(learner, cell):
    """Check that no code of the cell, whatever its comments say, raises Python's limit for calls."""
    if "setrecursionlimit" in strip_comments_and_strings(learner.source(cell)):
        raise Mistake(f"`{cell}` raises Python's limit for calls: keep a list of what is still to do instead")


# The walk.


@points(2)
def test_gradients(learner, rng):
    """Every leaf gets its gradient, in any graph of products and tanhs."""
    g, waits = matrix(rng), "a cotangent must be complete before it is passed on, and no use may be left out"
    for steps, mistake in [
        ([*leaves(rng, 2), ["matmul", 0, 1], ["tanh", 2]], "in a layer, tanh(x w), a gradient is wrong"),
        (
            [*leaves(rng, 1), ["mul", 0, 0]],
            "where one operation uses a value twice, a gradient is wrong: both uses count",
        ),
        (
            [*leaves(rng, 1), ["matmul", 0, 0]],
            "where `matmul` uses a value twice, a gradient is wrong: each of the two uses has a vjp of its own",
        ),
        *((steps, f"where a value is used early and late, a gradient is wrong: {waits}") for steps in twice_used(rng)),
        *(
            (steps, f"where a result and its parent use the same value, a gradient is wrong: {waits}")
            for steps in waiting(rng)
        ),
        *((tangled(rng, 14 + i), f"in a graph with many branches, a gradient is wrong: {waits}") for i in range(4)),
    ]:
        last = len(steps) - 1
        right, from_ones = (right_grads(steps, start, last) for start in (g, np.ones_like(g)))

        def judge(found, steps=steps, last=last, right=right, from_ones=from_ones, mistake=mistake):
            came = grads_of(found, steps, last)
            if same(came, from_ones):
                raise Mistake("`backward` begins with ones: it must begin with the `g` it is given")
            if not same(came, right):
                raise Mistake(mistake)

        judged(learner, judge, steps, g)


@points(0.5)
def test_leaves_alone(learner, rng):
    """Leaves get a .grad, and no other value."""
    for steps in [[*leaves(rng, 2), ["mul", 0, 1], ["tanh", 2]], tangled(rng), twice_used(rng)[0]]:

        def judge(found, steps=steps):
            if not found["grads"]:
                raise Mistake("after the walk no leaf has a .grad")
            if len(steps) - 1 in found["inner"]:
                raise Mistake("the result has a .grad after the walk, though it is no leaf")
            if found["inner"]:
                raise Mistake("a value on the way has a .grad after the walk: it is for leaves alone")

        judged(learner, judge, steps, matrix(rng))
    steps = [*leaves(rng, 3), ["mul", 0, 1], ["mul", 3, 2]]

    def apart(found):
        if 0 not in found["grads"]:
            raise Mistake("after the walk a leaf on which the result depends has no .grad")
        if 2 in found["grads"]:
            raise Mistake("a leaf on which the result does not depend has a .grad after the walk: it stays None")

    judged(learner, apart, steps, matrix(rng), 3)
    alone, g = leaves(rng, 1), matrix(rng)

    def itself(found):
        if 0 not in found["grads"]:
            raise Mistake("where the result is itself a leaf, it has no .grad after the walk")
        if not any(agree(np.asarray(found["grads"][0]), start) for start in (g, np.ones_like(g))):
            raise Mistake("where the result is itself a leaf, its .grad is the cotangent that the walk begins with")

    judged(learner, itself, alone, g)


@points(0.5)
def test_added_to_what_is_there(learner, rng):
    """A gradient is added to the .grad that is there; a second walk of the same graph brings the same again."""
    (steps, flipped), g = twice_used(rng), matrix(rng)
    last = len(steps) - 1
    before, brought = {0: matrix(rng), 1: matrix(rng)}, {}

    def brings(found, steps):
        brought.update(grads_of(found, steps, last))
        starts = (g, np.ones_like(g))  # with which one it begins is another test's business
        rights = [right_grads(steps, start, last) for start in starts]
        if not any(same(brought, right) for right in rights):
            raise Mistake("the gradient of a first walk is wrong already, where a value has two users: mend that first")

    for graph in (flipped, steps):
        judged(learner, lambda found, graph=graph: brings(found, graph), graph, g)

    def adds(found):
        came = grads_of(found, steps, last)
        if same(came, brought):
            raise Mistake("the .grad that a leaf had before is lost: a walk adds to it")
        if not same(came, {leaf: before[leaf] + brought[leaf] for leaf in before}):
            raise Mistake(
                "where a leaf has a .grad before the walk, its .grad afterwards is not that plus its gradient"
            )

    def repeats(found):
        came = grads_of(found, steps, last)
        if same(came, brought):
            raise Mistake(
                "a second walk of the same graph changes no .grad: it must add its gradient to that of the first"
            )
        if not same(came, {leaf: 3 * grad for leaf, grad in brought.items()}):
            raise Mistake(
                "a second walk of the same graph does not bring what the first did: something is left over from it"
            )

    judged(learner, adds, steps, g, grads=before)
    judged(learner, repeats, steps, g, walks=3)

    def itself(found):
        if 0 in found["grads"] and agree(np.asarray(found["grads"][0]), g):
            raise Mistake("where the result is itself a leaf, the .grad that it had before is lost: a walk adds to it")

    judged(learner, itself, leaves(rng, 1), g, grads={0: matrix(rng)})


@points(0.5)
def test_each_vjp_once(learner, rng):
    """Each vjp is called exactly once in a walk: in a hundred diamonds, too, and where a cotangent is 0."""
    small = [*twice_used(rng), *waiting(rng)]
    for steps, g in [
        *((steps, matrix(rng)) for steps in small),
        (small[0], np.zeros((3, 3))),
        (diamonds(rng), np.ones(2)),
    ]:

        def judge(found, g=g):
            if any(count > 1 for count in found["calls"]):
                raise Mistake(
                    "a vjp is called more than once in a walk: wait, pass on the whole sum, and keep its result"
                )
            if 0 in found["calls"]:
                if not np.any(g):
                    raise Mistake(
                        "where a cotangent is 0, a vjp is not called: each is called once, whatever it is given"
                    )
                if not any(found["calls"]):
                    raise Mistake("no vjp is called at all")
                raise Mistake("a vjp on which the result depends is never called")

        try:
            judged(learner, judge, steps, g)
        except Mistake as mistake:
            if "`backward` does not come to an end" in str(mistake) or "no memory" in str(mistake):
                raise Mistake(
                    "`backward` does not come to an end for a hundred diamonds, one on the other: it follows every path"
                ) from None
            raise


@points(0.25)
@pytest.mark.parametrize("whose", ["on the way", "of the leaves"])
def test_shared_arrays(learner, rng, whose):
    """No array changes that another value or the caller holds; each .grad is an array of its own ({whose})."""
    on_the_way(learner, rng) if whose == "on the way" else of_the_leaves(learner, rng)


def on_the_way(learner, rng):
    """Hold the walk against itself where every vjp returns an array of its own."""
    for kind, operations in ALIASED.items():
        for flipped in (False, True):
            steps = [*leaves(rng, 2), *([name, *(args[::-1] if flipped else args)] for name, *args in operations)]
            g, last = np.asarray(rng.uniform(1, 2)) if steps[-1][0] == "total" else matrix(rng), len(steps) - 1
            order = None if sound(learner, steps, last) else sorted(needed(steps, last), reverse=True)
            apart, found = (
                call(learner, "backward", "walk_found", steps, g, last, copies=copies, order=order)
                for copies in (True, False)
            )
            if not same(grads_of(found, steps, last), grads_of(apart, steps, last)):
                raise Mistake(
                    f"where {kind}, the walk changes it though another value has it, too: add into a new array"
                )
            if not np.array_equal(np.asarray(found["g"]), g):
                raise Mistake("the walk changes the array `g` of its caller: add into a new one")


# The leaves are 0 and 1.
ALIASED = {
    "`add` hands one array to both parents": [["mul", 0, 1], ["add", 1, 2], ["add", 0, 3]],
    "`add` hands on the array of the caller": [["mul", 0, 1], ["tanh", 2], ["add", 2, 3]],
    "`add` hands on what another `add` gave it": [
        ["tanh", 0],
        ["mul", 2, 1],
        ["add", 3, 2],
        ["add", 4, 1],
        ["add", 5, 0],
    ],
    "`add` hands one array to both parents, one of which has a share already": [
        ["mul", 0, 1],
        ["add", 2, 0],
        ["add", 3, 2],
    ],
    "`turned` returns a view": [["mul", 0, 1], ["turned", 2], ["add", 0, 3], ["turned", 4], ["add", 1, 5]],
    "`total` returns a view that nobody can write to": [["mul", 0, 1], ["add", 2, 0], ["add", 3, 1], ["total", 4]],
    "what `total` returned is added to": [
        ["mul", 0, 1],
        ["total", 2],
        ["tanh", 2],
        ["total", 4],
        ["add", 3, 5],
        ["total", 6],
    ],
}


def of_the_leaves(learner, rng):
    """Look at who shares memory after walks in which one array could go to several leaves."""
    for steps in [
        [*leaves(rng, 2), ["add", 0, 1]],
        [*leaves(rng, 2), ["tanh", 0], ["add", 2, 1], ["add", 3, 0]],
        [*leaves(rng, 3), ["add", 0, 1], ["mul", 3, 3], ["add", 4, 2]],
        [*leaves(rng, 3), ["add", 0, 1], ["add", 3, 2], ["tanh", 4]],
        [*leaves(rng, 2), ["turned", 0], ["add", 2, 1], ["tanh", 3]],
        [*leaves(rng, 1), ["turned", 0]],
        [*leaves(rng, 1), ["total", 0]],
        leaves(rng, 1),
    ]:
        g = np.asarray(rng.uniform(1, 2)) if steps[-1][0] == "total" else matrix(rng)

        def judge(found, steps=steps):
            if len(steps) > 1:  # a leaf alone is for another test
                grads_of(found, steps, len(steps) - 1)
            if any("g" in pair for pair in found["shared"]):
                raise Mistake(
                    "the .grad of a leaf shares its memory with the caller's `g`: it must be an array of its own"
                )
            if found["shared"]:
                raise Mistake("the .grad arrays of two leaves share memory: scaling one in place scales both")
            if found["locked"]:
                raise Mistake("the .grad of a leaf is a view that nobody can write to: it must be an array of its own")

        judged(learner, judge, steps, g)


@points(0.5)
def test_walk_of_a_deep_graph(learner, rng):
    """The walk goes thirty thousand values deep."""
    steps, g = tower(float(rng.uniform(1, 2))), np.asarray(rng.uniform(1, 2))

    def judge(found):
        grads_of(found, steps, len(steps) - 1)

    try:
        judged(learner, judge, steps, g)
        keeps_the_limit(learner, "backward")
        passes_down_ladders(learner)
    except Mistake as mistake:
        if "`backward` does not come to an end" in str(mistake):
            raise Mistake(
                "`backward` takes too long for a graph thirty thousand deep: each value may cost only a moment, so "
                "look nothing up in a list, and go along each edge once or twice"
            ) from None
        raise


def passes_down_ladders(learner):
    """Hold that a walk comes to an end where its paths cannot be counted; what comes to the leaves fits no number."""
    short, g = ladders(DIAMONDS)[0], np.asarray(0.0)
    try:
        call(learner, "backward", "walk_found", short, g)
    except Mistake as mistake:
        if endless(mistake):
            return  # to follow every path has cost its points
    for steps in ladders(DEEP):
        judged(learner, lambda _: None, steps, g)


# What was stretched.


def summed(learner, rng, g_shape, shape):
    """Ask for the sum, and hold it against what the usual mistakes give."""
    g, where = rng.uniform(0.5, 1.5, size=g_shape), f"from a cotangent of shape {g_shape} to a parent of shape {shape}"
    try:
        made = learner.run("summed_to", g, shape)
    except Mistake as mistake:
        if size := re.search(r"cannot reshape array of size (\d+)", str(mistake) if mistake.raised else ""):
            if int(size[1]) == g.size:
                raise Mistake(f"{where}, `summed_to` reshapes what it has not added up") from None
            raise Mistake(
                f"{where}, `summed_to` adds up over other axes than it should, so that the elements do not fit: shapes "
                "line up at their last axes"
            ) from None
        for sign, why in RAISED_BY_SUM.items():
            if mistake.raised and sign in str(mistake):
                raise Mistake(f"{where}, {why}") from None
        raise
    came = expect.array(made.value, name="what summed_to returns")
    front = len(g_shape) - len(shape)
    axes = (*range(front), *(front + i for i, size in enumerate(shape) if size == 1))
    if came.shape != shape:
        raise Mistake(f"{where}, `summed_to` returns the shape {came.shape}{why_of_shape(came.shape, g_shape, shape)}")
    if not agree(came, g.sum(axis=axes).reshape(shape)):
        first = g[(0,) * front][tuple(slice(1 if size == 1 else None) for size in shape)]
        if agree(came, g.mean(axis=axes).reshape(shape)):
            raise Mistake(f"{where}, `summed_to` takes the mean: each copy counts in full, so add them up")
        if agree(came, first) or agree(came, g.max(axis=axes).reshape(shape)):
            raise Mistake(f"{where}, `summed_to` takes one of the copies: add up all of them")
        if agree(came, summed_from_the_front(g, shape)):
            raise Mistake(
                f"{where}, `summed_to` goes by sizes, which happen to be equal, or by the first axes: shapes line up "
                "at their last"
            )
        if np.isclose(came.sum(), g.sum()):
            raise Mistake(f"{where}, `summed_to` adds up along an axis other than the one that was stretched")
        raise Mistake(f"{where}, `summed_to` is wrong")
    if not np.array_equal(np.asarray(made.args[0]), g):
        raise Mistake("`summed_to` changes `g`, which is not its own")


def summed_from_the_front(g, shape):
    """Return the sum for a parent that is lined up at its first axes, which must have sizes that fit there."""
    axes = tuple(i for i in range(g.ndim) if i >= len(shape) or shape[i] != g.shape[i])
    return g.sum(axis=axes, keepdims=True).reshape([g.shape[i] if i not in axes else 1 for i in range(len(shape))])


def why_of_shape(came, g_shape, shape):
    """Say what a wrong shape comes from."""
    front = len(g_shape) - len(shape)
    if came == g_shape:
        return ": nothing is summed"
    if front and came == (1,) * front + shape:
        return ": the axes that were put in front must be gone"
    if came == tuple(size for size in shape if size != 1):
        return ": an axis that was stretched from 1 stays, with size 1"
    if prod(came) == 1 and prod(shape) > 1:
        return ": all is summed, and not only what was stretched"
    if front and came == g_shape[: len(shape)]:
        return ": the last axes are gone, but those that were put in front are the first"
    if prod(came) > prod(shape):
        return ": not everything that was stretched is summed"
    return ": it must have the parent's shape"


@points(0.5)
def test_axes_put_in_front(learner, rng):
    """Axes that were put in front are summed, and gone."""
    for g_shape, shape in [((4, 3), (3,)), ((3, 3), (3,)), ((2, 4, 3), (3,)), ((2, 4, 3), (4, 3)), ((3, 3, 3), (3, 3))]:
        summed(learner, rng, g_shape, shape)


@points(0.5)
def test_axes_stretched_from_one(learner, rng):
    """Axes that were stretched from 1 are summed, and stay."""
    for g_shape, shape in [
        ((4, 3), (1, 3)),
        ((4, 3), (4, 1)),
        ((4, 3), (1, 1)),
        ((2, 4, 3), (2, 1, 3)),
        ((1, 3), (1, 1)),
    ]:
        summed(learner, rng, g_shape, shape)


@points(0.5)
def test_both_at_once(learner, rng):
    """Axes put in front and axes stretched from 1, in one array."""
    for g_shape, shape in [
        ((2, 4, 3), (4, 1)),
        ((2, 4, 3), (1, 3)),
        ((5, 2, 4, 3), (1, 4, 1)),
        ((4, 3), (1,)),
        ((3, 3, 5), (3, 1)),  # an axis in front has the size of one that stays
    ]:
        summed(learner, rng, g_shape, shape)


@points(0.5)
def test_one_number_and_nothing_to_sum(learner, rng):
    """A parent may be one number, and where nothing was stretched all stays as it is."""
    for g_shape, shape in [((4, 3), ()), ((5,), ()), ((4, 3), (4, 3)), ((), ()), ((1, 3), (1, 3)), ((1, 3), (3,))]:
        summed(learner, rng, g_shape, shape)
