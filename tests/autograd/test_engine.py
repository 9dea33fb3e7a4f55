"""The walk: right on any graph, linear in its size, and freeing as it goes."""

import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch

import course_lib.autograd as ag
from course_lib.autograd import engine
from course_lib.autograd.ops.primitive import Primitive
from course_lib.errors import AutogradError


@pytest.fixture
def default_recursion_limit():
    """Python's own limit: a package that another test has imported may have raised it."""
    found = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(found)


@pytest.mark.parametrize("n", [100_000, pytest.param(1_000_000, marks=pytest.mark.more)])
@pytest.mark.usefixtures("default_recursion_limit")
def test_a_long_chain_is_walked_and_freed_without_recursion(n):
    """A chain far longer than the recursion limit gives its gradient, and is freed, whether it was walked or not."""
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    y = x
    for _ in range(n):
        y = -y
    y.sum().backward()
    assert x.grad.tolist() == [(-1.0) ** n] * 2
    del y
    y = x
    for _ in range(n):
        y = -y
    del y


def test_a_thousand_diamonds_take_a_thousand_visits():
    """2 to the 1,000 paths are walked edge by edge, not path by path."""
    x = ag.tensor(np.array([1e-3]), requires_grad=True)
    y = x
    for _ in range(1000):
        y = y + y
    visits = []
    x.register_hook(visits.append)
    y.backward()
    assert x.grad.item() == 2.0**1000
    assert len(visits) == 1


def test_a_tensor_used_a_thousand_times_collects_every_use():
    """Each use adds its share, and the gradient arrives once, complete."""
    x = ag.tensor(3.0, requires_grad=True)
    seen = []
    x.register_hook(lambda g: seen.append(g.item()))
    y = x * 0.0
    for i in range(1000):
        y = y + x * float(i)
    y.backward()
    assert x.grad.item() == sum(range(1000))
    assert seen == [sum(range(1000))]


def test_a_node_waits_for_all_its_users():
    """A tensor used early and late passes its gradient on only when it is complete."""
    answers = []
    for lib in (ag, torch):
        x = lib.tensor([0.5, 2.0], requires_grad=True)
        h = x.exp()
        y = h.sin()
        for _ in range(5):
            y = y * h + h.sum() + y.tanh()
        y.sum().backward()
        answers.append(x.grad.tolist())
    np.testing.assert_allclose(*answers, rtol=1e-6)


def test_memory_falls_during_the_walk():
    """What the forward pass saved is freed node by node, not at the end."""
    x = ag.tensor(np.ones(100_000), requires_grad=True)
    y, held = x, []
    tracemalloc.start()
    for _ in range(20):
        y = y.sin()
        if len(held) < 19:
            y.register_hook(lambda g: held.append(tracemalloc.get_traced_memory()[0]))
    y.sum().backward()
    tracemalloc.stop()
    size = x.value.nbytes
    assert held[0] - held[-1] > 15 * size


def test_what_a_node_saved_is_freed_before_the_next_node_is_visited():
    """Of four exp in a row, each of which saves its result, a hook on each sees one array less than the one before."""
    x = ag.tensor(np.zeros(100_000), requires_grad=True)
    y, held = x, []
    tracemalloc.start()
    for _ in range(4):
        y = y.exp()
        y.register_hook(lambda g: held.append(tracemalloc.get_traced_memory()[0]))
    y = y.sum()
    y.backward()
    tracemalloc.stop()
    assert [round(m / x.value.nbytes) for m in held] == [5, 4, 3, 2]  # what is saved, and the cotangent


