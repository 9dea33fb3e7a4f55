"""Hidden tests of repair_a_loop: each tells the learner which mistake it found, never a value."""

import math
from itertools import pairwise

import numpy as np

from course_grader import Mistake, expect, points, rests_on

NETWORK_OF_COPIES = """
from torch import nn

class OfCopies(nn.Sequential):
    def state_dict(self, **kwargs):
        return {name: tensor.clone() for name, tensor in super().state_dict(**kwargs).items()}

def make_network():
    return OfCopies(nn.Linear(2, 1), nn.BatchNorm1d(1))
"""
SCALE, SMALL, FAR = 65536.0, 4.0, 1e9
DRIVERS = {"validated": "validate", "trained": "train_epoch", "fitted": "fit"}
REFUSED = {
    "No inf checks": "the scaler of `train_epoch` finds no gradients: do `scaler.step` or `scaler.update` stand before "
    "`backward`, or is `zero_grad` between `backward` and the step?",
    "did not use scaler.scale": "`train_epoch` asks the scaler for gradients before it has scaled a loss: do "
    "`unscale_` or `step` stand before `backward`?",
    "since the last update": "`train_epoch` calls a method of the scaler twice without an update between: each batch "
    "has unscale_, step and update, once and in this order",
    "being called after step": "`train_epoch` calls unscale_ when the scaler has stepped, without an update between: "
    "each batch has unscale_, step and update, once and in this order",
    "backward through the graph a second time": "`train_epoch` goes backward twice through one graph",
    "non-finite, so it cannot be clipped": "`train_epoch` stops at a gradient that overflowed: the scaler leaves out "
    "that step, and goes on",
    "does not require grad": "`train_epoch` goes backward from a loss without a graph: is it under no_grad?",
    "object has no attribute 'items'": "`fit` loads a state that it never kept, as where all validation losses are nan",
    "Expected state_dict to be dict-like": "`fit` loads a state that it never kept, as where all validation losses are "
    "nan",
}


def call(learner, name, *args, **kwargs):
    """Call a given function, and say in the exercise's words what the learner's own raised or returned."""
    own = DRIVERS[name]
    try:
        return learner.call(name, *args, **kwargs)
    except Mistake as mistake:
        for sign, message in REFUSED.items():
            if mistake.raised and sign in str(mistake) and f"`{own}`" in message:
                raise Mistake(message) from None
        if ", which is not plain data" in str(mistake):
            raise Mistake(f"`{own}` returns something other than plain numbers") from None
        raise mistake.reworded(str(mistake).replace(f"`{name}`", f"`{own}`", 1), function=own) from None


def number(found, name):
    """Return the number that a function said; whether it is in a tensor is another test's business."""
    try:
        said = expect.array(found["said"], name=name)
    except Mistake:
        raise Mistake(f"`{name}` returned {expect.describe(found['said'])}; it must return one number") from None
    if said.size != 1 or said.dtype.kind == "c":
        raise Mistake(f"`{name}` returns something of shape {said.shape}: the loss is one number")
    return float(said.reshape(()))


def agree(came, right, tolerance=2e-4):
    return bool(np.allclose(came, right, rtol=tolerance, atol=tolerance * float(np.abs(right).max()) + 1e-12))


# The model, again: a linear layer and cross-entropy, with NumPy.


def draw(rng, size=1.0):
    weight = rng.normal(size=(4, 3)).astype(np.float32) * np.float32(size)
    return weight, rng.normal(size=4).astype(np.float32)


def batch(rng, rows, labelled, size=1.0):
    """Draw a batch, some of whose rows have no label, wherever they are."""
    targets = np.where(rng.permutation(rows) < labelled, rng.integers(4, size=rows), -100)
    return (size * rng.normal(size=(rows, 3))).astype(np.float32), targets


def softmax(weight, bias, x):
    scores = x.astype(float) @ weight.astype(float).T + bias
    scores -= scores.max(axis=1, keepdims=True)
    return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


