"""vjp, jvp, jacobian, hessian and hvp, against torch."""

import numpy as np
import pytest
import torch

import course_lib.autograd as ag
from course_lib.errors import AutogradError
from tests.autograd.oracle_cases import CASES

X, Y = np.array([[0.3, -0.7, 1.1], [0.9, 0.4, -0.2]]), np.array([0.5, -1.5, 0.8])


def field(lib, x, y):
    """From two tensors to two."""
    return (x * y).tanh() @ y.exp(), x.sum(0) * y


def energy(lib, x, y):
    """From two tensors to a number."""
    return ((x * y).sin() @ (y * y)).sum()


def pair(f, name, **options):
    """Call a transform in both libraries."""
    theirs = torch.autograd.functional
    return [
        getattr(lib if lib is ag else theirs, name)(
            lambda *xs, lib=lib: f(lib, *xs), tuple(lib.tensor(a) for a in (X, Y)), *options.get(lib, ())
        )
        for lib in (ag, torch)
    ]


def flat(x):
    """List the arrays in nested tuples."""
    return [x.detach().numpy()] if hasattr(x, "detach") else [a for part in x for a in flat(part)]


@pytest.mark.parametrize("name", ["vjp", "jvp", "jacobian", "hessian", "hvp"])
def test_transforms_agree_with_torch(name):
    """Outputs, products and matrices have torch's structure and numbers."""
    f = energy if name in ("hessian", "hvp") else field
    vs = {"vjp": [np.array([1.0, -2.0]), Y], "jvp": [X[::-1].copy(), Y], "hvp": [X[::-1].copy(), Y]}.get(name)
    options = {lib: [tuple(lib.tensor(v) for v in vs)] for lib in (ag, torch)} if vs else {}
    arrays = []
    for lib, g in ((ag, ag), (torch, torch.autograd.functional)):
        inputs = tuple(lib.tensor(a) for a in (X, Y))
        arrays.append(flat(getattr(g, name)(lambda *xs, lib=lib: f(lib, *xs), inputs, *options.get(lib, []))))
    for a, b in zip(*arrays, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_forward_and_reverse_mode_give_the_same_jacobian():
    """Columns pushed forward and rows pulled back make the same matrix."""
    inputs = (ag.tensor(X), ag.tensor(Y))
    rows = ag.jacobian(lambda x, y: field(ag, x, y), inputs)
    columns = ag.jacobian(lambda x, y: field(ag, x, y), inputs, strategy="forward-mode")
    for a, b in zip(flat(rows), flat(columns), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_every_operation_has_a_forward_mode(name):
    """The inner product of J v with u equals that of v with the transpose of J times u."""
    f, shapes, (low, high) = CASES[name]
    rng = np.random.default_rng(2)
    xs = [ag.tensor(np.asarray(rng.uniform(low, high, s))) for s in shapes[0]]
    vs = [ag.tensor(np.asarray(rng.standard_normal(s))) for s in shapes[0]]
    y, jv = ag.jvp(lambda *a: f(ag, *a), xs, vs)
    u = ag.tensor(np.asarray(rng.standard_normal(y.shape)))
    _, vj = ag.vjp(lambda *a: f(ag, *a), xs, u)
    np.testing.assert_allclose(
        (jv * u).sum().item(), sum((a * b).sum().item() for a, b in zip(vj, vs, strict=True)), rtol=1e-9, atol=1e-12
    )


def test_forward_mode_keeps_no_graph():
    """What jvp returns does not require grad, and intermediate results die as the function drops them."""
    import weakref

    died = []

    def f(x):
        y = x.sin()
        array = weakref.ref(y.value)
        y = y.exp()
        died.append(array() is None)
        return y

    y, t = ag.jvp(f, ag.tensor(Y), ag.tensor(Y))
    assert died == [True]
    assert not y.requires_grad
    assert not t.requires_grad


def test_results_can_be_differentiated():
    """With create_graph=True, the gradient of an entry of a Hessian is the third derivative."""
    x = ag.tensor(2.0, requires_grad=True)
    h = ag.hessian(lambda x: x**4, x, create_graph=True)
    assert ag.grad(h, x)[0].item() == 48


def test_misuse_is_explained():
    """A wrong v, nesting, and walking a graph inside jvp say what is wrong."""
    x = ag.tensor(Y)
    with pytest.raises(
        AutogradError, match=r"v must have the shapes of the outputs, \[\(3,\)\], but it has \[\(2,\)\]"
    ):
        ag.vjp(lambda x: x * 2, x, ag.tensor([1.0, 2.0]))
    with pytest.raises(AutogradError, match="without v, the outputs must be a single number"):
        ag.vjp(lambda x: x * 2, x)
    with pytest.raises(AutogradError, match="forward mode cannot be nested"):
        ag.jvp(lambda x: ag.jvp(lambda y: y * x, x, x)[1], x, x)
    with pytest.raises(AutogradError, match="keeps no graph"):
        ag.jvp(lambda x: ag.grad((x * x).sum(), x)[0], x, x)
    with pytest.raises(AutogradError, match=r"single number, but its shape is \(3,\)"):
        ag.hessian(lambda x: x * 2, x)
    assert (x.clone().requires_grad_() * 2).grad_fn.next_functions


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (2, 1)])
def test_forward_mode_takes_any_shape(shape):
    """A single number, and nothing at all, have Jacobians too."""
    x = np.arange(1.0, 3.0)[: int(np.prod(shape))].reshape(shape)
    forward, backward = (
        ag.jacobian(lambda x: x * x, ag.tensor(x), strategy=strategy) for strategy in ("forward-mode", "reverse-mode")
    )
    assert forward.shape == backward.shape == shape * 2
    np.testing.assert_allclose(forward.numpy(), backward.numpy())


