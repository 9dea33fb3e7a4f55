"""Mistakes whose numbers could be taken for others': the cause that is named must be true, or none."""

import math

import numpy as np
import pytest
import torch

from tests.oracle.planted import arrays, first, grads, instead

# a network of three layers, with sizes that are all different


def perceptron(x, w0, b0, w1, b1, w2, b2, xp):
    h = xp.tanh(x @ w0 + b0)
    return ((xp.relu(h @ w1 + b1) @ w2 + b2) ** 2).mean()


SIZES = {"x": (7, 4), "w0": (4, 6), "b0": (6,), "w1": (6, 5), "b1": (5,), "w2": (5, 3), "b2": (3,)}


def right_grads(given):
    return grads(lambda **t: perceptron(**t, xp=torch), given)


def test_micro_batches_that_were_added_up_are_not_taken_for_a_mean_over_features():
    """Four is the number of features too, but no result has that size."""
    given = arrays(1, **SIZES)
    found = first(perceptron, given, {n: 4 * g for n, g in right_grads(given).items()})
    assert (found.name, found.cause) == ("b2", None)
    assert "4 times the right ones" in found.evidence
    assert "4 passes added up" in found.evidence


def test_where_a_number_has_two_readings_both_are_given():
    """Three times the gradient: a sum over three outputs, or three passes."""
    given = arrays(1, **SIZES)
    found = first(perceptron, given, {n: 3 * g for n, g in right_grads(given).items()})
    assert found.cause == "mean vs sum"
    assert "size of dim 1 of (7, 3)" in found.evidence
    assert any("3 times the right ones" in other for other in found.also)


def test_what_comes_below_an_unknown_mistake_is_not_called_another():
    """The wrong slope of tanh makes all below it wrong: there is nothing to look for next."""
    given = arrays(1, **SIZES)

    def wrong(x, w0, b0, w1, b1, w2, b2):
        z = x @ w0 + b0
        h = instead(torch.tanh(z), z * (1 - z.detach() ** 2))
        return ((torch.relu(h @ w1 + b1) @ w2 + b2) ** 2).mean()

    found = first(perceptron, given, wrong)
    assert (found.name, found.cause, found.unexplained) == ("b0", None, ())
    assert "No known mistake" in found.evidence


@pytest.mark.parametrize("order", [[1, 2, 3, 0], [3, 2, 1, 0]])
def test_rows_in_another_order_are_seen(order):
    """All entries are there, in other places."""
    given = arrays(1, **SIZES)
    right = right_grads(given)
    found = first(perceptron, given, {**right, "w0": right["w0"][order]})
    assert (found.name, found.cause) == ("w0", None)
    assert "axis 0" in found.evidence
    assert f"in the order {order}" in found.evidence


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_rounding_that_hides_in_float64_is_called_rounding(dtype):
    """The arrays say float64, their entries do not."""
    given = arrays(1, x=(200, 40), w=(40, 30))
    given = {name: a.astype(dtype).astype(np.float64) for name, a in given.items()}
    right = given["x"].T @ (2 * given["x"] @ given["w"])
    rounded = (right * (1 + 2e-7)).astype(dtype).astype(np.float64)
    found = first(lambda x, w: ((x @ w) ** 2).sum(), given, {"w": rounded})
    assert found.cause is None
    assert f"entries are {dtype} numbers" in found.evidence


def test_a_small_difference_in_half_precision_may_be_rounding():
    """A ReLU that opens for rounding alone changes one entry by more than rounding does."""
    given = arrays(1, x=(40, 8), w=(8, 6))
    right = grads(lambda x, w: (torch.relu(x @ w) ** 2).sum(), given)["w"].astype(np.float16)
    right[2, 3] += 0.03 * np.abs(right).max()
    found = first(lambda x, w, xp: (xp.relu(x @ w) ** 2).sum(), given, {"w": right})
    assert found.cause is None
    assert found.evidence.startswith("1 of 48 entries differ")
    assert "open or close a ReLU" in found.evidence
    assert "Repeat it in float32" in found.evidence