def costs(weight, bias, piece):
    """Return the loss of each labelled row."""
    x, y = piece
    return -np.log(softmax(weight, bias, x)[y >= 0, y[y >= 0]])


def pulls(weight, bias, piece):
    """Return the gradient of the batch's loss for the scores."""
    x, y = piece
    p = softmax(weight, bias, x)
    p[y >= 0, y[y >= 0]] -= 1
    return np.where((y >= 0)[:, None], p, 0) / (y >= 0).sum()


def slope(weight, bias, piece):
    """Return the gradient of the batch's loss for all parameters in one row."""
    g = pulls(weight, bias, piece)
    return np.concatenate([(g.T @ piece[0].astype(float)).ravel(), g.sum(axis=0)])


def flat(grads):
    if any(grads[name] is None for name in ("weight", "bias")):
        raise Mistake("at a step a parameter has no gradient: is `zero_grad` between `backward` and the step?")
    return np.concatenate([np.ravel(grads[name]).astype(float) for name in ("weight", "bias")])


def wrong_means(each, pieces):
    """Return what mistakes make of the mean over all labelled rows, and how to name them."""
    means, sizes, counts = [c.mean() for c in each], [len(x) for x, _ in pieces], [len(c) for c in each]
    return {
        "is the mean of the batches' means: a small batch counts as much as a large one": np.mean(means),
        "weights each batch by all its rows, but its loss is the mean over those with a label": np.average(
            means, weights=sizes
        ),
        "multiplies each batch's mean by all its rows, and divides by those with a label": np.dot(means, sizes)
        / sum(counts),
        "divides the sum over rows with a label by all rows": np.dot(means, counts) / sum(sizes),
        "adds up means of batches and divides by rows: multiply each by its rows first": sum(means) / sum(counts),
        "adds up means of batches and divides by all rows: multiply each by its rows first": sum(means) / sum(sizes),
        "is the sum over the rows: divide by their number": np.dot(means, counts),
        "is the sum of the batches' means": sum(means),
        "is that of the last batch alone": means[-1],
        "is that of the first batch alone": means[0],
    }


def telling(rng):
    """Draw weights and batches for which all mistakes give other means, one from another as well."""
    while True:
        weight, bias = draw(rng)
        pieces = [batch(rng, *sizes) for sizes in ((6, 6), (5, 2), (7, 3), (2, 1))]
        each = [costs(weight, bias, piece) for piece in pieces]
        values = sorted([np.concatenate(each).mean(), *wrong_means(each, pieces).values()])
        if min(b / a for a, b in pairwise(values)) > 1.02:
            return weight, bias, pieces, each


def forwards(found, name, batches):
    """Return the entries of the model's runs, one a batch."""
    runs = [entry for entry in found["trace"] if entry["call"] == "forward"]
    rows = [len(x) for x, _ in batches]
    if not runs:
        raise Mistake(f"`{name}` does not run the model it is given")
    if len(runs) == 1 and len(batches) > 1 and runs[0]["rows"] == sum(rows):
        raise Mistake(
            f"`{name}` runs on all batches stuck together: they come in pieces since they may not fit at once"
        )
    if len(runs) != len(batches):
        how = "more" if len(runs) > len(batches) else "fewer"
        raise Mistake(f"`{name}` runs the model {how} times than there are batches: once on each")
    if [run["rows"] for run in runs] != rows:
        raise Mistake(f"`{name}` runs the model on other rows than those of the batches, in their order")
    return runs


