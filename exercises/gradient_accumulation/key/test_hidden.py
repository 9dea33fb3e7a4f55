"""Hidden tests of gradient_accumulation: each tells the learner which mistake it found, never a value."""

import numpy as np

from course_grader import Mistake, expect, points, rests_on

SHAPES = {"w1": (3, 5), "b1": (5,), "w2": (5, 4), "b2": (4,)}
CLASS_WEIGHTS = np.array([0.4, 0.9, 2.5, 1.7])  # as in the set-up cell
RIGHT_ACCUMULATE = """
def accumulate(params, pieces):
    tensors, total, weights = leaves(params), 0.0, sum(CLASS_WEIGHTS[y].sum() for _, y in pieces)
    for x, y in pieces:
        loss = mean_loss(tensors, x, y) * (CLASS_WEIGHTS[y].sum() / weights)
        loss.backward()
        total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
"""


def draw(rng, *pieces):
    """Return parameters, and a piece for each string of labels, in any order; ``-`` is padding."""
    params = {name: rng.normal(size=shape) for name, shape in SHAPES.items()}
    labels = [rng.permutation([-1 if label == "-" else int(label) for label in piece]) for piece in pieces]
    return params, [(rng.normal(size=(len(y), 3)), y) for y in labels]


def joined(pieces):
    x, y = zip(*pieces, strict=True)
    return np.concatenate(x), np.concatenate(y)


def weigh(y):
    return CLASS_WEIGHTS[y[y >= 0]].sum()


def right_answer(params, x, y):
    """Return loss and gradients of the mean with class weights, derived by hand."""
    x, y = x[y >= 0], y[y >= 0]
    h = np.tanh(x @ params["w1"] + params["b1"])
    z = h @ params["w2"] + params["b2"]
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    rows, shares = np.arange(len(y)), CLASS_WEIGHTS[y] / weigh(y)
    loss = -shares @ np.log(p[rows, y])
    p[rows, y] -= 1
    g = shares[:, None] * p
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
    needed = {"accumulate": lambda: answered(learner, "accumulate", *draw(np.random.default_rng(0), "012", "30"))}
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
    right_loss, right = right_answer(params, *joined(pieces))
    if not np.all(np.isfinite(came)) or not np.isfinite(loss):
        raise Mistake(f"{kind}: a mean over nothing is nan, and nan plus anything is nan: leave such a piece out")
    if not agree(came, flat(right)):
        raise Mistake(f"{kind}: {mistake_in(came, params, pieces)}")
    if not agree(loss, right_loss):
        raise Mistake(f"{kind}: the gradient is right, but the loss is not that of the large batch")
    one_piece_at_a_time(learner, function, pieces)


def mistake_in(came, params, pieces):
    """Say by which of the usual mistakes this gradient comes about."""
    x, y = joined(pieces)
    if agree(came, flat(right_answer(params, x, np.maximum(y, 0))[1])):
        return "rows of padding are taken for rows with the label 0"
    singles = np.array([flat(right_answer(params, x, y)[1]) for x, y in pieces if (y >= 0).any()])
    for mistake, factors in wrong_factors([y for _, y in pieces]).items():
        if any(agree(came, factor @ singles) for factor in factors):
            return mistake
    return "the gradient is not that of the large batch"


def wrong_factors(batch):
    """Return, for each mistake, by what it may multiply the gradients of those pieces in which something counts."""
    counted = [y for y in batch if (y >= 0).any()]
    ones, n = np.ones(len(counted)), sum(map(len, batch))

    def each(number):
        return np.array([number(y) for y in counted], float)

    def normalized(numbers):
        return numbers / numbers.sum()

    rows, labels, right = each(len), each(lambda y: (y >= 0).sum()), normalized(each(weigh))
    weights, last = each(weigh), np.eye(len(counted))[-1]
    indexed = each(lambda y: CLASS_WEIGHTS[y].sum())  # where -1 is the last class
    divides = "look at what `mean_loss` divides by"
    by_rows = "pieces of the same size count alike" if len({*rows}) == 1 else "each piece counts by its rows"
    if not np.array_equal(rows, labels):
        by_rows = "each piece counts by its rows, padding included"
    return {
        "the gradients of the pieces are added up, and never divided": [ones],
        "only the last piece is left in the gradient: what clears it in between?": [
            last * factor for factor in (1, 1 / len(batch), right, rows / n)
        ],
        f"{by_rows}: {divides}": [normalized(rows), rows / n, rows],
        f"each piece counts by its number of labels: {divides}": [normalized(labels), labels],
        f"every piece counts alike: {divides}": [ones / len(counted), ones / len(batch)],
        "each piece counts by the mean weight of its rows, whether they are many or few": [
            normalized(weights / rows),
            normalized(weights / labels),
        ],
        "padding adds to the weight of its piece: an index of -1 takes the last class": [
            normalized(indexed),
            indexed / sum(CLASS_WEIGHTS[y].sum() for y in batch),
        ],
        f"what is added up is right, but it is divided by a number of rows: {divides}": [
            weights / n,
            weights / labels.sum(),
        ],
        "each piece is divided as if all counted as much as the first": [
            weights / (weights[0] * len(weights)),
            rows / (rows[0] * len(rows)),
        ],
        "the mean is divided by the number of pieces once more": [right / len(batch)],
        "rows with the label 0 are taken for padding: it is a class like the others": [
            normalized(each(lambda y: weigh(y[y > 0])))
        ],
        "pieces with any padding are left out whole: their other rows count": [normalized(weights * (rows == labels))],
        "what is divided by the total of all pieces is each mean, and it was not multiplied first": [
            ones / number for number in (weights.sum(), labels.sum(), n)
        ],
        "the last piece is missing": [right * (1 - last), normalized(weights * (1 - last))],
        "each piece counts by its share twice: once is enough": [right**2],
        "averaged with what came before, a late piece counts more than an early one": [in_turn(len(counted))],
        "the gradient is that of the sum over the rows, not of their mean": [weights],
    }


