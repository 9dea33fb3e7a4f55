"""What the figure says at each step."""

import pytest

from course_lib.figures import backward_stepper


def said(figure, heading):
    """Return the rows of the step with this heading, without the marks for code."""
    (step,) = [step for step in figure.steps if step.heading == heading]
    return {term: sentence.replace("`", "") for term, sentence in step.rows}


def test_the_walk_begins_with_a_seed(waits):
    """dc/dc = 1, after a forward pass that computed each value from those before it."""
    rows = said(backward_stepper(waits.c, names=waits.names), "The seed")
    assert rows["Starts"] == "c receives v = 1, dc/dc = 1."
    assert rows["Forward"].replace(" and ", ", ").startswith("x = 3, a = x ** 2 = 9, b = a * 5 = 45, c = a + b")


def test_a_step_that_comes_to_one_number_asks_for_it(waits, engine):
    """What is sent on, or what a leaf has then; a step of an array asks nothing."""
    steps = backward_stepper(waits.c, names=waits.names).steps
    assert [step.answer for step in steps] == [None, 1, 5, 36, 36]
    assert steps[-1].question == "What is x.grad now?"
    x = engine.tensor([1.0, 2.0], requires_grad=True)
    assert {step.question for step in backward_stepper((x * 2).sum()).steps} == {""}


def test_a_node_is_told_in_full(waits):
    """What arrives, the rule, what is sent, and what is freed."""
    assert said(backward_stepper(waits.c, names=waits.names), "a = x ** 2") == {
        "Arrives": "v = 6.",
        "Rule": "v * 2 * x to x.",
        "Sends": "6 * 2 * 3 = 36 to x.",
        "Frees": "x, saved in the forward pass.",
    }


def test_a_node_waits_until_all_has_arrived(waits):
    """1 from the sum, then 5 from the product."""
    figure = backward_stepper(waits.c, names=waits.names)
    assert said(figure, "c = a + b")["Adds up"] == "a holds 1 and waits for 1 more."
    assert said(figure, "b = a * 5")["Adds up"] == "a now has all it waited for: 1 + 5 = 6."


def test_a_sum_saves_nothing(waits):
    """And the figure says so."""
    assert said(backward_stepper(waits.c), "t3 = t1 + t2")["Frees"].startswith("nothing")


def test_a_leaf_adds_to_what_it_has(waits, engine):
    """None becomes 36; 4 becomes 40."""
    assert said(backward_stepper(waits.c, names=waits.names), "x = 3")["Adds up"] == "x.grad was None and is now 36."
    waits.x.grad = engine.tensor(4.0)
    assert said(backward_stepper(waits.c, names=waits.names), "x = 3")["Adds up"] == "x.grad is now 4 + 36 = 40."


def test_a_depth_first_walk_does_not_wait(waits):
    """The walk returns to the sum for its second input; what that sends to the node comes too late."""
    figure = backward_stepper(waits.c, names=waits.names, depth_first=True)
    assert [step.heading for step in figure.steps] == [
        "The seed", "c = a + b", "a = x ** 2", "x = 3", "Back at c = a + b", "b = a * 5"
    ]  # fmt: skip
    assert said(figure, "c = a + b") == {
        "Arrives": "v = 1.",
        "Rule": "v to a.",
        "Sends": "1 to a.",
        "Adds up": "a holds 1 and runs at once; 1 more will come too late.",
    }
    assert said(figure, "Back at c = a + b") == {"Holds": "v = 1.", "Rule": "v to b.", "Sends": "1 to b."}
    assert said(figure, "b = a * 5")["Adds up"] == "a has already run. 5 arrives late and stays there."


def test_a_leaf_of_a_depth_first_walk_adds_up_at_each_visit(engine):
    """x * x reaches x twice."""
    x = engine.tensor(3.0, requires_grad=True)
    figure = backward_stepper(x * x, names={"x": x}, depth_first=True)
    assert said(figure, "x = 3")["Adds up"] == "x.grad was None and is now 3."
    assert said(figure, "Back at x = 3")["Adds up"] == "x.grad is now 3 + 3 = 6."


def test_a_long_sum_is_a_running_one(engine):
    """The third contribution is added to the sum of the first two."""
    x = engine.tensor(2.0, requires_grad=True)
    z = (x + 0.0) + (x * 10.0) + (x * 100.0)
    sums = [row for step in backward_stepper(z, names={"x": x}).steps for row in step.rows if row[0] == "Adds up"]
    assert [sentence.replace("`", "") for _, sentence in sums][:3] == [
        "x holds 100 and waits for 2 more.",
        "x holds 100 + 10 = 110 and waits for 1 more.",
        "x now has all it waited for: 110 + 1 = 111.",
    ]


def test_both_uses_in_one_step_are_added_at_once(engine):
    """x * x sends x twice."""
    x = engine.tensor(3.0, requires_grad=True)
    figure = backward_stepper(x * x, names={"x": x})
    assert said(figure, "t1 = x * x")["Sends"] == "1 * 3 = 3 to x and 1 * 3 = 3 to x."
    assert said(figure, "t1 = x * x")["Adds up"] == "x now has all it waited for: 3 + 3 = 6."


def test_broadcasting_is_summed_away(engine):
    """One number added to three gets the sum of three gradients; a row gets the sum over rows."""
    x, b = engine.tensor([1.0, 2.0, 3.0], requires_grad=True), engine.tensor(0.5, requires_grad=True)
    rows = said(backward_stepper((x * b).sum(), names={"x": x, "b": b}), "t1 = x * b")
    assert rows["Rule"] == "v * b to x and v * x to b, summed to one number."
    assert rows["Sends"] == "[1, 1, 1] * 0.5 = [0.5, 0.5, 0.5] to x and [1, 1, 1] * [1, 2, 3] = 6 to b."