def test_one_matrix_for_a_whole_stack_is_not_copied_for_each():
    """The product of 50 matrices and one takes the memory of its result alone, in a stack of stacks too."""
    x, y = ag.tensor(np.ones((5, 10, 60, 60))), ag.tensor(np.ones((10, 60, 60)))
    tracemalloc.start()
    for stack in (x, x.transpose(-1, -2)):
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        out = stack @ y
        assert tracemalloc.get_traced_memory()[1] - before < 1.5 * out.value.nbytes
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("op", "saved"),
    [
        (lambda x, c: x * c, "c"),
        (lambda x, c: c * x, "c"),
        (lambda x, c: x * c[:1], "c"),
        (lambda x, c: x / c, "c"),
        (lambda x, c: c / x, "xc"),
        (lambda x, c: x @ c, "c"),
        (lambda x, c: c[0] @ x, "c"),
        (lambda x, c: ag.linear(x, c), "c"),
        (lambda x, c: ag.linear(c, x), "c"),
        (lambda x, c: x * x, "xx"),
    ],
)
def test_only_what_a_needed_vjp_reads_is_saved(op, saved):
    """A constant factor is kept, and not what would give the factor a gradient; both gradients are as ever."""
    x, c = ag.tensor(np.full((3, 3), 2.0), requires_grad=True), ag.tensor(np.full((3, 3), 4.0))
    y = op(x, c)
    arrays = [a for a in y.grad_fn.saved if isinstance(a, np.ndarray)]
    assert sorted(a.flat[0] for a in arrays) == sorted({"x": 2.0, "c": 4.0}[name] for name in saved)
    assert len(y.grad_fn.saved) == len(y.grad_fn.op.saves)
    assert ag.gradcheck(lambda x: op(x, c), [x])
    assert ag.gradgradcheck(lambda x: op(x, c), [x])


def test_a_gradient_nobody_else_sees_is_not_copied():
    """The walk hands the array it computed to .grad; the peak is one gradient, not two."""
    w = ag.tensor(np.ones((500, 1000)), requires_grad=True)
    y = w * w.detach()
    tracemalloc.start()
    y.backward(ag.tensor(np.ones((500, 1000))))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.5 * w.value.nbytes


def test_gradients_share_no_memory():
    """Leaves that receive the same cotangent, and the gradient that was passed in, stay apart."""
    a, b = (ag.tensor(np.zeros(3), requires_grad=True) for _ in "ab")
    g = ag.tensor(np.ones(3))
    (a + b).backward(g)
    a.grad.mul_(5)
    assert b.grad.tolist() == g.tolist() == [1, 1, 1]
    (a.reshape(3, 1) + b.reshape(3, 1)).backward(g.reshape(3, 1))
    assert (a.grad.tolist(), b.grad.tolist(), g.tolist()) == ([6] * 3, [2] * 3, [1] * 3)
    da, db = ag.grad((a + b).sum(), [a, b])
    da.add_(1)
    assert db.tolist() == [1, 1, 1]


def test_backward_adds_to_grad():
    """A second backward adds to .grad; None, or zero_(), starts anew."""
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(3):
        (x * x).sum().backward()
    assert x.grad.tolist() == [6, 12]
    x.grad.zero_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [2, 4]


def test_a_kept_graph_can_be_walked_again():
    """With retain_graph=True the same graph gives the same gradient again."""
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    y = (x.exp() * x).sum()
    y.backward(retain_graph=True)
    first = x.grad.tolist()
    x.grad = None
    y.backward()
    assert x.grad.tolist() == first


TWICE = {
    "sizes only": [
        lambda lib, x: x + 1,
        lambda lib, x: x + x[0],
        lambda lib, x: 1 - x,
        lambda lib, x: -x,
        lambda lib, x: x.sum(0),
        lambda lib, x: x.mean(),
        lambda lib, x: x.cumsum(1),
        lambda lib, x: x.reshape(4, 3).T.unsqueeze(0).squeeze(),
        lambda lib, x: x.expand(2, 3, 4).flatten(),
        lambda lib, x: x[1:][0],
        lambda lib, x: lib.stack([x, x]).split(1)[0],
        lambda lib, x: x.clone().float(),
        lambda lib, x: (x + 1).zero_(),
    ],
    "arrays": [
        lambda lib, x: x * 2,
        lambda lib, x: x.exp(),
        lambda lib, x: x.var(),
        lambda lib, x: x[[0, 1]],
        lambda lib, x: x.gather(0, lib.tensor([[0, 1, 0, 1]])),
        lambda lib, x: x.index_select(0, lib.tensor([0])),
        lambda lib, x: lib.where(x.detach() > 0, x, 0.0),
        lambda lib, x: x.clamp(-1, 1),
    ],
}