def check_mean(found, name, each, pieces):
    said, right = number(found, name), np.concatenate(each).mean()
    if agree(said, right):
        return
    for slip, value in wrong_means(each, pieces).items():
        if agree(said, value):
            raise Mistake(f"the loss that `{name}` returns {slip}")
    for slip, value in wrong_means(each, pieces).items():
        if agree(said, value * SCALE) and name == "train_epoch":
            raise Mistake(f"the loss that `{name}` returns is that of the scaled losses, and {slip}")
    if name == "train_epoch" and agree(said, right * SCALE):
        raise Mistake("the loss that `train_epoch` returns is multiplied by the scale: add up what the criterion gave")
    raise Mistake(f"the loss that `{name}` returns is not the mean over all labelled rows")


# 1. Validation.


@points(1)
def test_mean_loss(learner, rng):
    """The validation loss is the mean over all labelled rows, in batches of any size."""
    weight, bias, pieces, each = telling(rng)
    found = call(learner, "validated", weight, bias, pieces)
    number(found, "validate")
    forwards(found, "validate", pieces)
    check_mean(found, "validate", each, pieces)


@points(0.5)
def test_validation_builds_no_graph(learner, rng):
    """The model runs without recording, autograd records afterwards, and the result is a plain number."""
    weight, bias, pieces, _ = telling(rng)
    found = call(learner, "validated", weight, bias, pieces)
    number(found, "validate")
    if any(run["records"] for run in forwards(found, "validate", pieces)):
        raise Mistake(
            "`validate` builds graphs, which nobody goes back through: eval() does not stop that, no_grad does"
        )
    if not found["records"]:
        raise Mistake("autograd stays switched off after `validate`: say `with torch.no_grad():`")
    if found["tensor"]:
        raise Mistake(
            "`validate` returns a tensor: a loss or a count of rows is still one; take out the number with `.item()`"
        )


@points(0.5)
def test_validation_modes(learner, rng):
    """All modules run in evaluation mode, and each is in its own mode afterwards."""
    weight, bias, pieces, _ = telling(rng)
    for asleep in ([], ["dropout"], ["linear"], ["linear", "dropout"], [""]):  # "" is the model, with all in it
        found = call(learner, "validated", weight, bias, pieces, asleep)
        number(found, "validate")
        before = {name: name not in asleep and "" not in asleep for name in found["modes"]}
        runs = forwards(found, "validate", pieces)
        if any(mode for run in runs for mode in run["modes"].values()):
            some = "a module" if not all(runs[0]["modes"].values()) else "the model"
            raise Mistake(
                f"`validate` runs {some} in training mode: dropout drops, and batch norm learns from the data"
            )
        if found["modes"] == before:
            continue
        if not any(found["modes"].values()):
            raise Mistake("the model stays in evaluation mode after `validate`: give each module its own mode back")
        raise Mistake(
            "after `validate`, a module is in another mode than before: train() puts all of them into training "
            "mode, also those that were in evaluation mode on purpose"
        )


# 2. An epoch of training.


def train(learner, weight, bias, batches, *, scaled=True, **kwargs):
    """Run an epoch and return what was found, and the gradients at its steps."""
    found = call(learner, "trained", weight, bias, batches, **{"scale": SCALE, "max_norm": FAR, "rate": 0.1} | kwargs)
    forwards(found, "train_epoch", batches)
    back = [entry["pull"] for entry in found["trace"] if entry["call"] == "backward"]
    if not back:
        raise Mistake("`train_epoch` does not go backward from what the model returns")
    if len(back) != len(batches):
        raise Mistake("`train_epoch` does not go backward once for each batch")
    if scaled:
        check_scaled(back[0], np.abs(pulls(weight, bias, batches[0])).sum(), kwargs.get("scale", SCALE))
    return found, [entry["grads"] for entry in found["trace"] if entry["call"] == "step"]


def run_epoch(learner, weight, bias, pieces, **kwargs):
    """Run an epoch for what is not about the scaler, and return what was found.

    Where a call of the scaler is missing or stands in the wrong place, it raises; one that is not enabled never does.
    """
    try:
        return train(learner, weight, bias, pieces, scaled=False, **kwargs)[0]
    except Mistake:
        return train(learner, weight, bias, pieces, scaled=False, enabled=False, **kwargs)[0]


