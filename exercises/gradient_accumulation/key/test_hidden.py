"""Hidden tests of gradient_accumulation: each tells the learner which mistake it found, never a value."""

import numpy as np

from course_grader import Mistake, expect, points, rests_on

SHAPES = {"w1": (3, 5), "b1": (5,), "w2": (5, 4), "b2": (4,)}
RIGHT_ACCUMULATE = """
def accumulate(params, pieces):
    tensors, total, rows = leaves(params), 0.0, sum(len(y) for _, y in pieces)
    for x, y in pieces:
        loss = mean_loss(tensors, x, y) * (len(y) / rows)
        loss.backward()
        total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
"""


def draw(rng, *sizes):
    """Return parameters, and pieces with these numbers of rows."""
    params = {name: rng.normal(size=shape) for name, shape in SHAPES.items()}
    return params, [(rng.normal(size=(n, 3)), rng.integers(4, size=n)) for n in sizes]


def joined(pieces):
    x, y = zip(*pieces, strict=True)
    return np.concatenate(x), np.concatenate(y)


def right_answer(params, x, y):
    """Return loss and gradients of the mean over the rows that count, derived by hand."""
    x, y = x[y >= 0], y[y >= 0]
    h = np.tanh(x @ params["w1"] + params["b1"])
    z = h @ params["w2"] + params["b2"]
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    rows = np.arange(len(y))
    loss = -np.log(p[rows, y]).mean()
    p[rows, y] -= 1
    g = p / len(y)
    back = (g @ params["w2"].T) * (1 - h * h)
    return float(loss), {"w1": x.T @ back, "b1": back.sum(axis=0), "w2": h.T @ g, "b2": g.sum(axis=0)}


def flat(tree):
    return np.concatenate([np.ravel(tree[name]) for name in SHAPES])


def agree(came, right, *, tolerance=1e-7):
    return bool(np.all(np.isfinite(came))) and np.abs(came - right).max() <= tolerance * max(1e-3, np.abs(right).max())


def arrays(tree, *, what):
    """Check that there is an array for each parameter, and return all in one row."""
    if not isinstance(tree, dict):
        raise Mistake(f"{what} are {expect.describe(tree)}; they must be a dict with the keys of params")
    for name, shape in SHAPES.items():
        if name not in tree:
            raise Mistake(f"{what} have no {name}")
        if tree[name] is None:
            raise Mistake(f"{name} of {what} is None, as .grad is until a backward() has filled it")
        expect.array(tree[name], name=f"{name} of {what}", shape=shape)
    return flat(tree)


def call(learner, name, *args):
    return run(learner, name, *args).value


def run(learner, name, *args):
    """Run; where it raises because of what it may rest on, say what to mend first."""
    needed = {"accumulate": lambda: answered(learner, "accumulate", *draw(np.random.default_rng(0), 3, 2))}
    try:
        with expect.blame_dependency(name, needed if name in ("train", "accumulate_padded") else {}, maybe=True):
            return learner.run(name, *args)
    except Mistake as mistake:
        if mistake.raised == "AttributeError" and "'NoneType' object has no attribute" in str(mistake):
            why = "a .grad is None until a backward() has filled it, as in a group without pieces"
            raise Mistake(f"{mistake}: {why}") from None
        raise


def answered(learner, function, *args):
    loss, grads = expect.pair(call(learner, function, *args), "the loss and the gradients", name=function)
    if isinstance(loss, dict) and not isinstance(grads, dict):
        raise Mistake(f"`{function}` returns the gradients first: the loss comes first, and then the gradients")
    return float(expect.array(loss, name="the loss", shape=())), arrays(grads, what="the gradients")


def one_piece_at_a_time(learner, function, pieces):
    """Check that no more rows were in memory together since `forget` than pieces have: else nothing is saved."""
    seen, sizes = learner.eval("held"), sorted(len(y) for _, y in pieces)
    if not seen and function != "train":  # which may take its gradients from a `whole` that needs no mean_loss
        raise Mistake(f"`{function}` never calls mean_loss: take the loss of each piece with it")
    if any(rows > sizes[-1] for rows, _ in seen):
        raise Mistake(f"`{function}` gives mean_loss more rows than one piece has: then nothing is saved")
    if any(sum(rows) > sum(sizes[-2:]) for rows in seen):  # the last one may still be there, bound to a name
        raise Mistake(
            f"`{function}` keeps the graphs of earlier pieces: free each before the next call of mean_loss, with a "
            "backward() that does not retain it, or let go of it"
        )


