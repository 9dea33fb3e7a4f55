"""Hooks on tensors and nodes, kept gradients, and hooks on what is saved."""

import weakref

import numpy as np
import pytest
import torch

import course_lib.autograd as ag
from course_lib.errors import AutogradError

LIBRARIES = (ag, torch)


def test_a_tensor_hook_sees_and_replaces_the_gradient():
    """Hooks run in order on the complete gradient, each on what the one before returned, until they are removed."""
    answers = []
    for lib in LIBRARIES:
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        h = x * 3
        seen = []
        handle = h.register_hook(lambda g: g * 10)
        h.register_hook(lambda g, seen=seen: seen.append(g.tolist()))
        x.register_hook(lambda g: g + 1)
        (h * h + h).sum().backward(retain_graph=True)
        first = x.grad.tolist()
        handle.remove()
        handle.remove()
        x.grad = None
        (h * h + h).sum().backward()
        answers.append((seen, first, x.grad.tolist()))
    assert answers[0] == answers[1]


def test_retain_grad_keeps_the_gradient_of_any_tensor():
    """A tensor in the middle keeps what its hooks made of its gradient."""
    answers = []
    for lib in LIBRARIES:
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        h = x * 3
        h.retain_grad()
        h.register_hook(lambda g: g * 2)
        (h * h).sum().backward()
        answers.append((h.grad.tolist(), h.retains_grad, x.retains_grad, x.grad.tolist()))
    assert answers[0] == answers[1]


def asked_for(lib, ask):
    """Ask for some gradients of a graph, and tell who saw and kept what."""
    seen = []
    x, w = (lib.tensor([1.0, 2.0], requires_grad=True) for _ in "xw")
    for name, leaf in (("x", x), ("w", w)):
        leaf.register_post_accumulate_grad_hook(lambda _, name=name: seen.append(name))
    h = x * w
    h.retain_grad()
    h.register_hook(lambda g: seen.append(g.tolist()))
    ask(lib, (h * h).sum(), x, w, h)
    return seen, *(None if t.grad is None else t.grad.tolist() for t in (x, w, h))


@pytest.mark.parametrize(
    "ask",
    [
        lambda lib, y, x, w, h: lib.autograd.grad(y, x),
        lambda lib, y, x, w, h: lib.autograd.grad(y, [w, h]),
        lambda lib, y, x, w, h: y.backward(inputs=[x]),
        lambda lib, y, x, w, h: y.backward(inputs=[x, x]),
        lambda lib, y, x, w, h: y.backward(inputs=[h]),
        lambda lib, y, x, w, h: y.backward(inputs=[w, h]),
        lambda lib, y, x, w, h: y.backward(inputs=w),
    ],
)
def test_where_some_gradients_are_asked_for_hooks_run_on_the_way(ask):
    """What retains its gradient gets it wherever the walk passes; leaves get theirs from backward() alone, once."""
    assert asked_for(ag, ask) == asked_for(torch, ask)


def test_a_gradient_that_is_retained_is_nobody_elses():
    """To write to what grad() returns does not change what was retained on the way."""
    for lib in LIBRARIES:
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        h = x + 0
        h.retain_grad()
        (g,) = lib.autograd.grad(h * 2, x, lib.ones(2))
        (k,) = lib.autograd.grad(h * 2, h, lib.ones(2))
        with lib.no_grad():
            g.zero_()
            k.zero_()
        assert h.grad.tolist() == [4, 4]


def test_an_inner_tensor_named_as_input_retains_its_gradient():
    """As after retain_grad()."""
    for lib in LIBRARIES:
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        h = x * 3
        (h * h).sum().backward(inputs=[h])
        assert h.retains_grad
        assert h.grad.tolist() == [6, 12]
        assert x.grad is None


def test_node_hooks_run_around_the_vjps():
    """A pre-hook may replace what comes in, a hook what goes out; None stands for an input without gradient."""
    answers = []
    for lib in LIBRARIES:
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        y = x * lib.tensor([3.0, 4.0])
        seen = []
        y.grad_fn.register_prehook(lambda gs: (gs[0] * 2,))
        y.grad_fn.register_hook(
            lambda ins, outs, seen=seen: seen.append([None if t is None else t.tolist() for t in (*ins, *outs)])
        )
        y.grad_fn.register_hook(lambda ins, outs: (ins[0] + 100, None))
        y.sum().backward()
        answers.append((seen, x.grad.tolist()))
    assert answers[0] == answers[1]


