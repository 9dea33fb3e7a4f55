"""Operations of one's own."""

import weakref

import numpy as np
import pytest
import torch

import course_lib.autograd as ag
from course_lib.errors import AutogradError

BASES = ((ag, ag.Function, ag.grad), (torch, torch.autograd.Function, torch.autograd.grad))


class Square(ag.Function):
    """An operation that saves its input."""

    @staticmethod
    def forward(ctx, x):
        """Compute the square."""
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        """Send the cotangent back."""
        return g * 2 * ctx.saved_tensors[0]


def test_saved_inputs_outputs_and_settings_reach_backward():
    """Inputs and outputs can be saved, attributes set, None returned; it can be differentiated twice."""
    answers = []
    for lib, base, grad in BASES:

        class ScaledExp(base):
            @staticmethod
            def forward(ctx, x, y, scale):
                out = x.exp() * y * scale
                ctx.save_for_backward(y, out)
                ctx.scale = scale
                assert not out.requires_grad
                return out

            @staticmethod
            def backward(ctx, g):
                y, out = ctx.saved_tensors
                assert ctx.needs_input_grad == (True, True, False)
                return g * out, g * out / y, None

        x, y = (lib.tensor(np.array([0.5, 1.5]) * k, requires_grad=True) for k in (1, 2))
        out = ScaledExp.apply(x, y, 3.0)
        first = grad(out.sum(), [x, y], create_graph=True)
        second = grad((first[0] * first[1]).sum(), [x, y])
        answers.append([t.detach().numpy() for t in (out, *first, *second)])
        assert out.grad_fn.name() == "ScaledExpBackward"
    for a, b in zip(*answers, strict=True):
        np.testing.assert_allclose(a, b)


def test_several_outputs_have_their_own_cotangents():
    """backward gets one cotangent an output, zeros for one that was not used, and runs once."""
    answers = []
    for lib, base, _ in BASES:
        calls = []

        class Both(base):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * 2, x * x, x > 0

            @staticmethod
            def backward(ctx, g, h, _, calls=calls):
                (x,) = ctx.saved_tensors
                calls.append((g.tolist(), h.tolist()))
                return g * 2 + h * 2 * x

        for use in (lambda a, b: a * b, lambda a, b: b, lambda a, b: a + a):
            x = lib.tensor([1.0, 3.0], requires_grad=True)
            a, b, _ = Both.apply(x)
            use(a, b).sum().backward()
            calls.append(x.grad.tolist())
        answers.append(calls)
    assert answers[0] == answers[1]