def test_a_reduction_goes_to_every_element(engine):
    """The mean of four passes on a quarter."""
    x = engine.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    rows = said(backward_stepper(x.mean(), names={"x": x}), "t1 = mean(x)")
    assert rows["Rule"] == "v / 4 to every element of x."
    assert rows["Sends"] == "1 / 4 = 0.25 to every element of x."


def test_a_layer_is_told_in_its_matrices(engine):
    """The two products of a matrix product, by hand: v @ w.T and x.T @ v."""
    x, w = engine.tensor([[1.0, 2.0]], requires_grad=True), engine.tensor([[3.0], [4.0]], requires_grad=True)
    rows = said(backward_stepper((x @ w).sum(), names={"x": x, "w": w}), "t1 = x @ w")
    assert rows["Rule"] == "v @ w.T to x and x.T @ v to w."
    assert rows["Sends"] == "[[1]] @ [[3], [4]].T = [[3, 4]] to x and [[1, 2]].T @ [[1]] = [[1], [2]] to w."
    assert set(rows["Frees"].split(", ")[0].split(" and ")) == {"x", "w"}


def test_a_constant_goes_by_its_name(engine):
    """Data that needs no gradient is known by its memory, where the node saved it."""
    x, w = engine.tensor([[1.0, 2.0]]), engine.tensor([[3.0], [4.0]], requires_grad=True)
    assert (
        said(backward_stepper((x @ w).sum(), names={"data": x, "w": w}), "t1 = data @ w")["Rule"] == "data.T @ v to w."
    )


def test_a_view_of_a_constant_does_not_lend_it_its_name():
    """The first row begins at the same place in memory."""
    import torch

    x, w = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[3.0], [4.0]], requires_grad=True)
    figure = backward_stepper((x @ w).sum(), names={"row": x[0], "data": x, "w": w})
    assert said(figure, "t1 = data @ w")["Rule"] == "data.T @ v to w."


def test_a_tensor_called_v_does_not_meet_the_cotangent(engine):
    """The cotangent is g then."""
    v = engine.tensor(3.0, requires_grad=True)
    assert said(backward_stepper(v**2, names={"v": v}), "t1 = v ** 2")["Rule"] == "g * 2 * v to v."


def test_a_rule_that_is_not_written_out_is_named_once():
    """A group norm gives something to each of three inputs; big arrays go by shape and norm."""
    import torch

    x, w, b = (torch.ones(*shape, requires_grad=True) for shape in ((5, 9), (9,), (9,)))
    z = torch.nn.functional.group_norm(x, 1, w, b).sum()
    rows = said(backward_stepper(z, names={"x": x, "w": w, "b": b}), "t1 = native_group_norm(x, w, b)")
    assert rows["Rule"] == "the vjp of native_group_norm to x, w and b."
    assert rows["Sends"].endswith("9-element array, norm 0 to w and 9-element array, norm 15 to b.")


def test_what_is_no_tensor_of_the_reader_s_goes_by_words(engine):
    """Indices, masks and probabilities are saved, too."""
    x = engine.tensor([[2.0, 0.0, 1.0]], requires_grad=True)
    picked = said(backward_stepper(x[[0]].sum(), names={"x": x}), "t1 = x[...]")
    assert picked["Rule"] == "v added where it was taken from, else 0 to x."
    assert picked["Sends"] == "[[1, 1, 1]] to x."
    if engine.__name__ == "course_lib.autograd":
        loss = said(
            backward_stepper(engine.cross_entropy(x, engine.tensor([2])), names={"x": x}), "t1 = cross_entropy(x)"
        )
        assert loss["Rule"] == "v * (softmax(x) - one_hot(classes)) to x."
        assert loss["Frees"] == "the probabilities and the places of the right classes, saved in the forward pass."


def test_names_that_are_taken_are_not_given_again(engine):
    """The caller's t1 is the only one."""
    x = engine.tensor(3.0, requires_grad=True)
    headings = [step.heading for step in backward_stepper(x**2 + 1.0, names={"t1": x}).steps]
    assert headings[1].startswith("t3 = t2 + ")
    assert headings[2] == "t2 = t1 ** 2"


def test_a_given_gradient_is_called_one(engine):
    """The seed is not 1 because of dz/dz."""
    x = engine.tensor([1.0, 2.0], requires_grad=True)
    figure = backward_stepper(x**2, gradient=engine.tensor([0.5, 2.0]))
    assert said(figure, "The seed")["Starts"] == "t1 receives v = [0.5, 2], the gradient that backward() was given."


def test_what_nobody_holds_is_dropped():
    """The course's own graphs do not keep their leaves alive."""
    from course_lib.autograd import tensor

    z = tensor(2.0, requires_grad=True) * 3.0
    assert repr(backward_stepper(z)).endswith("nobody holds this leaf any more, and what arrived is dropped.")


def test_outputs_that_are_used_apart_arrive_apart():
    """A torch node can have several outputs, and a gradient for only some of them."""
    import torch

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    first, second = x.unbind()
    both = said(backward_stepper(first * second, names={"x": x}), "t1 = x.unbind()")
    assert (both["Arrives"], both["Sends"]) == ("v = 2 and 1.", "[2, 1] to x.")
    one = said(backward_stepper(second * 3.0, names={"x": x}), "t1 = x.unbind()")
    assert (one["Arrives"], one["Sends"]) == ("v = 3.", "[0, 3] to x.")


@pytest.mark.parametrize("value", ["inf", "nan"])
def test_numbers_that_are_none_are_shown(engine, value):
    """Where a gradient goes bad is what the figure is for."""
    x = engine.tensor(float(value), requires_grad=True)
    assert f"= {value} to x" in repr(backward_stepper(x**2, names={"x": x}))