def test_numbers_of_float32_that_are_further_off_than_it_rounds_are_not_called_rounding():
    """Nor is a small difference in them: only 16 bits are so coarse."""
    given = arrays(1, x=(20, 4), w=(4, 3))
    right = given["x"].T @ (2 * given["x"] @ given["w"])
    off = (right * (1 + 3e-5 * np.cos(np.arange(12)).reshape(4, 3))).astype(np.float32)
    one = right.astype(np.float32)
    one[2, 1] += 0.03 * np.abs(one).max()
    for wrong, entries in ((off.astype(np.float64), 11), (one, 1)):
        found = first(lambda x, w: ((x @ w) ** 2).sum(), given, {"w": wrong})
        assert (found.name, found.cause) == ("w", None)
        assert found.evidence.startswith(f"{entries} of 12 entries differ")
        assert "No known mistake" in found.evidence


def test_numbers_beyond_float16_are_described_without_a_warning():
    """Among other things it is asked whether they were rounded to it."""
    given = arrays(1, x=(20, 4), w=(4, 3))
    right = 1e6 * given["x"].T @ (2 * given["x"] @ given["w"])
    wrong = np.sign(right) * 1e7
    found = first(lambda x, w: 1e6 * ((x @ w) ** 2).sum(), given, {"w": wrong})
    cosine = (wrong * right).sum() / np.linalg.norm(wrong) / np.linalg.norm(right)
    assert (found.name, found.cause) == ("w", None)
    assert f"the cosine between found and right is {cosine:.4g}." in found.evidence


def test_an_order_of_many_rows_is_not_spelled_out():
    """Of fourteen, one behind the other."""
    given = arrays(1, x=(5, 14), w=(14, 3))
    right = grads(lambda x, w: (torch.tanh(x @ w) ** 2).sum(), given)["w"]
    found = first(lambda x, w, xp: (xp.tanh(x @ w) ** 2).sum(), given, {"w": np.roll(right, 1, 0)})
    assert (found.name, found.cause) == ("w", None)
    assert "axis 0" in found.evidence
    assert "in another order" in found.evidence


def test_of_several_nameless_mistakes_with_the_same_numbers_one_is_listed():
    """Twice the gradient: a sum over two outputs, or what is counted twice at each of the operations."""
    given = arrays(1, x=(7, 4), w=(4, 2))
    found = first(lambda x, w: ((x @ w) ** 2).mean(), given, {"w": 4 * given["x"].T @ (given["x"] @ given["w"]) / 14})
    assert (found.cause, len(found.also)) == ("mean vs sum", 1)


def test_one_gradient_that_is_too_large_is_not_called_the_loss_scale():
    """That would be in all of them."""
    given = arrays(1, **SIZES)
    right = right_grads(given)
    found = first(perceptron, given, {**right, "w0": 65536 * right["w0"]})
    assert (found.name, found.cause) == ("w0", None)
    assert "65536 times the right one" in found.evidence
    assert "no size in this network" in found.evidence


def test_a_clip_enlarges_nothing():
    """The norm that is left is 1 / 1024, but the right one is smaller still."""
    given = arrays(1, x=(4, 3), w=(3, 4))
    right = grads(lambda x, w: 1e-6 * torch.tanh(x @ w).sum(), given)
    norm = math.sqrt(sum((g**2).sum() for g in right.values()))
    assert norm < 1 / 1024
    wrong = {n: g / norm / 1024 for n, g in right.items()}
    found = first(lambda x, w, xp: 1e-6 * xp.tanh(x @ w).sum(), given, wrong)
    assert (found.name, found.cause) == ("w", None)
    assert "no size in this network" in found.evidence