@pytest.mark.parametrize(("saved", "f"), [(saved, f) for saved, many in TWICE.items() for f in many])
def test_what_saved_only_sizes_can_be_walked_again(saved, f):
    """A second backward through nodes that saved no array adds up, and is refused where one was freed, as in torch."""
    grads = []
    for lib in (ag, torch):
        x = lib.tensor(np.arange(1.0, 13.0).reshape(3, 4) / 7, requires_grad=True)
        y = f(lib, x)
        y.backward(lib.ones_like(y))
        if saved == "arrays":
            with pytest.raises(RuntimeError, match="retain_graph=True"):
                y.backward(lib.ones_like(y))
        else:
            y.backward(lib.ones_like(y))
        grads.append(x.grad.tolist())
    np.testing.assert_allclose(*grads)


def test_an_error_on_the_way_leaves_nothing_behind():
    """After an exception in a hook the kept graph gives the right gradient, not one with leftovers."""
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    waiting = x * 3  # has its cotangent, and is not visited, when the hook raises
    h = x * 2
    y = (h * waiting + h).sum()

    def fail(g):
        raise KeyError

    handle = h.register_hook(fail)
    with pytest.raises(KeyError):
        y.backward(retain_graph=True)
    assert ag.is_grad_enabled()
    handle.remove()
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), [14, 26])


def test_an_error_in_a_rule_leaves_nothing_behind():
    """After an exception in the rule of a second parent, the first is left without the cotangent it had already."""
    broken = [True]

    def second(g):
        if broken:
            raise KeyError
        return g

    join = Primitive("join", np.add, lambda g: g, second, takes="x y")
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    y = join(x * 3, x * 2).sum()
    with pytest.raises(KeyError):
        y.backward(retain_graph=True)
    broken.clear()
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), [5, 5])


def test_only_what_leads_to_the_inputs_is_visited():
    """grad() leaves .grad alone, and does not run branches that do not lead to its inputs."""
    x, w = (ag.tensor([1.0, 2.0], requires_grad=True) for _ in "xw")
    branch = w.exp()
    branch.register_hook(lambda g: pytest.fail("visited"))
    y = (x * branch).sum()
    (dx,) = ag.grad(y, x)
    assert x.grad is w.grad is None
    np.testing.assert_allclose(dx.numpy(), branch.detach().numpy())


def test_inputs_choose_whose_grad_is_filled():
    """backward(inputs=...) fills these and no others, leaves or not."""
    x, w = (ag.tensor([1.0, 2.0], requires_grad=True) for _ in "xw")
    h = x * w
    (h * h).sum().backward(inputs=[w, h])
    assert x.grad is None
    assert w.grad.tolist() == [2, 16]
    assert h.grad.tolist() == [2, 8]


def test_several_outputs_add_up():
    """grad() of several outputs, one of them an input of another, is the sum of their gradients."""
    answers = []
    for lib, grad in ((ag, ag.grad), (torch, torch.autograd.grad)):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        h = x * x
        y = (h * x).sum()
        answers.append([g.tolist() for g in grad([y, h], [x, h], [lib.tensor(2.0), lib.tensor([1.0, 10.0])])])
    assert answers[0] == answers[1]