def check_scaled(came, right, scale):
    if agree(came, right, 1e-2):
        raise Mistake(
            "`train_epoch` goes backward from a loss that is not scaled: in float16 small gradients would be lost, so "
            "use `scaler.scale(loss).backward()`"
        )
    if agree(came, right * scale**2, 1e-2):
        raise Mistake("`train_epoch` scales the loss twice")
    if not agree(came, right * scale, 1e-2):
        raise Mistake("`train_epoch` does not go backward from the batch's loss, times the scaler's scale")


@points(1.5)
def test_gradient_at_each_step(learner, rng):
    """Each step has the gradient of its own batch, unscaled."""
    weight, bias = draw(rng)
    batches = [batch(rng, *sizes) for sizes in ((5, 4), (4, 4), (6, 3))]
    _, steps = train(learner, weight, bias, batches[:1], scale=SMALL)
    if not steps:
        raise Mistake("`train_epoch` never steps, though no gradient overflowed")
    check_first(flat(steps[0]), slope(weight, bias, batches[0]), batches[0])
    # At a scale of 65536, `unscale_` makes old gradients too small to be seen.
    found, steps = train(learner, weight, bias, batches, scale=SMALL)
    if len(steps) < len(batches):
        raise Mistake("`train_epoch` steps fewer times than there are batches: once for each")
    if len(steps) > len(batches):
        raise Mistake("`train_epoch` steps more often than there are batches: once for each")
    at, came, right = [weight.ravel().tolist() + bias.tolist()], [], []
    for piece, grads in zip(batches, steps, strict=True):
        w = np.array(at[-1])
        right.append(slope(w[:12].reshape(4, 3), w[12:], piece))
        came.append(flat(grads))
        at.append((w - 0.1 * came[-1]).tolist())
    total = sum(right)
    if any(agree(came[-1], came[-2] * left + right[-1], 1e-3) for left in (1, 1 / SMALL)):
        raise Mistake("a step has the gradients of earlier batches, too: `zero_grad` is missing, or not in the loop")
    if agree(came[1], came[0], 1e-3):
        raise Mistake("the second step has the gradient of the first batch again")
    if agree(came[-1], total / len(batches), 1e-3):
        raise Mistake("a step has the mean of the gradients of several batches: each step has its own batch's")
    if not all(agree(c, r, 1e-3) for c, r in zip(came, right, strict=True)):
        raise Mistake("a step has another gradient than that of its own batch at the weights of that moment")
    left = np.concatenate([np.ravel(found["weight"]), np.ravel(found["bias"])])
    if not agree(left, at[-1], 1e-3):
        raise Mistake("`train_epoch` moves the parameters by something else than the optimizer's steps")


def check_first(came, right, piece):
    rows, labelled = len(piece[1]), (piece[1] >= 0).sum()
    if agree(came, right * SMALL, 1e-3):
        raise Mistake(
            "at the step the gradient is still multiplied by the scale: let the scaler take it, `scaler.step`"
        )
    if agree(came, right / SMALL, 1e-3):
        raise Mistake("at the step the gradient has been divided by the scale twice: is `update` before `step`?")
    if not came.any():
        raise Mistake("at the step the gradient is 0: is `zero_grad` between `backward` and the step?")
    if agree(came, right * labelled, 1e-3) or agree(came, right * labelled / rows, 1e-3):
        raise Mistake("the first step has a multiple of the gradient: the criterion gives the mean over labelled rows")
    if not agree(came, right, 1e-3):
        raise Mistake("the first step does not have the gradient of its batch")