def test_one_entry_that_is_too_small_is_not_called_clipped():
    """The largest of all, cut to what no other entry reaches."""
    given = arrays(1, **SIZES)
    wrong = {n: g.copy() for n, g in right_grads(given).items()}
    name = max(wrong, key=lambda n: np.abs(wrong[n]).max())
    wrong[name].flat[np.abs(wrong[name]).argmax()] *= 0.999
    found = first(perceptron, given, wrong)
    assert (found.name, found.cause) == (name, None)
    assert found.evidence.startswith("1 of ")


def test_a_spare_two_is_not_taken_for_a_walk_in_a_wrong_order():
    """The square is made by a product of one thing with itself: a walk breadth first could double it, too."""

    def wrong(x, w):
        z = x @ w
        root = torch.sqrt(z * z + 1)
        return instead(root, 2 * root).sum()

    given = arrays(32, x=(4, 3), w=(3, 5))
    found = first(lambda x, w, xp: xp.sqrt((x @ w) * (x @ w) + 1).sum(), given, wrong)
    assert (found.name, found.cause) == ("w", None)
    assert "2 times" in found.evidence or "twice" in found.evidence


def test_the_axis_of_a_mean_is_the_one_that_it_took_away():
    """Not another of the same size."""

    def wrong(x, w):
        parts = x.reshape(2, 4, 2)
        return ((instead(parts.mean(2), parts.sum(2)) @ w) ** 2).sum()

    given = arrays(34, x=(2, 8), w=(4, 3))
    found = first(lambda x, w, xp: ((xp.mean(x.reshape(2, 4, 2), dim=2) @ w) ** 2).sum(), given, wrong)
    assert (found.name, found.cause) == ("x", "mean vs sum")
    assert all(part in found.evidence for part in ("mean", "multiplied by 2", "dim 2 of (2, 4, 2)"))


@pytest.mark.parametrize(("keepdim", "shape"), [(False, (4,)), (True, (4, 1))])
def test_where_two_axes_could_have_been_taken_away_the_last_is_named(keepdim, shape):
    """The result is square; with its axis kept there is no doubt."""

    def loss(x, w, b, xp):
        return ((xp.mean(x @ w, 1, keepdim) + b) ** 2).sum()

    def wrong(x, w, b):
        z = x @ w
        return ((instead(z.mean(1, keepdim), z.sum(1, keepdim)) + b) ** 2).sum()

    found = first(loss, arrays(35, x=(4, 3), w=(3, 4), b=shape), wrong)
    assert (found.name, found.cause) == ("w", "mean vs sum")
    assert all(part in found.evidence for part in ("mean", "multiplied by 4", "dim 1 of (4, 4)"))


# attention: paths that carry nothing, square matrices, rows that hardly count

MASK = np.tril(np.ones((5, 5)))


def attention(x, wq, wk, wv, wo, xp):
    q, k, v = x @ wq, x @ wk, x @ wv
    s = q @ k.T / math.sqrt(4.0)
    p = xp.softmax(xp.where(xp.tensor(MASK) > 0, s, s * 0 - 1e9), dim=-1)
    return ((x + (p @ v) @ wo) ** 2).mean()


def wrong_attention(bug):
    def loss(x, wq, wk, wv, wo):
        q, k, v = x @ wq, (x.detach() if bug == "keys" else x) @ wk, x @ wv
        s = q @ k.T / 2
        s = instead(s, q @ k.T) if bug == "scale" else s
        p = torch.softmax(torch.where(torch.tensor(MASK) > 0, s, s * 0 - 1e9), -1)
        p = p.detach() if bug == "weights" else p
        return ((x + (p @ v) @ wo) ** 2).mean()

    return loss


@pytest.mark.parametrize(
    ("bug", "where", "cause", "evidence"),
    [
        ("scale", "wk", None, "derivative of div is left out"),
        ("weights", "wk", "detached path", "from mm (5, 4) to softmax"),
        ("keys", "x", "detached path", "from mm (5, 4) to x"),
    ],
)
def test_a_path_that_carries_nothing_explains_nothing(bug, where, cause, evidence):
    """The masked scores send zeros to the same node: it is no place where paths meet."""
    given = arrays(4, x=(5, 4), wq=(4, 4), wk=(4, 4), wv=(4, 4), wo=(4, 4))
    found = first(attention, given, wrong_attention(bug))
    assert (found.name, found.cause) == (where, cause)
    assert evidence in found.evidence