def test_no_grad_and_detach_stop_recording():
    """Nothing is recorded in no_grad, as a block or a decorator, recursive or not; enable_grad records again."""
    x = ag.tensor(2.0, requires_grad=True)

    @ag.no_grad()
    def power(n):
        return x * power(n - 1) if n else x

    with ag.no_grad():
        y = x * x
        with ag.enable_grad():
            z = x * x
    assert not y.requires_grad
    assert z.requires_grad
    assert not power(3).requires_grad
    assert ag.is_grad_enabled()
    assert not (x.detach() * 2).requires_grad
    ag.set_grad_enabled(False)
    assert not (x * 2).requires_grad
    ag.set_grad_enabled(True)


def test_no_grad_decorates_without_brackets_too():
    """A function is known from a mode, so both forms that torch takes are taken."""
    for lib in (ag, torch):
        x = lib.tensor(1.0, requires_grad=True)
        assert not lib.no_grad(lambda x: x * 2)(x).requires_grad
        with lib.no_grad():
            assert lib.enable_grad(lambda x: x * 2)(x).requires_grad
            with lib.set_grad_enabled(mode=True):
                assert (x * 2).requires_grad


def test_set_grad_enabled_decorates():
    """Nothing changes until the function is called, however deep it calls itself; afterwards all is as it was."""
    for lib in (ag, torch):
        x = lib.tensor(1.0, requires_grad=True)

        @lib.set_grad_enabled(False)
        def power(n, x=x):
            return x if n == 0 else x * power(n - 1)

        assert lib.is_grad_enabled()
        assert [power(3).requires_grad for _ in range(2)] == [False, False]
        assert lib.is_grad_enabled()
        with lib.no_grad():
            recorded = lib.set_grad_enabled(True)(lambda x=x: x * 2)
            assert not lib.is_grad_enabled()
            assert recorded().requires_grad


def test_a_root_in_double_precision_gives_gradients_of_their_own_dtype():
    """A cotangent is converted, also where the backward pass is recorded."""
    for lib, grad in ((ag, ag.grad), (torch, torch.autograd.grad)):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        (dx,) = grad(x * 2, x, grad_outputs=lib.ones(2, dtype=lib.float64), create_graph=True)
        assert dx.dtype == lib.float32


def test_the_graph_looks_like_torchs():
    """Names and edges of grad_fn are torch's, down to the leaf they end at."""
    shown = []
    for lib in (ag, torch):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        y = (x * 2 + 1).relu().sum()
        node, names = y.grad_fn, []
        while node is not None:
            names.append((node.name(), len(node.next_functions)))
            last, node = node, node.next_functions[0][0] if node.next_functions else None
        assert last.variable is x
        assert y.grad_fn.next_functions[0][1] == 0
        shown.append([name.replace("torch::autograd::", "") for name, _ in names])
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    "index", [0, slice(1, None), (slice(None), 0), (..., -1), (0, slice(1, None)), (0, 1), None, (..., None), [0, 0]]
)
def test_an_index_is_named_as_torch_names_its_last_part(index):
    """A number selects, a slice slices, None inserts a dimension."""
    names = [lib.ones(2, 3, requires_grad=True)[index].grad_fn.name() for lib in (ag, torch)]
    assert names[0] == names[1]


def test_the_engine_knows_no_maths():
    """The walk imports no operation, and fits on a page and a half."""
    source = Path(engine.__file__).read_text()
    assert "autograd.ops" not in source
    assert source.count("\n") < 150


def test_a_root_may_be_a_leaf():
    """backward() on a leaf gives it the cotangent."""
    x = ag.tensor(2.0, requires_grad=True)
    x.backward()
    assert x.grad.item() == 1
    with pytest.raises(AutogradError, match="requires grad"):
        ag.tensor(2.0).backward()


def both(use):
    """What torch and the course's engine give to the same lines."""
    return use(torch, torch.autograd.grad), use(ag, ag.grad)