@points(1.5)
def test_clipping(learner, rng):
    """The true gradient is clipped, once the scale is undone."""
    while True:
        weight, bias = draw(rng)
        piece = batch(rng, 6, 5)
        g = slope(weight, bias, piece)
        parts = [np.linalg.norm(g[:12]), np.linalg.norm(g[12:])]
        bound = 0.4 * np.linalg.norm(g)
        if min(parts) > 1.1 * bound and np.abs(g).max() > 1.2 * bound:
            break
    direction = g / np.linalg.norm(g)
    apart = np.concatenate([g[:12] / parts[0], g[12:] / parts[1]]) * bound
    known = {
        "is 65536 times too short: it was clipped while it was multiplied by the scale": direction * bound / SCALE,
        "is not clipped: clip between `scaler.unscale_` and the step": g,
        "is clipped parameter by parameter: all of them have one norm": apart,
        "is clipped element by element: clip by the norm, which keeps the direction": np.clip(g, -bound, bound),
        "is clipped to `max_norm` times the scale: the bound is for the true gradient, so undo the scale first": (
            direction * min(bound * SCALE, np.linalg.norm(g))
        ),
        "is still multiplied by the scale": g * SCALE,
        "has the length 1 whatever `max_norm` is": direction,
    }
    _, within = train(learner, weight, bias, [piece], max_norm=float(3 * np.linalg.norm(g)))
    _, steps = train(learner, weight, bias, [piece], max_norm=float(bound))
    if len(steps) != 1:
        raise Mistake("for one batch, `train_epoch` must step once")
    came = flat(steps[0])
    if within and agree(flat(within[0]), g / SCALE, 1e-3) and agree(came, direction * bound / SCALE, 1e-3):
        return  # clipped, and then divided by the scale once more, which another test tells
    if not agree(came, direction * bound, 1e-3):
        for slip, value in known.items():
            if agree(came, value, 1e-3):
                raise Mistake(f"the gradient at the step {slip}")
        raise Mistake("a gradient beyond the bound is not clipped to the global norm `max_norm` at the step")
    came = flat(within[0]) if within else np.zeros_like(g)
    if agree(came, direction * 3 * np.linalg.norm(g), 1e-3):
        raise Mistake("a gradient within the bound is made as long as the bound: was it longer while it was scaled?")
    if agree(came, 3 * g / SCALE, 1e-3):
        raise Mistake("a gradient within the bound is clipped: it was longer while it was multiplied by the scale")
    if not agree(came, g, 1e-3):
        raise Mistake("a gradient within the bound is changed")


@points(1)
def test_overflow(learner, rng):
    """A step whose gradients overflowed is left out, and the scale is halved."""
    weight, bias = draw(rng, 1e-3)
    x, y = batch(rng, 5, 5, size=1e3)
    scale = 2.0**127  # the largest power of two in float32
    found, steps = train(learner, weight, bias, [(x, y)], scale=scale, max_norm=1.0, scaled=False)
    back = found["trace"][1]["pull"]
    if back < 1e9:
        raise Mistake("`train_epoch` goes backward from a loss that is not scaled: overflow and scale are the scaler's")
    moved = not all(np.array_equal(found[name], left) for name, left in (("weight", weight), ("bias", bias)))
    if np.isnan(found["weight"]).any() or np.isnan(found["bias"]).any():
        raise Mistake("a gradient overflowed, and the step was taken: the weights are nan. `scaler.step` leaves it out")
    if steps or moved:
        raise Mistake("a gradient overflowed, and the step was taken all the same: `scaler.step` leaves it out")
    if found["scale"] == scale:
        raise Mistake("after an overflow the scale stays what it was, so every step will be left out: `scaler.update`")
    if found["scale"] != scale / 2:
        raise Mistake(
            "after an overflow the scale is not half of what it was: call `scaler.update()` once, and only that"
        )
    if train(learner, *draw(rng), [batch(rng, 5, 4)], max_norm=1.0, scaled=False)[0]["scale"] != SCALE:
        raise Mistake("the scale changes though no gradient overflowed")