def test_a_hook_after_accumulation_can_step_and_free():
    """The hook sees .grad filled, and may use and drop it at once."""
    answers = []
    for lib in LIBRARIES:
        x = lib.tensor([1.0, 2.0], requires_grad=True)

        def step(p, lib=lib):
            with lib.no_grad():
                p -= 0.1 * p.grad
            p.grad = None

        x.register_post_accumulate_grad_hook(step)
        (x * x).sum().backward()
        assert x.grad is None
        answers.append(x.detach().numpy())
    np.testing.assert_allclose(*answers)


def test_hooks_run_under_create_graph():
    """What a hook returns can be differentiated too."""
    answers = []
    for lib, grad in ((ag, ag.grad), (torch, torch.autograd.grad)):
        x = lib.tensor(2.0, requires_grad=True)
        h = x * x
        h.register_hook(lambda g: g * g)
        (dx,) = grad(h * h, x, create_graph=True)
        answers.append((dx.item(), grad(dx, x)[0].item()))
    assert answers[0] == answers[1]


def test_saved_tensors_pass_through_their_hooks():
    """What pack returns is kept, unpack gets it back, and gradients, twice, are right."""
    for lib, context in ((ag, ag.saved_tensors_hooks), (torch, torch.autograd.graph.saved_tensors_hooks)):
        x = lib.tensor(np.array([1.0, 2.0]), requires_grad=True)
        log = []
        with context(lambda t, log=log: log.append("pack") or t.tolist(), lambda c, lib=lib: lib.tensor(np.array(c))):
            y = (x.exp() * x.sin()).sum()
        assert set(log) == {"pack"}
        y.backward()
        np.testing.assert_allclose(x.grad.numpy(), np.exp([1, 2]) * (np.sin([1, 2]) + np.cos([1, 2])))


def test_saved_hooks_keep_the_graph_differentiable():
    """Unpacked tensors take their places in the graph again."""
    x = ag.tensor(np.array([1.0, 2.0]), requires_grad=True)
    with ag.saved_tensors_hooks(lambda t: t.numpy().copy(), lambda a: ag.from_numpy(a)):
        y = (x.exp() * x).sum()
    (g,) = ag.grad(y, x, create_graph=True)
    (h,) = ag.grad(g.sum(), x)
    np.testing.assert_allclose(h.numpy(), np.exp([1, 2]) * np.array([3, 4]))


def test_of_nested_saved_hooks_the_innermost_pack():
    """What one block packs, no other unpacks; after the inner one the outer is on again."""
    for lib, context in ((ag, ag.saved_tensors_hooks), (torch, torch.autograd.graph.saved_tensors_hooks)):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        with context(lambda t: t * 10, lambda t: t / 10):
            with context(lambda t: t * 100, lambda t: t / 50):
                inner = x**2
            outer = x**2
        inner.sum().backward()
        assert x.grad.tolist() == [4, 8]  # twice what is right, as the inner hooks have it
        x.grad = None
        outer.sum().backward()
        assert x.grad.tolist() == [2, 4]


def test_forward_mode_saves_nothing_for_hooks_to_pack():
    """Hooks in the function, or around jvp(), change nothing."""
    x, v = ag.tensor([1.0, 2.0]), ag.ones(2)

    def packed(x):
        with ag.saved_tensors_hooks(lambda t: t.tolist(), ag.tensor):
            return x**3

    assert ag.jvp(packed, x, v)[1].tolist() == [3, 12]
    with ag.saved_tensors_hooks(lambda t: t.tolist(), ag.tensor):
        assert ag.jvp(lambda x: x**3, x, v)[1].tolist() == [3, 12]


def test_hooks_need_a_gradient():
    """A constant takes no hook, and cannot retain a gradient."""
    for action in (lambda: ag.tensor(1.0).register_hook(print), lambda: ag.tensor(1.0).retain_grad()):
        with pytest.raises(RuntimeError, match="requires_grad is False"):
            action()
    y = ag.tensor(1.0, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="leaf"):
        y.register_post_accumulate_grad_hook(print)


@pytest.mark.parametrize("wrong", [lambda g: g[:1], lambda g: g.double()], ids=["shape", "dtype"])
def test_a_hook_returns_what_the_gradient_is_like(wrong):
    """A gradient of another shape or dtype would be found much later, or never."""
    x = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x.register_hook(wrong)
    with pytest.raises(AutogradError, match="what a hook returns must have the shape and dtype of the gradient"):
        x.sum().backward()