def in_turn(pieces):
    factors = 0.5 ** np.arange(pieces, 0, -1)
    factors[0] *= 2
    return factors


@points(1)
def test_whole(learner, rng):
    """The loss and the gradients of one batch are right."""
    params, pieces = draw(rng, "012301")
    loss, came = answered(learner, "whole", params, *pieces[0])
    right_loss, right = right_answer(params, *pieces[0])
    if not agree(loss, right_loss):
        raise Mistake("the loss of a batch of six is not the one that mean_loss gives")
    if not agree(came, flat(right)):
        raise Mistake("the gradients of a batch of six are not those of mean_loss")


@points(1)
def test_equal_pieces(learner, rng):
    """Pieces of equal size give the gradient of the large batch."""
    compare(learner, "accumulate", *draw(rng, "0010", "2321", "0131"), "with three pieces of four rows")


@points(2)
def test_unequal_pieces(learner, rng):
    """Pieces of any size give the gradient of the large batch."""
    drawn = draw(rng, "0010203", "3", "121")
    compare(learner, "accumulate", *drawn, "with pieces of seven, one and three rows")


def of_all(params, group):
    return right_answer(params, *joined(group))[1]


def multiplied(factors):
    """Return a function that adds up the gradients of a group's pieces, each multiplied by a factor."""

    def gradient(params, group):
        singles = [right_answer(params, x, y)[1] for x, y in group]
        numbers = factors(group)
        return {name: sum(f * single[name] for f, single in zip(numbers, singles, strict=True)) for name in params}

    return gradient


def shares(group, size=weigh):
    numbers = np.array([size(y) for _, y in group])
    return numbers / numbers.sum()


def stepped(params, groups, rate, gradient=of_all):
    for group in groups:
        grads = gradient(params, group)
        params = {name: array - rate * grads[name] for name, array in params.items()}
    return params


def without_zeroing(params, groups, rate):
    total = dict.fromkeys(params, 0.0)
    for group in groups:
        gradient = of_all(params, group)
        total = {name: total[name] + gradient[name] for name in params}
        params = {name: array - rate * total[name] for name, array in params.items()}
    return params


def check_training(learner, params, pieces, rate, every):
    learner.call("forget")
    came = arrays(call(learner, "train", params, pieces, rate, every), what="the parameters")
    groups = [pieces[i : i + every] for i in range(0, len(pieces), every)]
    if agree(came, flat(stepped(params, groups, rate))):
        return one_piece_at_a_time(learner, "train", pieces)
    for mistake, ends in wrong_ends(params, pieces, groups, rate, every).items():
        if any(agree(came, flat(end)) for end in ends):
            raise Mistake(mistake)
    if not rests(learner, params, groups[0]):
        raise Mistake("the parameters are wrong, and so is what `accumulate` gives: if they rest on it, mend that")
    raise Mistake("the parameters are not those of training on the large batches")