def compare(learner, function, params, pieces, kind):
    """Hold an accumulated gradient against that of the joined batch, and against what the usual mistakes give."""
    learner.call("forget")
    loss, came = answered(learner, function, params, pieces)
    right_loss, tree = right_answer(params, *joined(pieces))
    right, each = flat(tree), [right_answer(params, x, y) for x, y in pieces if (y >= 0).any()]
    singles = np.array([flat(gradient) for _, gradient in each])
    if not np.all(np.isfinite(came)) or not np.isfinite(loss):
        raise Mistake(f"{kind}: a mean over nothing is nan, and nan plus anything is nan: leave such a piece out")
    if agree(came, singles.sum(axis=0)):
        raise Mistake(f"{kind}: the gradients of the pieces are added up, and never divided")
    last = (1, 1 / len(singles), len(pieces[-1][1]) / sum(len(y) for _, y in pieces))
    if any(agree(came, share * singles[-1]) for share in last):
        raise Mistake(f"{kind}: only the last piece is left in the gradient: what clears it in between?")
    rows = np.array([len(y) for _, y in pieces if (y >= 0).any()])
    counts = np.array([(y >= 0).sum() for _, y in pieces if (y >= 0).any()])
    for weights in (rows, rows / sum(len(y) for _, y in pieces) * rows.sum()):
        if not np.array_equal(rows, counts) and agree(came, weights @ singles / rows.sum()):
            raise Mistake(f"{kind}: each piece counts by its rows, but the padding among them does not count")
    if not agree(right, singles.mean(axis=0)) and agree(came, singles.mean(axis=0)):
        raise Mistake(f"{kind}: every piece counts alike: the rows of a small one then count more than the others")
    above = np.array([(y > 0).sum() for _, y in pieces if (y >= 0).any()])
    full = np.array([(y >= 0).all() for _, y in pieces if (y >= 0).any()])

    def weighed(weights):
        return weights @ singles / max(1, weights.sum())

    x, y = joined(pieces)
    taken_for_0 = right_answer(params, x, np.maximum(y, 0))[1]
    known = {
        "rows of padding are taken for rows with the label 0": flat(taken_for_0),
        "what is added up is divided by all rows, but the padding among them does not count": counts
        @ singles
        / sum(len(y) for _, y in pieces),
        "each piece is divided as if all had the rows of the first": rows @ singles / (rows[0] * len(rows)),
        "the mean is divided by the number of pieces once more": right / len(pieces),
        "rows with the label 0 are taken for padding: it is a class like the others": weighed(above),
        "pieces with any padding are left out whole: their other rows count": weighed(counts * full),
        "each piece is divided by all rows, but its mean was not first multiplied by its own": singles.sum(axis=0)
        / counts.sum(),
        "the last piece is missing": counts[:-1] @ singles[:-1] / counts.sum(),
        "each piece counts by its share twice: once is enough": (counts / counts.sum()) ** 2 @ singles,
        "averaged with what came before, a late piece counts more than an early one": in_turn(singles),
    }
    for mistake, gradient in known.items():
        if agree(came, gradient) and not agree(right, gradient):
            raise Mistake(f"{kind}: {mistake}")
    if agree(came, right * counts.sum()):
        raise Mistake(f"{kind}: the gradient is that of the sum over the rows, not of their mean")
    if not agree(came, right):
        raise Mistake(f"{kind}: the gradient is not that of the large batch")
    if not agree(loss, right_loss):
        raise Mistake(f"{kind}: the gradient is right, but the loss is not that of the large batch")
    one_piece_at_a_time(learner, function, pieces)


def in_turn(singles):
    mean = singles[0]
    for single in singles[1:]:
        mean = (mean + single) / 2
    return mean


@points(1)
def test_whole(learner, rng):
    """The loss and the gradients of one batch are right."""
    params, pieces = draw(rng, 6)
    loss, came = answered(learner, "whole", params, *pieces[0])
    right_loss, right = right_answer(params, *pieces[0])
    if not agree(loss, right_loss):
        raise Mistake("the loss of a batch of six is not the one that mean_loss gives")
    if not agree(came, flat(right)):
        raise Mistake("the gradients of a batch of six are not those of mean_loss")