@pytest.mark.parametrize(("wrong", "name"), [(2.0, "float"), (np.ones(3), "ndarray")])
def test_a_hook_returns_a_tensor(wrong, name):
    """Anything else is named."""
    x = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x.register_hook(lambda g: wrong)
    with pytest.raises(AutogradError, match=f"a hook must return a tensor, or None, but it returned a {name}"):
        x.sum().backward()


def retained_before_the_node(lib):
    """What a tensor retains has been through its own hooks, and not through those of its node."""
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.retain_grad()
    y.grad_fn.register_prehook(lambda g: (g[0] * 10,))
    y.register_hook(lambda g: g * 2)
    y.sum().backward()
    return [y.grad.tolist(), x.grad.tolist()]


def asked_for_before_the_node(lib):
    """A node that only had to be reached is not visited: its own hooks do not run."""
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    y, seen = x * 3, []
    y.register_hook(lambda g: seen.append("tensor"))
    y.grad_fn.register_prehook(lambda g: seen.append("node"))
    return [lib.autograd.grad((y * y).sum(), y)[0].tolist(), seen]


def around_the_end_of_a_path(lib):
    """The node that fills ``.grad`` has hooks, too, which run where it is filled, and not where it is asked for."""
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    y, seen = x * 3, []
    end = y.grad_fn.next_functions[0][0]
    end.register_hook(lambda inputs, outputs: seen.append(("after", len(inputs), outputs[0].tolist())))
    end.register_prehook(lambda g: (g[0] * 10,))
    x.register_post_accumulate_grad_hook(lambda p: seen.append(("filled", p.grad.tolist())))
    x.register_hook(lambda g: seen.append(("tensor", g.tolist())))
    y.sum().backward(retain_graph=True)
    return [seen[:], lib.autograd.grad(y.sum(), x)[0].tolist(), seen[3:], x.grad.tolist()]