def test_a_matrix_that_is_not_transposed_at_any_step():
    """g @ w where g @ w.T was due, at each of four; another product has that shape, and is right."""

    def loss(xs, h, u, w, v, xp):
        for t in range(4):
            h = xp.tanh(xs[t] @ u + h @ w)
        return 0.5 * ((h @ v) ** 2).sum()

    def wrong(xs, h, u, w, v):
        for t in range(4):
            z = xs[t] @ u + h @ w
            h = torch.tanh(instead(z, xs[t] @ u + h @ w.detach().T + h.detach() @ w))
        return 0.5 * ((h @ v) ** 2).sum()

    given = arrays(9, xs=(4, 2, 3), h=(2, 5), u=(3, 5), w=(5, 5), v=(5, 2))
    found = first(loss, given, wrong)
    assert (found.name, found.cause, found.unexplained) == ("w", "missing transpose", ())
    assert "4 places" in found.evidence


# normalisation, dropout, convolution by windows


def batch_norm(x, w, xp):
    c = x - xp.mean(x, dim=0)
    return ((c / xp.sqrt(xp.mean(c * c, dim=0) + 1e-5) @ w) ** 4).sum()


def test_a_batch_norm_with_both_statistics_for_constants():
    """Two paths are cut, and both are named."""
    given = arrays(3, x=(8, 4), w=(4, 3))

    def wrong(x, w):
        c = x - x.mean(0).detach()
        return ((c / torch.sqrt((c * c).mean(0).detach() + 1e-5) @ w) ** 4).sum()

    found = first(batch_norm, given, wrong)
    assert (found.name, found.cause) == ("x", "detached path")
    assert all(path in found.evidence for path in ("from mean (4,) to mul", "from mean (4,) to x", "2 paths"))


def test_a_dropout_without_its_scale_on_the_way_back():
    """The mask is there, and 1 / (1 - p) is not."""
    keep = np.random.default_rng(3).random((5, 6)) < 0.6
    given = arrays(12, x=(5, 3), w=(3, 6), v=(6, 2))

    def wrong(x, w, v):
        h = torch.tanh(x @ w)
        return ((instead(h * torch.tensor(keep / 0.6), h * torch.tensor(keep)) @ v) ** 2).sum()

    found = first(lambda x, w, v, xp: (((xp.tanh(x @ w) * xp.tensor(keep / 0.6)) @ v) ** 2).sum(), given, wrong)
    assert (found.name, found.cause) == ("w", None)
    assert "mul" in found.evidence
    assert "factor 1.667 is left out" in found.evidence


@pytest.mark.parametrize(("bug", "name"), [("bias", "b"), ("weight", "w")])
def test_a_mean_over_positions_names_the_positions(bug, name):
    """Six positions, and 3 * 2 = 6 by chance in other axes."""

    def loss(x, w, b, xp):
        windows = xp.stack([x[:, i : i + 3] for i in range(6)], dim=1)
        return (xp.relu(windows @ w + b) ** 2).sum()

    def wrong(x, w, b):
        windows = torch.stack([x[:, i : i + 3] for i in range(6)], dim=1)
        w, b = (instead(t, t / 6) if bug == n else t for n, t in (("weight", w), ("bias", b)))
        return (torch.relu(windows @ w + b) ** 2).sum()

    found = first(loss, arrays(8, x=(3, 8), w=(3, 2), b=(2,)), wrong)
    assert (found.name, found.cause) == (name, "mean vs sum")
    assert "divided by 6" in found.evidence
    assert "1 of " in found.evidence
    assert found.evidence.endswith("(3, 6, 2).")
