"""Right answers to who_changed_it that look nothing like the reference get every point."""

import pytest

AT_LARGE = {
    "writers": """
from torch.nn.modules import module as at_large

def writers(model, x):
    # Two hooks on modules at large, for all modules at once.
    names = {m: name for name, m in model.named_modules() if next(m.children(), None) is None}
    stack, said = [], {}

    def enter(m, inputs):
        if m in names:
            (t,) = inputs
            stack.append((t._version, t.detach().numpy().tobytes()))

    def leave(m, inputs, output):
        if m in names:
            (t,), (version, content) = inputs, stack.pop()
            changed = t.detach().numpy().tobytes() != content
            if t._version > version or changed:
                said[names[m]] = "counted" if t._version > version else "silent"

    first = at_large.register_module_forward_pre_hook(enter)
    second = at_large.register_module_forward_hook(leave)
    try:
        model(torch.tensor(x.tolist()))
    finally:
        first.remove()
        second.remove()
    return said
""",
    "spoiler": """
def spoiler(model, x):
    names = dict(map(reversed, model.named_modules()))
    with torch.enable_grad():
        copy = x.detach().clone()
        copy.requires_grad = True
        first, handles = [None], []

        def hook(m, returned, received):
            if first[0] is None and torch.cat([g.flatten() for g in received]).isfinite().all():
                if not torch.cat([g.flatten() for g in returned]).isfinite().all():
                    first[0] = names[m]

        for m in names:
            if not [*m.children()]:
                handles.append(m.register_full_backward_hook(hook))
        try:
            torch.autograd.backward(model(copy).sum(), inputs=[copy])
        finally:
            for handle in handles:
                handle.remove()
    return first[0]
""",
    "stale": """
def stale(model, x):
    # Walks the graph: the nodes that a module has added are its own, and what they saved refuses to be read.
    known, own, handles = set(), {}, []

    def nodes(tensor):
        todo, found = [tensor.grad_fn], []
        while todo:
            node = todo.pop()
            if node is not None and node not in known:
                known.add(node)
                found.append(node)
                todo += [n for n, _ in node.next_functions]
        return found

    def overwritten(node):
        for name in dir(node):
            if name.startswith("_saved_"):
                try:
                    getattr(node, name)
                except RuntimeError:
                    return True
        return False

    for name, m in model.named_modules():
        if not len(list(m.children())):
            mine = own.setdefault(name, [])
            handles.append(m.register_forward_pre_hook(lambda m, inputs: (nodes(inputs[0]), None)[1]))
            handles.append(m.register_forward_hook(lambda m, i, out, mine=mine: mine.extend(nodes(out))))
    try:
        model(x.clone().requires_grad_(True) + 0.0)
        return {name for name in own if any(map(overwritten, own[name]))}
    finally:
        [handle.remove() for handle in handles]
""",
}
STACKED = {
    "writers": """
from contextlib import ExitStack
from functools import partial

def writers(model, x):
    said = {}
    with ExitStack() as undo:
        for name, module in model.named_modules():
            if any(True for _ in module.children()):
                continue
            kept = {}
            undo.callback(module.register_forward_pre_hook(partial(_keep, kept)).remove)
            undo.callback(module.register_forward_hook(partial(_compare, kept, said, name)).remove)
        model(x.detach() * 1.0)
    return said

def _keep(kept, module, args):
    kept.update(version=args[0]._version, numbers=args[0].tolist())

def _compare(kept, said, name, module, args, output):
    if args[0]._version != kept["version"]:
        said[name] = "counted"
    elif str(args[0].tolist()) != str(kept["numbers"]):
        said[name] = "silent"
""",
    "spoiler": """
def spoiler(model, x):
    # Tensor hooks on both ends of each module; the input goes through an identity, so that no other module adds to it.
    order, handles = [], []

    def fence(name, module):
        came = []

        def enter(module, inputs):
            if not inputs[0].requires_grad:
                return None
            inside = inputs[0].view_as(inputs[0])
            inside.register_hook(lambda g: order.append((name, all(came), bool(g.isfinite().all()))) and None)
            return (inside,)

        def leave(module, inputs, output):
            outside = output.view_as(output)
            outside.register_hook(lambda g: came.append(bool(g.isfinite().all())))
            return outside

        handles.extend([module.register_forward_pre_hook(enter), module.register_forward_hook(leave)])

    try:
        [fence(name, module) for name, module in model.named_modules() if not list(module.children())]
        start = x.clone().requires_grad_()
        torch.autograd.grad((model(start),), (start,), torch.ones_like(x))
    finally:
        while handles:
            handles.pop().remove()
    return next((name for name, came, went in order if came and not went), None)
""",
    "stale": """
class _Notes:
    def __init__(self, model):
        self.model, self.inside, self.notes, self.handles = model, None, {}, []

    def __enter__(self):
        for name, module in self.model.named_modules():
            if not list(module.children()):
                self.handles.append(module.register_forward_pre_hook(self.enter(name)))
                self.handles.append(module.register_forward_hook(self.leave))
        self.saving = torch.autograd.graph.saved_tensors_hooks(self.pack, lambda packed: packed[0])
        self.saving.__enter__()
        return self

    def __exit__(self, *error):
        self.saving.__exit__(*error)
        for handle in self.handles:
            handle.remove()

    def enter(self, name):
        def hook(module, inputs):
            self.inside = name
        return hook

    def leave(self, module, inputs, output):
        self.inside = None

    def pack(self, t):
        self.notes.setdefault(self.inside, []).append((t, t._version))
        return t, t._version

def stale(model, x):
    with torch.enable_grad(), _Notes(model) as noted:
        model(1.0 * x.clone().requires_grad_())
    noted.notes.pop(None, None)
    return tuple(sorted(name for name, kept in noted.notes.items() if any(t._version - v for t, v in kept)))
""",
}
MIXED = {
    "writers": """
def writers(model, x):
    leaves = [(name, m) for name, m in model.named_modules() if not m._modules]
    written, handles = [], []
    for name, m in leaves:
        memory = []
        def after(m, i, o, memory=memory, name=name):
            same = torch.allclose(i[0], memory[1], rtol=0, atol=0, equal_nan=True)
            written.append((name, i[0]._version - memory[0], not same))
        handles += [
            m.register_forward_pre_hook(lambda m, i, memory=memory: memory.extend([i[0]._version, torch.clone(i[0])])),
            m.register_forward_hook(after),
        ]
    try:
        with torch.inference_mode(False), torch.no_grad():
            model(x + 0)
    except BaseException:
        raise
    finally:
        for h in handles: h.remove()
    return {name: "counted" if moved else "silent" for name, moved, changed in written if moved or changed}
""",
    "stale": """
def stale(model, x):
    current, saved, handles = [""], [], []
    def enter(name):
        return lambda m, i: current.append(name)
    for name, m in model.named_modules():  # containers, too, and their own work is then theirs
        handles.append(m.register_forward_pre_hook(enter(name)))
        handles.append(m.register_forward_hook(lambda m, i, o: current.pop() and None))
    leaves = {name for name, m in model.named_modules() if not list(m.children())}
    try:
        pack = lambda t: saved.append([current[-1], t, t._version]) or t
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            model(x.clone().requires_grad_().clone())
    finally:
        for h in handles:
            h.remove()
    return list({name for name, t, version in saved if name in leaves and t._version > version})
""",
}
STYLES = {"hooks at large, graph": AT_LARGE, "exit stack, tensor hooks": STACKED, "lambdas, containers watched": MIXED}


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_a_right_answer_in_another_style_gets_every_point(earns_every_point, style):
    """Hooks for all modules at once, and a walk of the graph; tensor hooks and classes; lambdas, and sets."""
    earns_every_point(style)