@points(1)
def test_equal_pieces(learner, rng):
    """Pieces of equal size give the gradient of the large batch."""
    compare(learner, "accumulate", *draw(rng, 4, 4, 4), "with three pieces of four rows")


@points(2)
def test_unequal_pieces(learner, rng):
    """Pieces of any size give the gradient of the large batch."""
    compare(learner, "accumulate", *draw(rng, 7, 1, 3), "with pieces of seven, one and three rows")


def stepped(params, groups, rate):
    for group in groups:
        gradient = right_answer(params, *joined(group))[1]
        params = {name: array - rate * gradient[name] for name, array in params.items()}
    return params


def without_zeroing(params, groups, rate):
    total = dict.fromkeys(params, 0.0)
    for group in groups:
        gradient = right_answer(params, *joined(group))[1]
        total = {name: total[name] + gradient[name] for name in params}
        params = {name: array - rate * total[name] for name, array in params.items()}
    return params


def check_training(learner, params, pieces, rate, every, *, left):
    learner.call("forget")
    came = arrays(call(learner, "train", params, pieces, rate, every), what="the parameters")
    groups = [pieces[i : i + every] for i in range(0, len(pieces), every)]
    if left and agree(came, flat(stepped(params, groups[:-1], rate))):
        raise Mistake("the pieces that are left over at the end are dropped: they make a step too")
    if agree(came, flat(stepped(params, [[piece] for piece in pieces], rate))):
        raise Mistake("there is a step after each piece: there must be one for each group")
    if agree(came, flat(without_zeroing(params, groups, rate))):
        raise Mistake("the gradients of earlier groups are still in those of later ones: clear them after each step")
    at_start = flat(params) + sum(flat(stepped(params, [group], rate)) - flat(params) for group in groups)
    if agree(came, at_start):
        raise Mistake("all steps use gradients at the first parameters: compute each group's where the last step led")
    short = flat(stepped(stepped(params, groups[:-1], rate), groups[-1:], rate * len(groups[-1]) / every))
    if left and agree(came, short):
        raise Mistake("the last step is too short: it has fewer pieces than the others, so it divides by fewer")
    if agree(came, flat(stepped(params, groups, rate / every))):
        raise Mistake("the steps are divided by the number of pieces: their gradient is a mean already")
    if agree(came, flat(stepped(params, groups, rate * every))):
        raise Mistake("the gradients of a group's pieces are added up: the step must be that of their mean")
    early = [pieces[:1], *(pieces[i : i + every] for i in range(1, len(pieces), every))]
    if agree(came, flat(stepped(params, early, rate))) or agree(came, flat(stepped(params, early[:-1], rate))):
        raise Mistake("the first step comes after one piece: it must come when its group is full")
    if agree(came, flat(stepped(params, groups[:1] * len(groups), rate))):
        raise Mistake("every step takes the first group again: go on to the next pieces")
    if agree(came, flat(stepped(params, groups[-1:], rate))):
        raise Mistake("each step starts at the first parameters, so that only the last is left")
    if left and agree(came, flat(stepped(params, [*groups[:-2], groups[-2] + groups[-1]], rate))):
        raise Mistake("the pieces that are left over join the last full group: they make a step of their own")
    if agree(came, flat(stepped(params, [pieces[i::every] for i in range(every)], rate))):
        raise Mistake("the groups are dealt out like cards: a group is pieces that follow each other")
    for i, which in ((0, "first"), (-1, "last")):
        alone = [group[i : i + 1 or None] for group in groups]
        if any(agree(came, flat(stepped(params, alone, r))) for r in (rate, rate / every)):
            raise Mistake(f"each step uses the {which} piece of its group alone")
    known = {
        "the steps go uphill: move against the gradient": stepped(params, groups, -rate),
        "there is one step alone, that of the first group: does the loop end too early, or return?": stepped(
            params, groups[:1], rate
        ),
        "each step takes the pieces of earlier groups again: begin each group anew": stepped(
            params, [pieces[: i + every] for i in range(0, len(pieces), every)], rate
        ),
        "each group takes the first piece of the next one, too": stepped(
            params, [pieces[i : i + every + 1] for i in range(0, len(pieces), every)], rate
        ),
        "the last pieces make one step more than they should": stepped(params, [*groups, pieces[-every:]], rate),
        "the last group is left out": stepped(params, groups[:-1], rate),
    }
    for mistake, wrong in known.items():
        if agree(came, flat(wrong)):
            raise Mistake(mistake)
    if agree(came, flat(stepped(params, groups, rate))):
        one_piece_at_a_time(learner, "train", pieces)
    else:
        if not rests(learner, params, groups[0]):
            raise Mistake("the parameters are wrong, and so is what `accumulate` gives: if they rest on it, mend that")
        raise Mistake("the parameters are not those of training on the large batches")