def test_forward_mode_goes_past_an_input_without_gradient():
    """Where backward returns None, the tangent is 0."""

    class Rounded(ag.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    y, t = ag.jvp(lambda x: Rounded.apply(x) * x, ag.ones(2), ag.ones(2))
    assert (y.tolist(), t.tolist()) == ([2, 2], [2, 2])


TRANSFORMS = ["vjp", "jvp", "jacobian", "hessian", "hvp"]
FUNCTIONAL = ((ag, ag), (torch, torch.autograd.functional))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_differentiate_where_nothing_is_recorded(name):
    """Under no_grad() they give what they give outside of it."""
    arrays = []
    for lib, g in FUNCTIONAL:
        x = lib.tensor(Y)
        with lib.no_grad():
            v = (x * 1,) if name in ("jvp", "hvp") else ()
            arrays.append(flat(getattr(g, name)(lambda x: (x**3).sum(), x, *v)))
    for a, b in zip(*arrays, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize("name", ["vjp", "jacobian", "hessian", "hvp"])
@pytest.mark.parametrize("create_graph", [False, True])
def test_what_is_returned_has_a_graph_only_where_it_is_asked_for(name, create_graph):
    """Outputs and products alike; else they would keep alive all that the function has computed."""
    found = []
    for lib, g in FUNCTIONAL:
        x = lib.tensor(Y, requires_grad=True)
        v = (lib.tensor(Y),) if name == "hvp" else ()
        answer = getattr(g, name)(lambda x: (x**3).sum(), x, *v, create_graph=create_graph)
        found.append([t.requires_grad for t in (answer if isinstance(answer, tuple) else (answer,))])
    assert found[0] == found[1] == [create_graph] * len(found[0])


def test_what_does_not_depend_on_the_inputs_has_zeros_of_its_own_dtype():
    """Tangents have that of the outputs, gradients that of the inputs, and a Jacobian that of the output."""
    x, v = ag.tensor([1.0, 2.0]), ag.tensor(np.array([1.0, 10.0]))

    def f(x):
        return x * x, ag.ones(3), x.double()

    assert [t.dtype for t in ag.jvp(f, x, v)[1]] == [ag.float32, ag.float32, ag.float64]
    for strategy in ("forward-mode", "reverse-mode"):
        found = ag.jacobian(f, x, strategy=strategy)
        assert [(j.shape, j.tolist()) for j in found[1:]] == [((3, 2), [[0, 0]] * 3), ((2, 2), [[1, 0], [0, 1]])]
    columns = ag.jacobian(f, x, strategy="forward-mode")
    assert [j.dtype for j in columns] == [ag.float32, ag.float32, ag.float64]
    nothing = ag.jacobian(lambda x: x[:0].double(), x)
    assert (nothing.shape, nothing.dtype) == ((0, 2), ag.float32)
    assert ag.jacobian(lambda x: ag.ones(2), x).dtype == ag.vjp(lambda x: ag.ones(2).sum(), x)[1].dtype == ag.float32


def test_an_error_in_a_rule_ends_forward_mode():
    """It is the one that is raised, and the next call finds everything as ever, saved_tensors_hooks among it."""
    broken = [True]

    class Broken(ag.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            if broken:
                raise KeyError
            return g * 2

    packed = []
    with ag.saved_tensors_hooks(lambda t: packed.append(t.tolist()) or t, lambda t: t):
        with pytest.raises(KeyError):
            ag.jvp(Broken.apply, ag.ones(2), ag.ones(2))
        broken.clear()
        assert ag.jvp(Broken.apply, ag.ones(2), ag.ones(2))[1].tolist() == [2, 2]
        ag.tensor(2.0, requires_grad=True).square()
    assert packed == [2]


@pytest.mark.parametrize("name", ["hessian", "hvp"])
def test_a_single_number_may_come_in_a_vector(name):
    """As what a layer with one output gives."""
    arrays = []
    for lib, g in FUNCTIONAL:
        x = lib.tensor(Y[:1])
        arrays.append(flat(getattr(g, name)(lambda x: x**3, x, *([x] if name == "hvp" else []))))
    for a, b in zip(*arrays, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)
        assert a.shape == b.shape


@pytest.mark.parametrize("name", ["jvp", "hvp"])
def test_a_direction_has_the_shapes_of_the_inputs(name):
    """And not those of the outputs."""
    with pytest.raises(AutogradError, match=r"v must have the shapes of the inputs, \[\(3,\)\], but it has \[\(2,\)\]"):
        getattr(ag, name)(lambda x: (x * x).sum(), ag.tensor(Y), ag.ones(2))


def test_forward_mode_takes_what_a_function_computed_outside_of_it_for_a_constant():
    """It requires grad, but does not depend on the inputs."""

    class Cube(ag.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return g * 3 * ctx.saved_tensors[0] ** 2

    w = Cube.apply(ag.tensor([2.0, 3.0], requires_grad=True))
    for f in (lambda x: w * x, lambda x: x * w):
        assert ag.jvp(f, ag.ones(2), ag.ones(2))[1].tolist() == [8, 27]


def test_forward_mode_takes_what_an_earlier_call_left_behind_for_a_constant():
    """It had a tangent there."""
    left = []
    ag.jvp(lambda x: left.append(x * 3) or x, ag.ones(2), ag.ones(2))
    assert ag.jvp(lambda x: x * left[0], ag.ones(2), ag.ones(2))[1].tolist() == [3, 3]


@pytest.mark.parametrize("name", ["vjp", "jacobian", "hessian", "hvp"])
def test_results_can_be_differentiated_where_nothing_is_recorded(name):
    """With create_graph=True, under no_grad() too."""
    arrays = []
    for lib, g in FUNCTIONAL:
        x = lib.tensor(Y, requires_grad=True)
        v = (lib.tensor(Y),) if name == "hvp" else ()
        with lib.no_grad():
            found = getattr(g, name)(lambda x: (x**3).sum(), x, *v, create_graph=True)
        out = found[1] if isinstance(found, tuple) else found
        arrays.append(lib.autograd.grad(out.sum(), x)[0].numpy())
    np.testing.assert_allclose(*arrays, rtol=1e-9)
