"""Right gradients that rounding makes look wrong, and one mistake made at every step of a loop."""

import numpy as np
import pytest
import torch

from course_lib.oracle import compare
from course_lib.oracle.bug_ranking import BugKind
from course_lib.oracle.engines import AutogradEngine
from course_lib.oracle.planted_bugs import plant_bugs, record_tape
from course_lib.oracle.planted_bugs.wrong_order import visit_in_wrong_order
from tests.oracle.planted import FAST, arrays, first, grads, instead

LOST = {"overwritten instead of accumulated", "detached path"}


def vanishing(x, w0, w1, w2, w3, w4, w5, w6, w7, xp):
    for w in (w0, w1, w2, w3, w4, w5, w6, w7):
        x = xp.sigmoid(x @ w)
    return (x**2).mean()


@pytest.mark.parametrize("scale", [0.5, 0.05])
def test_differences_are_as_precise_as_the_losses_they_are_of(scale):
    """In a network whose gradients vanish they are noise beside its loss."""
    drawn = arrays(0, x=(5, 6), **{f"w{i}": (6, 6) for i in range(8)})
    drawn = {name: a if name == "x" else scale * a for name, a in drawn.items()}
    assert compare(vanishing, drawn, engines=FAST).agrees


@pytest.mark.parametrize("constant", [1e6, -1e6])
def test_a_large_constant_in_the_loss_accuses_nobody(constant):
    """It takes most of the digits of a difference."""
    drawn = arrays(1, x=(4, 3), w=(3, 2))
    assert compare(lambda x, w, xp: constant + xp.tanh(x @ w).mean(), drawn, engines=FAST).agrees


def test_a_small_gradient_is_not_hidden_by_a_large_one():
    """It is held to its own size, though a mistake in it is nothing beside the other."""
    drawn = arrays(0, x=(3,), w=(4,))
    found = first(lambda x, w: (1e6 * x).sum() + (w * w).sum(), drawn, {"x": np.full(3, 1e6), "w": 2.1 * drawn["w"]})
    assert (found.name, found.cause) == ("w", None)
    assert "1.05 times" in found.evidence


def normalized(x, w, b, xp):
    z = x @ w + b
    z = z - z.mean(0)
    return (3 * xp.tanh(z / ((z * z).mean(0) + 1e-5) ** 0.5)).sum()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_a_gradient_that_is_zero_may_be_what_rounding_leaves(dtype):
    """A bias before a normalization has none; found is what cancels, in the precision of the one who found it."""
    drawn = arrays(2, x=(64, 3), w=(3, 5), b=(5,))

    def manual(**numbers):
        leaves = {name: torch.tensor(a, dtype=dtype, requires_grad=True) for name, a in numbers.items()}
        normalized(**leaves, xp=torch).backward()
        return {name: leaf.grad for name, leaf in leaves.items()}

    assert compare(normalized, drawn, manual, engines=FAST).agrees
    found = first(normalized, drawn, {**manual(**drawn), "b": np.full(5, 0.1)})
    assert (found.name, found.cause) == ("b", None)
    assert "times the right one" not in found.evidence


def test_what_should_cancel_to_nothing_is_held_to_the_size_of_what_cancels():
    """Ten millionths of a millionth may be left in float64, a hundredth of a millionth may not."""
    drawn = arrays(2, x=(6, 5), b=(5,))

    def loss(x, b, xp):
        z = x + b
        return (3 * xp.tanh(z - z.mean(0))).sum()

    right = grads(lambda x, b: loss(x, b, torch), drawn)
    assert compare(loss, drawn, {**right, "b": np.full(5, 1e-11)}, engines=FAST).agrees
    assert first(loss, drawn, {**right, "b": np.full(5, 1e-8)}).name == "b"


@pytest.mark.parametrize("square", [lambda r: r * r, lambda r: r**2], ids=["product", "power"])
def test_the_forgotten_two_of_a_square_is_no_lost_path(square):
    """A product of a thing with itself sends to it twice; who forgets the 2 has not forgotten one of the two."""
    drawn = arrays(3, x=(4, 3), w=(3, 5), y=(4, 5))
    x, w, y = drawn.values()
    found = first(lambda x, w, y, xp: square(x @ w - y).mean(), drawn, {"w": x.T @ (x @ w - y) / y.size})
    assert found.cause is None
    assert "mean sends is halved" in found.evidence


