"""Where paths meet: what was overwritten, what was detached, and what the numbers cannot tell apart."""

import numpy as np
import pytest
import torch

from course_lib.oracle import compare
from tests.oracle.planted import FAST, arrays, first, grads, instead

LOST, DETACHED = "overwritten instead of accumulated", "detached path"


def blocks(x, u1, v1, u2, v2, xp):
    h = x + xp.tanh(x @ u1) @ v1
    return ((h + xp.tanh(h @ u2) @ v2) ** 2).sum()


def cut_blocks(*cut):
    """Detach skips (s1, s2) and branches (b1, b2)."""

    def loss(x, u1, v1, u2, v2):
        def way(t, name):
            return t.detach() if name in cut else t

        h = way(x, "s1") + torch.tanh(way(x, "b1") @ u1) @ v1
        return ((way(h, "s2") + torch.tanh(way(h, "b2") @ u2) @ v2) ** 2).sum()

    return loss


BLOCKS = arrays(3, x=(4, 6), u1=(6, 5), v1=(5, 6), u2=(6, 5), v2=(5, 6))


@pytest.mark.parametrize(("cut", "where"), [("s1", "x"), ("s2", "v1")])
def test_both_are_named_where_the_last_to_arrive_is_left(cut, where):
    """The branch comes after the skip, so an engine that overwrites leaves it; so does a skip that is detached."""
    found = first(blocks, BLOCKS, cut_blocks(cut))
    assert (found.name, found.cause, found.equally) == (where, LOST, (DETACHED,))
    assert "only the last is kept" in found.evidence
    assert "nothing is sent from add (4, 6)" in found.evidence
    assert f"{LOST} or {DETACHED}" in str(found)
    assert DETACHED not in str(found).partition("The same numbers would come from")[2]  # it is named already


@pytest.mark.parametrize(("cut", "where"), [("b1", "x"), ("b2", "v1")])
def test_a_path_that_comes_last_was_not_overwritten(cut, where):
    """An engine that overwrites would have left just this one."""
    found = first(blocks, BLOCKS, cut_blocks(cut))
    assert (found.name, found.cause, found.equally) == (where, DETACHED, ())
    assert "from mm (4, 5) to" in found.evidence
    assert "Overwriting would" in found.evidence


def three_uses(x, w, b, xp):
    for _ in range(3):
        x = xp.tanh(x @ w + b)
    return (x**2).sum()


def some_uses(kept):
    def loss(x, w, b):
        for k in range(3):
            x = torch.tanh(x @ (w if k in kept else w.detach()) + (b if k in kept else b.detach()))
        return (x**2).sum()

    return loss


THREE = arrays(5, x=(5, 4), w=(4, 4), b=(4,))


def test_one_of_three_uses_is_left_by_overwriting_if_it_is_the_last_to_arrive():
    """The first use of the forward pass; another one is left only if the two others are detached."""
    last = first(three_uses, THREE, some_uses([0]))
    assert (last.cause, last.equally, last.also) == (LOST, (), (DETACHED,))
    assert first(three_uses, THREE, some_uses([1])).cause == DETACHED
    assert first(three_uses, THREE, some_uses([2])).cause == DETACHED


@pytest.mark.parametrize(("kept", "number"), [((0, 1), 1), ((0, 2), 2), ((1, 2), 3)])
def test_a_layer_whose_parameters_are_detached_in_one_use(kept, number):
    """The weights and the bias: one mistake, not two."""
    found = first(three_uses, THREE, some_uses(kept))
    assert (found.cause, found.unexplained) == (DETACHED, ())
    which = f"(number {number} of 3 in backward order)"
    assert f"from add to b {which}" in found.evidence
    assert f"from mm to w {which}" in found.evidence


def test_one_leaf_whose_first_contribution_is_left():
    """A loop that runs the other way overwrites, too; the rest of the walk is right."""
    right, only = grads(some_uses([0, 1, 2]), THREE), grads(some_uses([2]), THREE)
    found = first(three_uses, THREE, {**right, "w": only["w"]})
    assert (found.name, found.cause, DETACHED in found.also) == ("w", LOST, True)


def gated_rnn(xs, h, u, w, b, v, xp):
    for t in range(4):
        k = xp.tensor(STILL)[t][:, None]
        h = k * xp.tanh(xs[t] @ u + h @ w + b) + (1 - k) * h
    return ((h @ v) ** 2).mean()


STILL = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0], [1, 0, 0.0]])  # sequences of 4, 2 and 1 steps
RNN = arrays(22, xs=(4, 3, 2), h=(3, 4), u=(2, 4), w=(4, 4), b=(4,), v=(4, 2))


def wrong_rnn(*, cut=(), mask=True):
    def loss(xs, h, u, w, b, v):
        for t in range(4):
            k = torch.tensor(STILL)[t][:, None]
            h = h.detach() if t in cut else h
            new = torch.tanh(xs[t] @ u + h @ w + b)
            h = (k * new if mask else instead(k * new, new)) + (1 - k) * h
        return ((h @ v) ** 2).mean()

    return loss


@pytest.mark.parametrize("cut", [(2,), (3,), range(4)])
def test_a_state_that_is_detached_between_two_steps(cut):
    """It is used twice, by the product and by what is carried on: both paths end."""
    found = first(gated_rnn, RNN, wrong_rnn(cut=cut))
    assert (found.name, found.cause, found.unexplained) == ("b", DETACHED, ())
    assert "add (3, 4), which is used 2 times" in found.evidence