@points(0.5)
def test_training_mode(learner, rng):
    """All modules train in training mode, whatever mode the model arrives in."""
    weight, bias, pieces, _ = telling(rng)
    for asleep in ([""], ["dropout"]):
        found = run_epoch(learner, weight, bias, pieces, asleep=asleep)
        for run in forwards(found, "train_epoch", pieces):
            if not all(run["modes"].values()):
                some = "model" if asleep[0] == "" else "module"
                raise Mistake(f"a {some} that arrives in evaluation mode trains in it: call `model.train()`")


@points(0.5)
def test_training_loss(learner, rng):
    """The loss returned is the mean over all labelled rows, without the scale."""
    weight, bias, pieces, each = telling(rng)
    found = run_epoch(learner, weight, bias, pieces, rate=0.0)
    check_mean(found, "train_epoch", each, pieces)


@points(0.5)
def test_no_graph_stays_alive(learner, rng):
    """No graph outlives its step, and the loss is a plain number."""
    weight, bias = draw(rng)
    pieces = [batch(rng, 5, 4) for _ in range(6)]
    found = run_epoch(learner, weight, bias, pieces)
    number(found, "train_epoch")
    if forwards(found, "train_epoch", pieces)[-1]["alive"] > 2:
        raise Mistake("the graphs of all batches stay alive: what is added up holds them, so add `loss.item()`")
    if found["tensor"]:
        raise Mistake(
            "`train_epoch` returns a tensor: a loss or a count of rows is still one; take out the number with `.item()`"
        )
    if found["alive"]:
        raise Mistake("a graph is alive after `train_epoch` has returned: what keeps it?")


# 3. The run.


def fitted(learner, losses, rates=(0.1,)):
    found = call(learner, "fitted", losses, list(rates))
    calls = [entry["call"] for entry in found["log"]]
    epochs = len(losses)
    if not calls:
        raise Mistake("`fit` calls neither `train_once` nor `validate_once`")
    for name in ("train", "validate"):
        if calls.count(name) != epochs:
            how = "more" if calls.count(name) > epochs else "less"
            raise Mistake(f"`fit` calls `{name}_once` {how} than once an epoch")
    if calls != ["train", "validate"] * epochs:
        raise Mistake("`fit` does not train first and then validate, in each epoch")
    return found


def draw_losses(rng, epochs, best):
    """Draw validation losses, all of them different; the lowest and the highest are in the middle."""
    while True:
        losses = 1 + rng.permutation(epochs) / 4 + rng.uniform(0, 0.1)
        losses[best] = 0.5
        if np.argmax(losses) not in (0, epochs - 1):
            return losses.tolist()


@points(0.5)
def test_history(learner, rng):
    """Each epoch trains, then validates, and is in the history."""
    losses = draw_losses(rng, 5, 2)
    found = fitted(learner, losses)
    if not isinstance(found["history"], (list, tuple, np.ndarray)):
        raise Mistake(f"`fit` returns {expect.describe(found['history'])}; the history is a list of pairs")
    came = expect.array(found["history"], name="the history")
    right = np.array([[101.0 + epoch, loss] for epoch, loss in enumerate(losses)])
    if came.shape != right.shape:
        raise Mistake(f"the history has shape {came.shape}; it must hold a pair of losses for each epoch")
    if agree(came, right[:, ::-1]):
        raise Mistake("the pairs of the history are the wrong way round: the training loss comes first")
    if not agree(came, right):
        raise Mistake("the history does not hold the losses of each epoch, in their order")