def beside_what_was_asked_for(lib):
    """An output that does not lead to what is asked for is not visited, even if it cannot be any more."""
    x, z = (lib.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    y, w, seen = (x * 2).sum(), (z * z).sum(), []
    w.backward()
    for out, name in ((y, "y"), (w, "w")):
        out.register_hook(lambda g, name=name: seen.append(name))
    return [[g.tolist() for g in lib.autograd.grad([y, w], [x])], seen]


def where_nothing_asked_for_is_reached(lib):
    """The one output that a walk starts from has its turn at any rate."""
    x, z = (lib.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    y, seen = x * 2, []
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.retain_grad()
    y.backward(lib.ones(2), inputs=[z])
    return [seen, y.grad.tolist(), x.grad, z.grad]


@pytest.mark.parametrize(
    "scene",
    [
        retained_before_the_node,
        asked_for_before_the_node,
        around_the_end_of_a_path,
        beside_what_was_asked_for,
        where_nothing_asked_for_is_reached,
    ],
)
def test_hooks_run_when_torch_runs_them(scene):
    """The same hooks in the same places see the same in both."""
    assert scene(ag) == scene(torch)


@pytest.mark.parametrize(
    "op", [lambda x: x, lambda x: x.reshape(4, 1), lambda x: x[None], lambda x: x.reshape(2, 2).T, lambda x: x + 0]
)
def test_a_gradient_shares_no_memory_with_the_cotangent_it_was_made_of(op):
    """Not even where it is a view of it: what an optimizer does to the one is nothing to the other."""
    x = ag.ones(4, requires_grad=True)
    y = op(x)
    v = ag.ones_like(y)
    y.backward(v)
    x.grad.zero_()
    assert v.sum().item() == 4


def on_a_tensor(x, hook):
    """Register a hook on the gradient of a result."""
    y = x * 2
    return y, y.register_hook(hook)


def on_a_leaf(x, hook):
    """Register a hook that runs when .grad is filled."""
    return x * 2, x.register_post_accumulate_grad_hook(hook)


def on_a_node(x, hook):
    """Register a hook that runs after the rules of a node."""
    y = x * 2
    return y, y.grad_fn.register_hook(lambda ins, outs: hook(outs[0]))


def on_the_end_of_a_path(x, hook):
    """Register a hook that runs after the node that fills .grad."""
    y = x * 2
    return y, y.grad_fn.next_functions[0][0].register_hook(lambda ins, outs: hook(outs[0]))


def test_hooks_of_a_leaf_run_once_where_the_walk_begins_at_it():
    """As at the end of any other path."""
    for lib in LIBRARIES:
        x, ran = lib.ones(2, requires_grad=True), []
        (node, _), *_ = (x * 1).grad_fn.next_functions
        node.register_hook(lambda ins, outs, ran=ran: ran.append("after"))
        node.register_prehook(lambda outs, ran=ran: ran.append("before"))
        x.register_hook(lambda g, ran=ran: ran.append("tensor"))
        x.backward(lib.ones(2))
        assert (ran, x.grad.tolist()) == (["tensor", "before", "after"], [1, 1])


@pytest.mark.parametrize("register", [on_a_tensor, on_a_leaf, on_a_node, on_the_end_of_a_path])
def test_a_hook_may_remove_itself(register):
    """It runs once, and the walk goes on."""
    for lib in LIBRARIES:
        x, seen, handles = lib.ones(2, requires_grad=True), [], []

        def once(_, seen=seen, handles=handles):
            seen.append("ran")
            handles[0].remove()

        y, handle = register(x, once)
        handles.append(handle)
        y.sum().backward(retain_graph=True)
        y.sum().backward()
        assert (seen, x.grad.tolist()) == (["ran"], [4, 4])


def test_a_hook_of_a_node_runs_once_where_the_gradient_is_retained_too():
    """Where it is kept is not where the node is left."""
    for lib in LIBRARIES:
        x, seen = lib.ones(2, requires_grad=True), []
        y = x * 2
        y.retain_grad()
        y.grad_fn.register_hook(lambda ins, outs, seen=seen: seen.append((ins[0].tolist(), outs[0].tolist())))
        y.sum().backward()
        assert seen == [([2, 2], [1, 1])]


@pytest.mark.filterwarnings("ignore:Using backward")  # torch advises against what is tested
@pytest.mark.parametrize("retained", [False, True])
def test_a_gradient_that_was_recorded_can_be_differentiated(retained):
    """That of a leaf, and one that is retained."""
    for lib in LIBRARIES:
        x = lib.tensor(2.0, requires_grad=True)
        y = x * x
        y.retain_grad()
        (y * x).backward(create_graph=True)
        assert (x.grad.item(), y.grad.item()) == (12, 2)
        (second,) = lib.autograd.grad(y.grad if retained else x.grad, x)
        assert second.item() == (1 if retained else 12)


def test_what_a_second_backward_adds_to_is_no_longer_what_was_saved():
    """A gradient that was used in a computation and has grown since is noticed."""
    for lib in LIBRARIES:
        x, w = (lib.tensor([1.0, 2.0], requires_grad=True) for _ in "xw")
        (x * x).sum().backward()
        y = (x.grad * w).sum()
        (x * x).sum().backward()
        with pytest.raises(RuntimeError, match=r"a second backward\(\)" if lib is ag else "modified by an inplace"):
            y.backward()


def test_a_graph_does_not_keep_its_leaves_alive():
    """A leaf that nobody holds any more needs no gradient; its elements are what is saved."""
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    y, alive = (x * x).sum(), weakref.ref(x)
    del x
    assert alive() is None
    y.backward()


def test_what_a_pack_hook_computes_is_not_recorded():
    """Nor packed in its turn."""
    for lib, context in ((ag, ag.saved_tensors_hooks), (torch, torch.autograd.graph.saved_tensors_hooks)):
        x, w, packed = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True), []

        def pack(t, w=w, packed=packed):
            packed.append((t * w).requires_grad)
            return t

        with context(pack, lambda t: t):
            y = x.exp()
        y.sum().backward()
        assert (packed, w.grad) == ([False], None)


@pytest.mark.parametrize(
    ("register", "hook", "found"),
    [
        ("register_hook", lambda ins, outs: (ins[0],), "each of the 2 that it may replace, or None, but it returned 1"),
        ("register_prehook", lambda outs: outs * 2, "each of the 1 that it may replace, or None, but it returned 2"),
        ("register_prehook", lambda outs: (2.0,), "a hook must return a tensor, or None, but it returned a float"),
    ],
)
def test_a_hook_of_a_node_returns_a_tensor_for_each_gradient(register, hook, found):
    """One too few is not taken for none, as torch does not."""
    for lib in LIBRARIES:
        x, w = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
        y = x * w
        getattr(y.grad_fn, register)(hook)
        with pytest.raises((RuntimeError, TypeError)) as raised:
            y.sum().backward()
        assert lib is torch or found in str(raised.value)
