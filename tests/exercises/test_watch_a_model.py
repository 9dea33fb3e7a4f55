"""Right answers to watch_a_model that look nothing like the reference get every point."""

import pytest

NUMPY = {
    "record": """
import numpy as np
def record(model):
    table, everything = dict(), [np.zeros(0)]
    for name, p in model.named_parameters():
        if p.grad is None:
            table[name] = None; continue
        g = np.array(p.grad.cpu().numpy(), dtype=np.longdouble).ravel()
        everything.append(g)
        ok = np.isfinite(g)
        table[name] = {
            "norm": np.sqrt((g * g).sum()).astype(np.float64), "mean": np.float64(g.mean()),
            "std": np.float64(g.std(ddof=1)) if len(g) > 1 else np.float32(0), "largest": np.float32(np.abs(g).max()),
            "nonfinite": np.count_nonzero(~ok), "shape": p.shape,
        }
    return [table, np.float64(np.sqrt(np.square(np.concatenate(everything)).sum()))]
""",
    "first_nonfinite": """
import functools
import numpy as np

def bad(value):
    if torch.is_tensor(value):
        return not np.isfinite(value.detach().numpy()).all()
    return isinstance(value, (tuple, list, dict)) and any(bad(v) for v in value)

class Watcher:
    def __init__(self, name, log):
        self.name, self.log, self.stack = name, log, []
    def before(self, module, inputs):
        self.stack.append(bad(inputs))
    def after(self, module, inputs, output):
        if bad(output) and not self.stack.pop():
            self.log.append(self.name)

def first_nonfinite(model, x):
    log, hooks = [], []
    for name, m in model.named_modules():
        if next(m.children(), None) is None:
            w = Watcher(name, log)
            hooks += [m.register_forward_pre_hook(w.before), m.register_forward_hook(w.after)]
    was = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    try:
        model(x)
    finally:
        torch.set_grad_enabled(was)
        [h.remove() for h in hooks]
    return next(iter(log), None)
""",
    "ratios": """
import numpy as np
def before(model):
    return [(n, np.array(p.detach().numpy(), copy=True)) for n, p in model.named_parameters()]

def ratios(model, kept):
    now = dict(model.named_parameters())
    found = {}
    for n, old in kept:
        new = now[n].detach().numpy()
        size = np.linalg.norm(old.astype(float).ravel())
        moved = np.linalg.norm(new.astype(float).ravel() - old.ravel())
        found[n] = None if size == 0 else moved / size
    return found
""",
}
STOPS_EARLY = {
    "record": """
def record(model):
    def sizes(g):
        big = g.abs().max()
        return big * torch.sqrt(((g / big) ** 2).sum()) if big > 0 and torch.isfinite(big) else big
    rows = {}
    for name, p in model.named_parameters():
        rows[name] = None
        g = p.grad
        if g is not None:
            g = g.detach().clone().double()
            n = g.numel()
            m = g.sum() / n
            rows[name] = dict(norm=float(sizes(g)), mean=float(m), largest=float(torch.max(-g.min(), g.max())),
                              std=float(torch.sqrt(((g - m) ** 2).sum() / max(n - 1, 1))),
                              nonfinite=n - g.isfinite().sum().item())
    return rows, float(torch.tensor([r["norm"] for r in rows.values() if r], dtype=torch.float64).norm())
""",
    "first_nonfinite": """
class Found(Exception):
    pass

def flat(value):
    from torch.utils._pytree import tree_leaves
    return [t for t in tree_leaves(value) if isinstance(t, torch.Tensor)]

def first_nonfinite(model, x):
    names = {m: n for n, m in model.named_modules() if not len(list(m.children()))}
    given = []
    def pre(m, args):
        given.append(any((~torch.isfinite(t)).any() for t in flat(args)))
    def post(m, args, out):
        was = given.pop()
        if not was and any((~torch.isfinite(t)).any() for t in flat(out)):
            raise Found(names[m])
    handles = [m.register_forward_pre_hook(pre) for m in names] + [m.register_forward_hook(post) for m in names]
    with torch.inference_mode():
        try:
            model(x)
        except Found as found:
            return str(found)
        finally:
            for h in handles: h.remove()
""",
    "ratios": """
import copy
def before(model):
    return copy.deepcopy(model)

@torch.no_grad()
def ratios(model, kept):
    result = {}
    for (name, new), old in zip(model.named_parameters(), kept.parameters()):
        old, new = old.to(torch.float64), new.to(torch.float64)
        size = torch.dist(old, torch.zeros_like(old))
        result[name] = (torch.dist(new, old) / size).item() if old.count_nonzero() else None
    return result
""",
}
GLOBAL_HOOKS = {
    "record": """
import math
def record(model):
    # no torch for the sums at all
    rows, seen, total = {}, set(), []
    for prefix, module in model.named_modules():
        for last, p in module._parameters.items():
            if p is None or id(p) in seen: continue
            seen.add(id(p))
            name = f"{prefix}.{last}" if prefix else last
            if p.grad is None:
                rows[name] = None
                continue
            g = p.grad.flatten().tolist()
            total += g
            bad = sum(not math.isfinite(v) for v in g)
            mean = math.fsum(g) / len(g) if not bad else math.nan
            var = sum((v - mean) ** 2 for v in g) / (len(g) - 1) if len(g) > 1 else 0
            rows[name] = {"norm": math.hypot(*g), "mean": mean, "std": math.sqrt(var), "nonfinite": bad,
                          "largest": max(map(abs, g))}
    return rows, math.hypot(*total)
""",
    "first_nonfinite": """
from contextlib import ExitStack
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

def fine(value):
    match value:
        case torch.Tensor():
            return ((value - value) == 0).all().item()
        case tuple() | list():
            return all([fine(v) for v in value])
    return True

def first_nonfinite(model, x):
    names, state = dict((id(m), n) for n, m in model.named_modules()), {"first": None}
    stack = []
    def enter(m, inputs):
        stack.append(fine(inputs))
    def leave(m, inputs, output):
        came_fine = stack.pop()
        if came_fine and not fine(output) and state["first"] is None and not m._modules and id(m) in names:
            state["first"] = names[id(m)]
    with ExitStack() as hooks, torch.no_grad():
        hooks.callback(register_module_forward_pre_hook(enter).remove)
        hooks.callback(register_module_forward_hook(leave).remove)
        model(x)
    return state["first"]
""",
    "ratios": """
class Ratios:
    def __init__(self, model):
        self.was = {k: v.clone() for k, v in model.state_dict().items()}
    def __call__(self, model):
        out = {}
        for k, p in model.named_parameters():
            w = self.was[k].double().flatten().tolist()
            d = (p.data.double() - self.was[k].double()).flatten().tolist()
            size = sum(v * v for v in w) ** 0.5
            out[k] = sum(v * v for v in d) ** 0.5 / size if any(w) else None
        return out

def before(model):
    return Ratios(model)

def ratios(model, kept):
    return kept(model)
""",
}
IN_ONE_VECTOR = {
    "record": """
def record(model):
    params = dict(model.named_parameters())
    have = {n: p.grad.reshape(-1).to(torch.float64) for n, p in params.items() if p.grad is not None}
    whole = torch.cat([torch.zeros(0, dtype=torch.float64), *have.values()])
    rows = dict.fromkeys(params)
    for n, g in have.items():
        mean = torch.sum(g).div(len(g))
        rows[n] = {
            "norm": torch.linalg.vector_norm(g).item(),
            "mean": mean.item(),
            "std": (torch.linalg.vector_norm(g - mean) / max(1, len(g) - 1) ** 0.5).item(),
            "largest": torch.linalg.vector_norm(g, torch.inf).item(),
            "nonfinite": sum(1 for v in g.tolist() if v != v or v in (float("inf"), float("-inf"))),
        }
    return rows, torch.dot(whole, whole).sqrt().item()
""",
    "first_nonfinite": """
def first_nonfinite(model, x):
    answer, inside, handles = None, 0, []

    def ok(value):
        todo = [value]
        while todo:
            item = todo.pop()
            if isinstance(item, (tuple, list)):
                todo.extend(item)
            elif not torch.isfinite(item.abs().max()):
                return False
        return True

    def make(name):
        before = []
        def pre(_, args):
            before.append(ok(args))
        def post(_, args, out):
            nonlocal answer
            if before.pop() and answer is None and not ok(out):
                answer = name
        return pre, post

    leaves = [(n, m) for n, m in model.named_modules() if m._modules == {}]
    with torch.autograd.grad_mode.no_grad():
        try:
            for n, m in leaves:
                pre, post = make(n)
                handles.append(m.register_forward_pre_hook(pre))
                handles.append(m.register_forward_hook(post))
            model(x)
        finally:
            while handles:
                handles.pop().remove()
    return answer
""",
    "ratios": """
def before(model):
    return {p: (p.detach().double() + 0.0, p.detach().double().norm().item()) for p in model.parameters()}

def ratios(model, kept):
    def of(p):
        old, size = kept[p]
        return torch.linalg.vector_norm(p.detach() - old).item() / size if size > 0 else None
    return {name: of(p) for name, p in model.named_parameters()}
""",
}
ARRAYS = {
    "record": """
import numpy as np
def record(model):
    rows = {}
    with torch.no_grad():
        for name, p in model.named_parameters():
            g = getattr(p, "grad", None)
            if g is None:
                rows[name] = None
            else:
                std, mean = torch.std_mean(g.double(), correction=1 if g.numel() > 1 else 0)
                rows[name] = {"norm": np.array(g.double().pow(2).sum().sqrt()), "mean": mean.numpy(),
                              "std": std.numpy(),
                              "largest": np.array([g.abs().max().item()]),
                              "nonfinite": np.isfinite(g.numpy()).size - np.isfinite(g.numpy()).sum()}
        t = sum(r["norm"] ** 2 for r in rows.values() if r is not None) ** 0.5
    return rows, t
""",
    "first_nonfinite": """
def first_nonfinite(model, x):
    # one wrapper around each leaf's hooks, keyed by depth of call
    calls, handles = [], []
    def numbers(v):
        if isinstance(v, torch.Tensor):
            yield v
        elif isinstance(v, (list, tuple)):
            for w in v:
                yield from numbers(w)
    def finite(v):
        return not sum(int((t.isnan() | t.isinf()).sum()) for t in numbers(v))
    def entering(name, module, inputs):
        calls.append([name, finite(inputs), None])
    def leaving(name, module, inputs, output):
        calls[-1][2] = finite(output)
    from functools import partial
    for name, module in model.named_modules():
        if sum(1 for _ in module.children()) == 0:
            handles.append(module.register_forward_pre_hook(partial(entering, name)))
            handles.append(module.register_forward_hook(partial(leaving, name)))
    try:
        torch.no_grad()(model)(x)
    finally:
        for h in reversed(handles):
            h.remove()
    for name, came, went in calls:
        if came and went is False:
            return name
""",
    "ratios": """
import numpy as np
KEPT = []
def before(model):
    with torch.no_grad():
        KEPT.append([torch.clone(p) for p in model.parameters()])
    return len(KEPT) - 1

def ratios(model, kept):
    out = {}
    for (name, p), old in zip(model.named_parameters(), KEPT[kept]):
        w = old.double()
        d = p.data.double().sub(w)
        with np.errstate(all="ignore"):
            r = np.sqrt(np.float64((d * d).sum())) / np.sqrt(np.float64((w * w).sum()))
        out[name] = np.array(r) if old.any() else None
    return out
""",
}
HOOKED_EVERYWHERE = {
    "record": """
def record(model):
    def line(g):
        g = g.type(torch.DoubleTensor)
        return dict(zip(("norm", "mean", "std", "largest", "nonfinite"), (
            g.norm(p="fro").item(), g.mean().item(), g.std(unbiased=g.numel() > 1).item(),
            max(abs(v) for v in g.flatten().tolist()), int(torch.logical_not(torch.isfinite(g)).long().sum()))))
    rows = {n: line(p.grad) if p.grad is not None else None for n, p in model.named_parameters()}
    grads = [p.grad.double() for p in model.parameters() if p.grad is not None]
    return rows, nn.utils.get_total_norm(grads).item()
""",
    "first_nonfinite": """
class Spy:
    def __init__(self, model):
        self.model, self.handles, self.depth, self.first = model, [], [], None
    def __enter__(self):
        for name, m in self.model.named_modules():
            self.handles.append(m.register_forward_pre_hook(lambda m, a: self.depth.append(self.bad(a))))
            self.handles.append(m.register_forward_hook(lambda m, a, o, name=name: self.judge(name, m, o)))
        return self
    def judge(self, name, m, out):
        given = self.depth.pop()
        if self.first is None and self.bad(out) and not given and not any(True for _ in m.children()):
            self.first = name
    def bad(self, v):
        if isinstance(v, (tuple, list)): return any([self.bad(w) for w in v])
        return bool((v.isnan() + v.isinf()).any())
    def __exit__(self, *_):
        for h in self.handles: h.remove()

def first_nonfinite(model, x):
    with Spy(model) as spy, torch.no_grad():
        model(x)
    return spy.first
""",
    "ratios": """
from copy import deepcopy
def before(model):
    return deepcopy(model.state_dict())

def ratios(model, kept):
    now = model.state_dict()
    return {k: (lambda a, b: (b - a).norm().item() / a.norm().item() if a.abs().sum() > 0 else None)
            (kept[k].double(), now[k].double()) for k, _ in model.named_parameters()}
""",
}
STYLES = {
    "numpy": NUMPY,
    "stops_early": STOPS_EARLY,
    "global_hooks": GLOBAL_HOOKS,
    "in_one_vector": IN_ONE_VECTOR,
    "arrays": ARRAYS,
    "hooked_everywhere": HOOKED_EVERYWHERE,
}


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_a_right_answer_in_another_style_gets_every_point(earns_every_point, style):
    """NumPy; an exception that stops the run; hooks on modules at large; one long vector; arrays; a copied model."""
    earns_every_point(style)