def rests(learner, params, pieces):
    """Tell whether `accumulate` gives the gradient of a group."""
    right = flat(right_answer(params, *joined(pieces))[1])
    return agree(answered(learner, "accumulate", params, pieces)[1], right)


@points(2)
@rests_on(RIGHT_ACCUMULATE)
def test_train(learner, rng):
    """Six pieces by three are two steps, each that of its large batch."""
    params, pieces = draw(rng, 4, 4, 4, 4, 4, 4)
    check_training(learner, params, pieces, 0.3, 3, left=False)


@points(1)
@rests_on(RIGHT_ACCUMULATE)
def test_train_with_pieces_left_over(learner, rng):
    """Eight pieces by three are three steps, the last with two pieces."""
    params, pieces = draw(rng, *[4] * 8)
    check_training(learner, params, pieces, 0.3, 3, left=True)
    params, pieces = draw(rng, 6, 1, 3, 2, 5)
    groups = [pieces[:3], pieces[3:]]
    came = arrays(call(learner, "train", params, pieces, 0.3, 3), what="the parameters")
    if not agree(came, flat(stepped(params, groups, 0.3))) and rests(learner, params, pieces):
        what = "where its pieces have different numbers of rows, a step is not that of its large batch"
        raise Mistake(f"{what}, though `accumulate` is right there")


def pad(pieces, *labels):
    return [(x, np.where(np.arange(len(y)) < keep, y, -1)) for (x, y), keep in zip(pieces, labels, strict=True)]


@points(2)
def test_padding(learner, rng):
    """Where rows do not count, pieces count by what is left of them."""
    params, pieces = draw(rng, 5, 5, 3)
    for (_, y), labels in zip(pieces, ([1], [0, 0, 2, 3, 1], [3, 2]), strict=True):
        y[: len(labels)] = rng.permutation(labels)  # the class 0 is not where its being overlooked changes nothing
    compare(learner, "accumulate_padded", params, pad(pieces, 1, 5, 2), "with padding")


@points(0.5)
def test_nothing_but_padding(learner, rng):
    """A piece in which nothing counts changes nothing."""
    params, pieces = draw(rng, 4, 3, 5)
    pieces = [(x, np.maximum(y, 1)) for x, y in pieces]  # what becomes of the class 0 is another test's business
    kind = "with a piece that is all padding"
    compare(learner, "accumulate_padded", params, pad(pieces, 4, 0, 2), kind)


@points(0.5)
def test_arguments_are_left_alone(learner, rng):
    """No function changes the parameters or the pieces."""
    calls = {"whole": [], "accumulate": [], "train": [], "accumulate_padded": []}
    for params, pieces in (draw(rng, 3, 2), draw(rng, 3, 2)):
        calls["whole"].append((params, *pieces[0]))
        calls["accumulate"].append((params, pieces))
        calls["train"].append((params, pieces, 0.1, 1))
        calls["accumulate_padded"].append((params, pad(pieces, 2, 2)))
    for name, both in calls.items():
        done = [run(learner, name, *args) for args in both]
        for args, call in zip(both, done, strict=True):
            if not all(map(same, args, call.args)):
                raise Mistake(f"`{name}` changed an array it was given: make new ones")
        expect.depends_on_input(*(call.value for call in done), name=name)


def same(given, left):
    if isinstance(given, dict):
        return isinstance(left, dict) and given.keys() == left.keys() and all(same(given[k], left[k]) for k in given)
    if isinstance(given, (list, tuple)):
        return len(given) == len(left) and all(map(same, given, left))
    return np.array_equal(given, left)