def gated(x, u, v, xp):
    h = x
    for _ in range(3):
        h = xp.tanh(x + xp.sigmoid(h @ u) * (h @ v))
    return (h**2).sum()


def test_one_of_two_recurrent_weights_not_transposed_at_any_step():
    """Each step has a product with the one and with the other."""

    def loss(x, u, v):
        h = x
        for _ in range(3):
            wrong = h @ u.detach().T  # whose cotangent goes through u, and not through its transpose
            s = torch.sigmoid(instead(h @ u, wrong + h.detach() @ u))
            h = torch.tanh(x + s * (h @ v))
        return (h**2).sum()

    found = first(gated, arrays(4, x=(4, 5), u=(5, 5), v=(5, 5)), loss)
    assert found.cause == "missing transpose"
    assert "3 places" in found.evidence
    assert not found.unexplained


def test_a_path_cut_at_every_step_explains_what_the_first_step_was_given():
    """There it leads to the input, and later to a result."""

    def blocks(x, u, v, xp):
        for _ in range(2):
            x = x + xp.tanh((x - x.mean()) @ u) @ v
        return (x**2).sum()

    def cut(x, u, v):
        for _ in range(2):
            x = x.detach() + torch.tanh((x - x.mean()) @ u) @ v
        return (x**2).sum()

    found = first(blocks, arrays(5, x=(4, 6), u=(6, 5), v=(5, 6)), cut)
    assert found.cause in LOST
    assert not found.unexplained


def test_a_gate_cut_off_at_every_step_explains_what_the_first_step_was_given():
    """The first hidden state is the input, which is used for other things, too."""

    def loss(x, u, v):
        h = x
        for _ in range(3):
            h = torch.tanh(x + torch.sigmoid(h.detach() @ u) * (h @ v))
        return (h**2).sum()

    found = first(gated, arrays(7, x=(4, 5), u=(5, 5), v=(5, 5)), loss)
    assert found.cause in LOST
    assert not found.unexplained


def test_the_forgotten_two_of_a_penalty_is_no_lost_path():
    """It is of a leaf, where no result is in between."""
    drawn = arrays(8, x=(4, 3), w=(3, 5))
    x, w = drawn.values()
    right = x.T @ np.ones((4, 5)) / 20
    found = first(lambda x, w, xp: (x @ w).mean() + 0.01 * (w * w).sum(), drawn, {"w": right + 0.01 * w})
    assert found.cause not in LOST


def test_the_millionth_that_torch_adds_to_the_norm_is_named():
    """Its own clipping, where the norm is small enough for it to show."""
    drawn = arrays(6, x=(4, 3), w=(3, 2))
    w = torch.tensor(drawn["w"], requires_grad=True)
    torch.tanh(torch.tensor(drawn["x"]) @ w).mean().backward()
    assert torch.nn.utils.clip_grad_norm_([w], 0.05) < 1
    found = first(lambda x, w, xp: xp.tanh(x @ w).mean(), drawn, {"w": w.grad.numpy()}, max_norm=0.05)
    assert (found.cause, found.relative < 1e-4) == (None, True)
    assert "1e-6" in found.evidence


def chain(length, *, doubled):
    """Record a loss of one step after another; each takes its input once, or twice."""

    def loss(x, xp):
        for _ in range(length):
            x = x + xp.sin(x) if doubled else xp.sin(x)
        return x

    tape = record_tape(AutogradEngine(loss), {"x": np.ones(())}, {})
    assert tape is not None
    return tape


def test_a_walk_that_does_not_end_soon_is_given_up():
    """Of twenty blocks with a skip each, a walk that visits again at each arrival would take a million steps."""
    kinds = [bug.kind for bug in visit_in_wrong_order(chain(20, doubled=True))]
    assert kinds == [BugKind.VISITED_ONCE] * 4


def test_in_a_long_graph_some_of_the_mistakes_are_made():
    """Three hundred steps admit more than a thousand, and each is a walk through all of them."""
    assert sum(1 for _ in plant_bugs(chain(300, doubled=False))) < 1000
