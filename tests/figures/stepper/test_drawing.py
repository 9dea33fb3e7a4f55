"""What each part of the drawing shows, and when."""

from course_lib.figures import backward_stepper


def notes(figure, label):
    """Return what stands under a label, and from which step until which."""
    (box,) = [box for box in figure.drawing.boxes if box.label == label]
    return [(note.text, note.since, note.until) for note in box.notes]


def test_a_cotangent_comes_together_step_by_step(waits):
    """First the engine's name, then what has arrived and that more is to come, then the sum."""
    figure = backward_stepper(waits.c, names=waits.names)
    assert notes(figure, "a = x ** 2 = 9") == [("PowBackward0", 0, 1), ("v = 1 + ?", 1, 2), ("v = 1 + 5 = 6", 2, None)]
    assert notes(figure, "c = a + b = 54") == [("v = 1", 0, None)]


def test_a_leaf_shows_its_grad_before_and_after(waits, engine):
    """It changes at the leaf's own turn."""
    waits.x.grad = engine.tensor(4.0)
    assert notes(backward_stepper(waits.c, names=waits.names), "x = 3") == [("grad = 4", 0, 4), ("grad = 40", 4, None)]


def test_an_arrow_carries_what_its_node_sends_at_its_node_s_turn(waits):
    """The seed first; the constant 5 has no arrow."""
    figure = backward_stepper(waits.c, names=waits.names)
    label = [box.label for box in figure.drawing.boxes]
    carried = [(e.source and label[e.source], label[e.to], e.carries, e.since) for e in figure.drawing.edges[1:]]
    assert (figure.drawing.edges[0].carries, figure.drawing.edges[0].since) == ("1", 0)
    assert carried == [
        (0, "a = x ** 2 = 9", "1", 1),
        (0, "b = a * 5 = 45", "1", 1),
        ("a = x ** 2 = 9", "x = 3", "36", 3),
        ("b = a * 5 = 45", "a = x ** 2 = 9", "5", 2),
    ]


def test_a_box_shows_the_value_of_the_forward_pass(engine):
    """Where it is one number that the caller has named or the node has saved; a vector has no room."""
    x = engine.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2.0
    total = y.sum()
    figure = backward_stepper(total, names={"x": x, "y": y, "total": total})
    assert [box.label for box in figure.drawing.boxes] == ["total = sum(y) = 6", "y = x * 2", "x = [1, 2]"]


def test_a_depth_first_walk_shows_what_arrives_late(waits):
    """The node runs on the first contribution, 1, and x is sent 6 instead of 36."""
    figure = backward_stepper(waits.c, names=waits.names, depth_first=True)
    assert notes(figure, "a = x ** 2 = 9") == [("PowBackward0", 0, 1), ("v = 1", 1, 5), ("v = 1, late: 5", 5, None)]
    assert notes(figure, "x = 3") == [("grad = None", 0, 3), ("grad = 6", 3, None)]
    assert [(edge.carries, edge.since) for edge in figure.drawing.edges] == [
        ("1", 0), ("1", 1), ("1", 4), ("6", 2), ("5", 5)
    ]  # fmt: skip


def test_what_has_no_room_in_a_box_goes_by_its_norm(engine):
    """A drawing of matrices stays narrow."""
    x = engine.tensor([[3.0, 4.0]], requires_grad=True)
    w = engine.tensor([[0.25, 1.25], [2.25, 3.25]], requires_grad=True)
    figure = backward_stepper((x @ w).sum(), names={"x": x, "weight": w})
    assert notes(figure, "weight (2x2)")[-1][0] == "grad: norm 7.071"


def test_a_long_title_is_cut_in_the_box_and_nowhere_else(engine):
    """One long name does not make every box wide."""
    x = engine.tensor(1.0, requires_grad=True)
    figure = backward_stepper(x * 2.0, names={"a_name_that_goes_on_and_on": x})
    assert figure.drawing.boxes[0].label == "t1 = a_name_that_goes..."
    assert figure.steps[1].heading == "t1 = a_name_that_goes_on_and_on * 2"


def test_a_node_that_no_gradient_reaches_says_so():
    """A custom function may send nothing."""
    import torch

    class Stop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g, None

    x, y = (torch.tensor(value, requires_grad=True) for value in (1.0, 2.0))
    figure = backward_stepper(Stop.apply(x, y * 3.0), names={"x": x, "y": y})
    assert "nothing to t1" in repr(figure)
    assert notes(figure, "x = 1")[-1][0] == "grad = 1"
    assert notes(figure, "y = 2")[-1][0] in ("grad = None", "not reached")


def test_a_cotangent_that_has_no_room_in_a_box_goes_by_its_norm(engine):
    """In the box of an operation as in that of a leaf."""
    x, w = (engine.tensor([[3.0, 4.0], [1.0, 2.0]], requires_grad=True) for _ in "xw")
    figure = backward_stepper((x @ w).sum(), names={"x": x, "w": w})
    (box,) = [box for box in figure.drawing.boxes if "x @ w" in box.label and box.kind == "op"]
    assert box.notes[-1].text == "v: norm 2"