def test_a_mask_over_time_that_is_left_out_at_every_step():
    """The other product with a mask, of what is carried on, is right."""
    found = first(gated_rnn, RNN, wrong_rnn(mask=False))
    assert (found.cause, found.unexplained) == ("missing mask", ())
    assert "3 places" in found.evidence


@pytest.mark.parametrize("how", ["averaged", "overwritten"])
def test_parameters_whose_steps_are_not_added_while_the_state_is_right(how):
    """The gradient that goes back through time is added up; those of the parameters are not."""
    leaves = {n: torch.tensor(a, requires_grad=True) for n, a in RNN.items()}
    copies = [{n: leaves[n].clone() for n in "uwb"} for _ in range(4)]
    h = leaves["h"]
    for t, own in enumerate(copies):
        k = torch.tensor(STILL)[t][:, None]
        h = k * torch.tanh(leaves["xs"][t] @ own["u"] + h @ own["w"] + own["b"]) + (1 - k) * h
    for own in copies:
        for part in own.values():
            part.retain_grad()
    ((h @ leaves["v"]) ** 2).mean().backward()
    right = {n: t.grad.numpy() for n, t in leaves.items()}
    wrong = {n: right[n] / 4 if how == "averaged" else copies[0][n].grad.numpy() for n in "uwb"}
    found = first(gated_rnn, RNN, {**right, **wrong})
    assert (found.name, found.unexplained) == ("b", ())
    assert found.cause == ("mean vs sum" if how == "averaged" else LOST)
    assert found.evidence.startswith("The 4" if how == "averaged" else "Of 4")
    assert "at the leaves" in found.evidence


def embedded(table, w, y, words, xp):
    return ((table[words] @ w - y) ** 2).sum()


@pytest.mark.parametrize(
    ("how", "cause"), [("last", LOST), ("first", LOST), ("mean", "mean vs sum"), ("no row 1", None)]
)
def test_a_word_that_comes_three_times(how, cause):
    """Each time with another gradient: one of them counts, or their mean, or none."""
    words = np.array([1, 5, 1, 2, 5, 1])
    given = {**arrays(15, table=(7, 4), w=(4, 3), y=(6, 3)), "words": words}
    right = grads(lambda **t: embedded(**t, xp=torch), given)
    rows = 2 * (given["table"][words] @ given["w"] - given["y"]) @ given["w"].T
    wrong = np.zeros((7, 4))
    if how in ("last", "first"):
        order = slice(None, None, 1 if how == "last" else -1)
        wrong[words[order]] = rows[order]
    elif how == "mean":
        wrong = right["table"] / np.maximum(np.bincount(words, minlength=7), 1)[:, None]
    else:
        wrong = right["table"] * (np.arange(7) != 1)[:, None]
    found = first(embedded, given, {**right, "table": wrong})
    assert (found.name, found.cause) == ("table", cause)
    assert how.removesuffix(" row 1") in found.evidence or "4 of 28 entries" in found.evidence


@pytest.mark.parametrize(("step", "kept"), [(1, "first"), (-1, "last")])
def test_windows_that_overlap_and_are_assigned(step, kept):
    """Each entry keeps what one window sent, from whichever side the loop comes: the last window arrives first."""

    def loss(x, k, xp):
        return (xp.tanh(xp.stack([x[:, i : i + 3] for i in range(7)], dim=1) @ k) ** 2).sum()

    given = arrays(23, x=(2, 9), k=(3,))
    h = np.tanh(np.stack([given["x"][:, i : i + 3] for i in range(7)], 1) @ given["k"])
    g, wrong = 2 * h * (1 - h * h), np.zeros((2, 9))
    for i in range(7)[::step]:
        wrong[:, i : i + 3] = g[:, i, None] * given["k"]
    found = first(loss, given, {"x": wrong})
    assert (found.name, found.cause) == ("x", LOST)
    assert f"keeps the {kept}" in found.evidence


def test_of_two_paths_a_forgotten_half_is_likelier_than_an_average():
    """The numbers cannot tell, though other uses of the weights keep the whole from being halved."""

    def loss(x, w, v, xp):
        h = xp.tanh(x @ w)
        return ((h + h @ v) ** 2).sum() + (w**2).sum() + (x**2).sum()

    def wrong(x, w, v):
        h = torch.tanh(x @ w)
        h = instead(h, h / 2)
        return ((h + h @ v) ** 2).sum() + (w**2).sum() + (x**2).sum()

    found = first(loss, arrays(3, x=(3, 2), w=(2, 4), v=(4, 4)), wrong)
    assert (found.name, found.cause, found.also) == ("w", None, ("mean vs sum",))
    assert "tanh sends is halved" in found.evidence


def test_a_penalty_that_was_forgotten_or_averaged():
    """The second use of the weights is in the loss itself."""

    def ridge(x, w, y, xp):
        return ((x @ w - y) ** 2).mean() + 0.1 * (w**2).sum()

    given = arrays(6, x=(5, 4), w=(4, 3), y=(5, 3))
    lost = first(ridge, given, lambda x, w, y: ((x @ w - y) ** 2).mean())
    assert (lost.name, {lost.cause, *lost.equally}) == ("w", {LOST, DETACHED})
    mean = first(ridge, given, lambda x, w, y: ((x @ w - y) ** 2).mean() + 0.1 * (w**2).mean())
    assert (mean.name, mean.cause) == ("w", "mean vs sum")
    assert compare(ridge, given, grads(lambda **t: ridge(**t, xp=torch), given), engines=FAST).agrees
