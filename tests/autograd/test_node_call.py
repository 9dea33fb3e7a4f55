"""A graph node can be called by hand, as in torch."""

import pytest
import torch

from course_lib.autograd import no_grad, saved_tensors_hooks, tensor


def graph(make):
    x, y, c = make(2.0, requires_grad=True), make(3.0, requires_grad=True), make(5.0)
    return x * y + c, x


@pytest.mark.parametrize("make", [tensor, torch.tensor])
def test_a_called_node_applies_its_vjps(make):
    """One result an input: a tuple for two, None for an input without gradient; nothing is accumulated or freed."""
    z, x = graph(make)
    to_product, to_constant = z.grad_fn(make(2.0))
    assert (to_product.item(), to_constant) == (2.0, None)
    product = z.grad_fn.next_functions[0][0]
    assert [g.item() for g in product(to_product)] == [6.0, 4.0]
    assert [g.item() for g in product(to_product)] == [6.0, 4.0]
    assert x.grad is None


def test_a_node_of_a_freed_graph_says_so_when_called():
    """The message is that of a second backward."""
    z, _ = graph(tensor)
    product = z.grad_fn.next_functions[0][0]
    z.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        product(tensor(1.0))


@pytest.mark.parametrize(
    ("make", "hooks"), [(tensor, saved_tensors_hooks), (torch.tensor, torch.autograd.graph.saved_tensors_hooks)]
)
def test_a_called_node_unpacks_what_hooks_have_packed(make, hooks):
    """What a pack hook put away is taken out again, here twice its size."""
    with hooks(lambda x: x * 2, lambda x: x):
        z, _ = graph(make)
    product = z.grad_fn.next_functions[0][0]
    assert [g.item() for g in product(make(1.0))] == [6.0, 4.0]


def test_a_called_node_notices_that_what_it_saved_was_changed():
    """As in a backward pass."""
    z, x = graph(tensor)
    with no_grad():
        x.add_(1.0)
    with pytest.raises(RuntimeError, match="MulBackward0 saved"):
        z.grad_fn.next_functions[0][0](tensor(1.0))