@points(0.5)
def test_learning_rates(learner, rng):
    """Epoch k trains with learning rate k of the schedule."""
    rates = (rng.permutation(6) + rng.uniform(0.2, 0.8)).tolist()
    found = fitted(learner, draw_losses(rng, 5, 2), rates)
    if found["losses"]:
        raise Mistake(
            "`fit` gives `scheduler.step` the validation loss: only ReduceLROnPlateau takes one; this scheduler counts "
            "epochs, so call `scheduler.step()`"
        )
    came = [entry["rate"] for entry in found["log"] if entry["call"] == "train"]
    if agree(came, rates[:5]) and found["steps"] == 5:
        return
    if agree(came, rates[1:]):
        raise Mistake("each epoch trains with the learning rate of the next: call `scheduler.step()` after the epoch")
    if found["steps"] == 0:
        raise Mistake("`fit` never calls `scheduler.step()`: all epochs train with the first learning rate")
    if found["steps"] > 5:
        raise Mistake("`fit` calls `scheduler.step()` more than once an epoch: the scheduler counts epochs")
    if found["steps"] < 5:
        raise Mistake("`fit` calls `scheduler.step()` less than once after each epoch")
    raise Mistake("an epoch trains with another learning rate than the schedule's")


@points(1)
def test_best_weights(learner, rng):
    """The model ends with the parameters and the buffers of its best epoch."""
    best = int(rng.integers(1, 4))
    losses = draw_losses(rng, 6, best)
    held = {kind: set(values) for kind, values in fitted(learner, losses)["held"].items()}
    right = {best + 1.0}
    if held["parameters"] == {6.0}:
        raise Mistake(
            "the model ends with the weights of the last epoch: `state_dict()` holds the model's own tensors, which "
            "train on, so copy them when the epoch is the best, and load them at the end"
        )
    if held["parameters"] == {float(np.argmax(losses)) + 1}:
        raise Mistake("the model ends with the weights of its worst epoch: the best has the lowest validation loss")
    if held["parameters"] == {1.0}:
        raise Mistake("the model ends with the weights of the first epoch: is the best loss kept up to date?")
    if held["parameters"] != right:
        raise Mistake("the model does not end with the parameters of its best epoch")
    if held["buffers"] != right:
        raise Mistake("the buffers are not those of the best epoch: batch norm's averages belong to the state, too")
    worse = draw_losses(rng, 5, 1)
    held = fitted(learner, worse[:2])["held"]["parameters"]
    if set(held) != {2.0}:
        raise Mistake("where the last epoch is the best, the model does not end with its weights")
    held = fitted(learner, [2.0, 0.5, 1.0, 0.5])["held"]["parameters"]
    if set(held) == {4.0}:
        raise Mistake("of two epochs with the same loss, the model ends with the weights of the later: take the first")
    if set(held) != {2.0}:
        raise Mistake("of two epochs with the same loss, the model does not end with the weights of the first")


@points(0.5)
@rests_on(NETWORK_OF_COPIES)
def test_nan_is_never_the_best(learner, rng):
    """A validation loss of nan is not the lowest, wherever it comes."""
    ordinary = draw_losses(rng, 4, 1)
    if set(fitted(learner, ordinary)["held"]["parameters"]) == {1.0}:
        raise Mistake("the model ends with the weights of the first epoch where the second is the best")
    for at in (0, 2, 3):
        losses = [math.nan if epoch == at else loss for epoch, loss in enumerate(ordinary)]
        held = set(fitted(learner, losses)["held"]["parameters"])
        if held == {at + 1.0}:
            if at == 3 and set(fitted(learner, ordinary)["held"]["parameters"]) == {4.0}:
                raise Mistake("the model ends with the weights of the last epoch, whatever its loss")
            raise Mistake("the model ends with the weights of an epoch whose validation loss is nan")
        if held != {2.0} and set(fitted(learner, ordinary)["held"]["parameters"]) == {2.0}:
            raise Mistake(
                "after a validation loss of nan, the wrong epoch counts as the best: every comparison with nan is "
                "false, so mind what you compare, and which way round"
            )
        if held != {2.0}:
            raise Mistake("the model does not end with its best weights where a validation loss is nan, nor elsewhere")
    held = set(fitted(learner, [math.nan] * 3)["held"]["parameters"])
    if held != {3.0}:
        raise Mistake("where every validation loss is nan, the model must stay as the last epoch left it")