def wrong_ends(params, pieces, groups, rate, every):
    """Return, for each mistake, where training may end with it."""

    def ends(groups, *gradients, rate=rate):
        return [stepped(params, groups, rate, gradient) for gradient in gradients or [of_all]]

    def alone(i):
        groups_of_one = [group[i : i + 1 or None] for group in groups]
        share = multiplied(lambda group: shares(group) * np.eye(len(group))[i])
        return [*ends(groups_of_one), *ends(groups_of_one, rate=rate / every), *ends(groups, share)]

    early = [pieces[:1], *(pieces[i : i + every] for i in range(1, len(pieces), every))]
    grads = [of_all(params, group) for group in groups]
    at_start = {name: array - rate * sum(g[name] for g in grads) for name, array in params.items()}
    last_too_short = stepped(stepped(params, groups[:-1], rate), groups[-1:], rate * len(groups[-1]) / every)
    joined_to_full = [*groups[:-2], groups[-2] + groups[-1]]
    of_left = {
        "the pieces that are left over at the end are dropped: they make a step too": ends(groups[:-1]),
        "the last step is too short: it has fewer pieces than the others, so it divides by fewer": [last_too_short],
        "the pieces that are left over join the last full group: they make a step of their own": ends(joined_to_full),
    }
    return (of_left if len(pieces) % every else {}) | {
        "there is a step after each piece: there must be one for each group": ends([[piece] for piece in pieces]),
        "the gradients of earlier groups are still in those of later ones: clear them after each step": [
            without_zeroing(params, groups, rate)
        ],
        "all steps use gradients at the first parameters: compute each group's where the last step led": [at_start],
        "the steps are divided by the number of pieces: their gradient is a mean already": ends(
            groups, rate=rate / every
        ),
        "the gradients of a group's pieces are added up: the step must be that of their mean": ends(
            groups, multiplied(lambda group: [1] * len(group))
        ),
        "the pieces of a step in `train` count alike, or by their rows: they must count as in `accumulate`": ends(
            groups, *(multiplied(lambda group, size=size: shares(group, size)) for size in (len, lambda y: 1))
        ),
        "the first step comes after one piece: it must come when its group is full": [
            *ends(early),
            *ends(early[:-1]),
        ],
        "every step takes the first group again: go on to the next pieces": ends(groups[:1] * len(groups)),
        "each step starts at the first parameters, so that only the last is left": ends(groups[-1:]),
        "the groups are dealt out like cards: a group is pieces that follow each other": ends(
            [pieces[i::every] for i in range(every)]
        ),
        "each step uses the first piece of its group alone": alone(0),
        "each step uses the last piece of its group alone": alone(-1),
        "the steps go uphill: move against the gradient": ends(groups, rate=-rate),
        "there is one step alone, that of the first group: does the loop end too early, or return?": ends(groups[:1]),
        "each step takes the pieces of earlier groups again: begin each group anew": ends(
            [pieces[: i + every] for i in range(0, len(pieces), every)]
        ),
        "each group takes the first piece of the next one, too": ends(
            [pieces[i : i + every + 1] for i in range(0, len(pieces), every)]
        ),
        "the last pieces make one step more than they should": ends([*groups, pieces[-every:]]),
    }


def rests(learner, params, pieces):
    """Tell whether `accumulate` gives the gradient of a group."""
    right = flat(right_answer(params, *joined(pieces))[1])
    return agree(answered(learner, "accumulate", params, pieces)[1], right)


@points(2)
@rests_on(RIGHT_ACCUMULATE)
def test_train(learner, rng):
    """Six pieces by three are two steps, each that of its large batch."""
    drawn = draw(rng, "0010", "2321", "0131", "3300", "1202", "1111")
    check_training(learner, *drawn, 0.3, 3)


@points(1)
@rests_on(RIGHT_ACCUMULATE)
def test_train_with_pieces_left_over(learner, rng):
    """Eight pieces by three are three steps, the last with two pieces."""
    drawn = draw(rng, "0010", "2321", "0131", "3300", "1202", "1111", "0012", "3213")
    check_training(learner, *drawn, 0.3, 3)
    check_training(learner, *draw(rng, "001030", "2", "130", "01", "30232"), 0.3, 3)


@points(2)
@rests_on(RIGHT_ACCUMULATE)
def test_padding(learner, rng):
    """Where rows do not count, pieces count by what is left of them."""
    compare(learner, "accumulate_padded", *draw(rng, "1----", "00231", "32-"), "with padding")


@points(0.5)
@rests_on(RIGHT_ACCUMULATE)
def test_nothing_but_padding(learner, rng):
    """A piece in which nothing counts changes nothing."""
    drawn = draw(rng, "1223", "---", "13---")  # what becomes of the class 0 is another test's business
    compare(learner, "accumulate_padded", *drawn, "with a piece that is all padding")


@points(0.5)
def test_arguments_are_left_alone(learner, rng):
    """No function changes the parameters or the pieces."""
    calls = {"whole": [], "accumulate": [], "train": [], "accumulate_padded": []}
    for params, pieces in (draw(rng, "012", "30"), draw(rng, "120", "03")):
        calls["whole"].append((params, *pieces[0]))
        calls["accumulate"].append((params, pieces))
        calls["train"].append((params, pieces, 0.1, 1))
        calls["accumulate_padded"].append((params, [(x, np.where(y == 2, -1, y)) for x, y in pieces]))
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
