"""Right answers to clip_by_global_norm that look nothing like the reference get every point."""

import pytest

LOOPS = {
    "global_norm": """
import math

def global_norm(grads):
    return math.hypot(*(float(v) for g in grads.values() for v in np.ravel(g)))
""",
    "clip": """
def clip(grads, max_norm):
    if math.isnan(max_norm) or max_norm <= 0:
        raise ValueError("max_norm: above zero, please")
    bad = [name for name in grads if not math.isfinite(float(np.sum(np.abs(grads[name], dtype=np.float64))))]
    if bad:
        raise ValueError("not finite: " + ", ".join(bad))
    norm = global_norm(grads)
    factor = min(1.0, max_norm / norm) if norm > 0 else 1.0
    out = {}
    for name, g in grads.items():
        out[name] = np.empty_like(g)
        for index in np.ndindex(g.shape):
            out[name][index] = float(g[index]) * factor
    return [out, np.float32(norm)]
""",
}
SCALED = {
    "global_norm": """
def global_norm(grads):
    largest = max(float(np.max(np.abs(g), initial=0)) for g in grads.values())
    if not largest:
        return np.zeros(())
    total = 0.0
    for g in grads.values():
        total = total + np.linalg.norm((g / g.dtype.type(largest)).ravel().astype(np.longdouble)) ** 2
    return np.asarray(np.sqrt(total) * largest, dtype=np.float64)
""",
    "step": """
def step(params, micro_grads, loss_scale, max_norm, lr):
    total = {name: np.zeros(np.shape(p)) for name, p in params.items()}
    for one in micro_grads:
        for name in one:
            total[name] += np.float64(one[name]) / loss_scale / len(micro_grads)
    total, norm = clip(total, max_norm)
    new = {name: np.array(p, dtype=float) for name, p in params.items()}
    for name in new:
        new[name] -= lr * total[name]
    return new
""",
}
TORCH = {
    "global_norm": """
import torch

def global_norm(grads):
    return torch.linalg.vector_norm(torch.cat([torch.as_tensor(g).double().flatten() for g in grads.values()]))
""",
    "clip": """
def clip(grads, max_norm):
    if not max_norm > 0:
        raise ValueError("max_norm")
    for name in grads:
        if not torch.as_tensor(grads[name]).isfinite().all():
            raise ValueError(name)
    norm = global_norm(grads)
    if norm <= max_norm:
        return dict(grads), norm
    tensors = {n: torch.as_tensor(g) for n, g in grads.items()}
    return {n: (t.double() * (max_norm / norm)).to(t.dtype) for n, t in tensors.items()}, norm
""",
    "step": """
def step(params, micro_grads, loss_scale, max_norm, lr):
    mean = {n: np.mean([g[n] for g in micro_grads], axis=0, dtype=np.float64) / loss_scale for n in params}
    return {n: torch.as_tensor(params[n]) - lr * torch.as_tensor(g) for n, g in clip(mean, max_norm)[0].items()}
""",
}
FLAT = {
    "clip": """
def clip(grads, max_norm):
    if not (max_norm > 0): raise ValueError("bad bound")
    v = np.concatenate([g.ravel().astype(np.longdouble) for g in grads.values()])
    if not np.isfinite(v).all():
        raise ValueError("not finite: " + next(n for n, g in grads.items() if not np.isfinite(g).all()))
    norm = float(np.sqrt((v * v).sum()))
    if norm > max_norm: v = v * (max_norm / norm)
    out, at = {}, 0
    for n, g in grads.items():
        out[n] = v[at:at + g.size].reshape(g.shape).astype(g.dtype); at += g.size
    return out, norm
""",
}
HYPOT = {
    "global_norm": """
import functools
def global_norm(grads):
    flat = [float(v) for g in grads.values() for v in g.flat]
    return functools.reduce(np.hypot, flat, 0.0)
""",
    "clip": """
from collections import OrderedDict
def clip(grads, max_norm):
    if np.isnan(max_norm) or max_norm <= 0: raise ValueError(max_norm)
    for n in grads:
        if not np.all(np.isfinite(grads[n])): raise ValueError(f"{n!r} is broken")
    norm = global_norm(grads)
    f = 1.0 if norm == 0 else min(1.0, max_norm / norm)
    scaled = OrderedDict()
    for n, g in reversed(list(grads.items())):
        scaled[n] = np.multiply(g, f, dtype=np.float64).astype(g.dtype)
    return scaled, np.array(norm)
""",
    "step": """
def step(params, micro_grads, loss_scale, max_norm, lr):
    mean = {n: np.zeros_like(p) for n, p in params.items()}
    for i, g in enumerate(micro_grads, start=1):
        mean = {n: m + (np.longdouble(g[n]) / loss_scale - m) / i for n, m in mean.items()}
    clipped, _ = clip(mean, max_norm)
    out = {n: p.copy() for n, p in params.items()}
    for n in out: out[n] -= lr * clipped[n]
    return out
""",
}


@pytest.mark.parametrize("style", [LOOPS, SCALED, FLAT, HYPOT], ids=["loops", "scaled", "one flat vector", "hypot"])
def test_a_right_answer_in_another_style_gets_every_point(earns_every_point, style):
    """Python floats one by one; in units of the largest entry, with long doubles."""
    earns_every_point(style)


def test_by_hand_is_without_a_librarys_arrays(finds_no_library):
    """torch is not there where it is graded, not even for its tensors."""
    finds_no_library(TORCH)


def test_an_error_of_a_class_of_ones_own_is_called_what_it_is(grade):
    """Its name is all that crosses over, so it is not said to be no ValueError."""
    own = {"clip": "class Bad(ValueError): pass\n" + LOOPS["clip"].replace("raise ValueError", "raise Bad")}
    report = grade(LOOPS | own)
    said = "`clip` raises Bad, and whether that is a ValueError cannot be seen here: raise ValueError"
    assert (report.points, {row.message for row in report.rows if row.status != "passed"}) == (9, {said})


IN_PLACE = """
def step(params, micro_grads, loss_scale, max_norm, lr):
    total = micro_grads[0]
    for g in micro_grads[1:]:
        for name in total:
            total[name] += g[name]
    mean = {name: g / len(micro_grads) / loss_scale for name, g in total.items()}
    clipped, _ = clip(mean, max_norm)
    return {name: params[name] - lr * clipped[name] for name in params}
"""


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (IN_PLACE, "step changed the micro-gradients that it was given"),
        (
            IN_PLACE.replace("micro_grads[0]", "dict(micro_grads[0])").replace(" / len(micro_grads)", ""),
            "is it the mean",
        ),
    ],
    ids=["in place", "sum"],
)
def test_the_check_of_a_step_says_what_is_wrong(grade, answer, said):
    """It blamed the bound for both: the micro-gradients had changed by then, and a sum that is clipped is as long."""
    if said == "is it the mean":
        answer = answer.replace("total[name] += g[name]", "total[name] = total[name] + g[name]")
    checks = {row.name: row.message for row in grade({"step": answer}).rows if row.kind == "check"}
    assert said in checks["check_step"]