def test_a_walk_inside_a_hook_leaves_the_outer_one_alone():
    """It starts without the cotangents that wait in the nodes it meets, and they are there again afterwards."""

    def use(lib, grad):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        a = x * 2
        b, c, seen = a.sin(), a.cos(), []

        def inner(g):
            seen.append(grad(b, x, lib.ones(2), retain_graph=True)[0].tolist())
            with pytest.raises(RuntimeError):
                (b * c).backward(lib.ones(3))

        c.register_hook(inner)
        (b + c).sum().backward(retain_graph=True)
        return [*seen, x.grad.tolist()]

    theirs, ours = both(use)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:Using backward")  # torch advises against what is tested
def test_leaves_do_not_share_a_gradient_that_was_recorded():
    """After create_graph=True each leaf, and the cotangent that was passed, has memory of its own."""

    def use(lib, _):
        x, y = (lib.tensor([1.0], requires_grad=True) for _ in "xy")
        s, v = x + y, lib.ones(1)
        s.backward(v, create_graph=True)
        (x + y).backward(v)
        (x + y).backward(v, inputs=[x, y], create_graph=True)
        (x + y).backward(v)
        return [x.grad.item(), y.grad.item(), v.item()]

    theirs, ours = both(use)
    assert theirs == ours == [4, 4, 1]


def test_a_backward_pass_in_two_parts():
    """What leads to no target is not walked, and so not freed: the second part starts where the first ended."""

    def use(lib, grad):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        h = x.sin()
        (g,) = grad((h * h).sum(), h)
        h.backward(g)
        return x.grad.tolist()

    theirs, ours = both(use)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_an_output_that_is_asked_for_twice():
    """An output that is also an input, given twice, gets the sum of its cotangents."""

    def use(lib, grad):
        x, v = lib.tensor([1.0, 2.0], requires_grad=True), lib.ones(2)
        y = x * 1
        return [grad([y, y], [y], [v, v])[0].tolist(), grad([x, x], [x], [v, v])[0].tolist()]

    theirs, ours = both(use)
    assert theirs == ours


def test_backward_takes_several_tensors():
    """In one walk, each with its cotangent, or 1 for a single number; named inputs are filled and no others."""
    for lib in (ag, torch):
        x, y = lib.tensor([1.0, 2.0], requires_grad=True), lib.tensor([3.0, 4.0], requires_grad=True)
        h = x * y
        lib.autograd.backward([h, h.sum(), x.sum()], [lib.tensor([1.0, 10.0]), None, None], retain_graph=True)
        assert (x.grad.tolist(), y.grad.tolist()) == ([7, 45], [2, 22])
        x.grad = y.grad = None
        lib.autograd.backward(h, lib.ones(2), inputs=x, retain_graph=True)
        lib.autograd.backward(h, grad_tensors=(lib.ones(2),), inputs=[x])
        assert (x.grad.tolist(), y.grad) == ([6, 8], None)
        lib.autograd.backward([])
        x.grad = None
        lib.autograd.backward((x**3).sum(), create_graph=True)
        (ddx,) = lib.autograd.grad(x.grad.sum(), x)
        assert ddx.tolist() == [6, 12]
        x.grad = None  # a gradient with a graph holds on to its tensor


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda lib, x: lib.autograd.backward([x * 2, x.sum()], [lib.ones(2)]), "each of the 2 outputs, but has 1"),
        (lambda lib, x: lib.autograd.backward(x * 2), "without gradient=, the output must be a single number"),
        (lambda lib, x: lib.autograd.backward([x.sum(), lib.ones(())]), "its grad_fn is None"),
        (lambda lib, x: lib.autograd.backward(x.sum(), inputs=[]), "inputs must name a tensor"),
        (lambda lib, x: lib.autograd.backward(x * 2, lib.ones(3)), r"shape of the output, \(2,\)"),
    ],
)
def test_a_walk_from_several_that_cannot_start_says_why(make, said):
    """Before any gradient is touched."""
    for lib in (ag, torch):
        x = lib.ones(2, requires_grad=True)
        with pytest.raises(RuntimeError, match=said if lib is ag else None):
            make(lib, x)
        assert x.grad is None