def test_what_backward_returns_is_checked():
    """A wrong number or shape of gradients names the function, the input and the shapes."""

    class Wrong(ag.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return answer

    x, y = (ag.tensor([1.0, 2.0], requires_grad=True) for _ in "xy")
    answer = ag.tensor([1.0, 2.0])
    with pytest.raises(
        AutogradError, match=r"Wrong\.backward must return one gradient for each of the 2 .* returned 1"
    ):
        Wrong.apply(x, y).sum().backward()
    answer = ag.tensor([1.0, 2.0]), ag.tensor(1.0)
    with pytest.raises(AutogradError, match=r"input 1 has \(\), the input has \(2,\)"):
        Wrong.apply(x, y).sum().backward()
    answer = ag.tensor([1.0, 2.0]), np.ones(2)
    with pytest.raises(AutogradError, match="must return tensors, or None, but for input 1 it returned a ndarray"):
        Wrong.apply(x, y).sum().backward()


def test_a_gradient_takes_the_dtype_of_its_input():
    """A backward that computes in double precision leaves single precision behind, recorded or not."""
    for lib, function, grad in BASES:

        class Widened(function):
            @staticmethod
            def forward(ctx, x):
                return x * 3

            @staticmethod
            def backward(ctx, g):
                return g.double() * 3

        x = lib.tensor([1.0, 2.0], requires_grad=True)
        for create_graph in (False, True):
            (dx,) = grad(Widened.apply(x * x).sum(), x, create_graph=create_graph)
            assert dx.dtype == lib.float32
            assert dx.tolist() == [6, 12]


def test_a_tuple_of_one_stays_a_tuple():
    """Recorded or not, what forward returns is what comes."""
    for lib, function, _ in BASES:

        class One(function):
            @staticmethod
            def forward(ctx, x):
                return (x * 2,)

            @staticmethod
            def backward(ctx, g):
                return g * 2

        for requires_grad in (False, True):
            (y,) = One.apply(lib.tensor([1.0, 2.0], requires_grad=requires_grad))
            assert y.tolist() == [2, 4]
            assert y.requires_grad is requires_grad


def test_a_saved_tensor_is_watched_and_freed():
    """A change in place is noticed, and a second walk refused, as for any operation."""
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    h = x * 1
    y = Square.apply(h)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    with pytest.raises(AutogradError, match="SquareBackward has been walked before"):
        y.sum().backward()
    h = x * 1
    y = Square.apply(h)
    h.add_(1)
    with pytest.raises(AutogradError, match="saved tensor 0"):
        y.sum().backward()


def test_forward_mode_goes_through_a_function():
    """jvp transposes backward, if it is made of differentiable operations."""

    class Cube(ag.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return g * 3 * ctx.saved_tensors[0] ** 2

    _, t = ag.jvp(Cube.apply, ag.tensor([1.0, 2.0]), ag.tensor([1.0, 10.0]))
    assert t.tolist() == [3, 120]


def test_backward_runs_at_each_visit():
    """Also when the same cotangent comes again, changed in the meantime, and a later argument has no gradient."""

    class Times(ag.Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.k = k
            return x * k

        @staticmethod
        def backward(ctx, g):
            return g * ctx.k, None

    x, v = ag.tensor([1.0, 2.0], requires_grad=True), ag.ones(2)
    y = Times.apply(x, 3.0)
    y.backward(v, retain_graph=True)
    v.mul_(10)
    x.grad = None
    y.backward(v)
    assert x.grad.tolist() == [30, 30]


def test_forward_mode_goes_through_each_output():
    """Each output has a tangent of its own, and what is computed from both adds them up."""

    class Powers(ag.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3, x**2

        @staticmethod
        def backward(ctx, g, h):
            (x,) = ctx.saved_tensors
            return g * 3 * x**2 + h * 2 * x

    x, ones = ag.tensor([1.0, 2.0]), ag.ones(2)
    assert [t.tolist() for t in ag.jvp(Powers.apply, x, ones)[1]] == [[3, 12], [2, 4]]
    assert ag.jvp(lambda x: sum(Powers.apply(2 * x)), x, ones)[1].tolist() == [32, 112]


def test_an_output_without_gradient_may_be_the_only_one():
    """What is marked, or is no floating point number, requires none."""

    class Flags(ag.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.mark_non_differentiable(y)
            return y

    class Both(ag.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x > 1

        @staticmethod
        def backward(ctx, g, _):
            return g * 2

    x = ag.tensor([1.0, 2.0], requires_grad=True)
    assert not Flags.apply(x).requires_grad
    y, large = Both.apply(x)
    assert (y.requires_grad, large.requires_grad) == (True, False)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_what_saved_nothing_can_be_walked_again_and_what_is_not_recorded_not_at_all():
    """There is nothing to free; under no_grad() there is no graph."""
    for lib, base, _ in BASES:

        class Double(base):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * 2

        x = lib.ones(2, requires_grad=True)
        y = Double.apply(x).sum()
        y.backward()
        y.backward()
        assert x.grad.tolist() == [4, 4]
        with lib.no_grad():
            assert not Double.apply(x).requires_grad


def test_the_cotangent_of_an_output_that_was_not_used_has_its_dtype():
    """Zeros in double precision would widen all that is computed from them."""
    for lib, base, _ in BASES:
        seen = []

        class Both(base):
            @staticmethod
            def forward(ctx, x):
                return x * 2, x.double()

            @staticmethod
            def backward(ctx, g, h, seen=seen):
                seen.append((str(g.dtype).removeprefix("torch."), str(h.dtype).removeprefix("torch.")))
                return g * 2 + h.float()

        for use in (0, 1):
            Both.apply(lib.ones(2, requires_grad=True))[use].sum().backward()
        assert seen == [("float32", "float64")] * 2


def test_a_list_of_gradients_is_no_tuple():
    """torch takes it for one gradient too."""

    class Listed(ag.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return [g * 2]

    with pytest.raises(AutogradError, match="must return tensors, or None, but for input 0 it returned a list"):
        Listed.apply(ag.ones(2, requires_grad=True)).sum().backward()


def test_what_was_saved_is_gone_after_the_walk():
    """Though the result, and with it the graph, is still there."""
    h = ag.ones(2, requires_grad=True) * 1
    y, alive = Square.apply(h).sum(), weakref.ref(h.value)
    del h
    assert alive() is not None
    y.backward()
    assert alive() is None
