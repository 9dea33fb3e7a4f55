"""Right answers to scale_the_loss that look nothing like the reference get every point."""

from pathlib import Path

import pytest

from course_grader.grading.exercises.wrong_answers import read_wrong_answer

WRONG = Path(__file__).parents[2] / "exercises/scale_the_loss/key/wrong"

EINSUM = {
    "half_gradients": """
from numpy import float16, float32, einsum

def half_gradients(params, x, y, scale):
    h = x.astype(float16)
    o = np.add(einsum("nd,dk->nk", h, params["w"].astype(float16)), params["b"].astype(float16))
    assert o.dtype == float16
    residual = np.subtract(o, y, dtype=float32)
    loss = float(np.square(residual).mean())
    upstream = residual * (2.0 / residual.size) * float(scale)
    v = upstream.astype(float16)
    return [loss, {"b": np.ones(len(v), float16) @ v, "w": einsum("nd,nk->dk", h, v)}]
""",
    "unscale": """
def unscale(grads, scale):
    out, bad = {}, 0
    for name in sorted(grads):
        out[name] = np.multiply(grads[name], 1.0 / scale, dtype=np.float32)
        bad += np.count_nonzero(~np.isfinite(out[name]))
    return out, bad == 0
""",
    "update_scale": """
import math

def update_scale(scale, good, finite, interval):
    power = round(math.log2(scale))
    good = (good + 1) * bool(finite)
    power += (good == interval) - (not finite)
    if power < 0:
        raise FloatingPointError("the scale is at its end")
    return np.float32(2.0 ** min(power, 24)), good % interval
""",
    "step": """
def step(params, state, x, y, lr, max_norm, interval):
    loss, scaled = half_gradients(params, x, y, state["scale"])
    grads, finite = unscale(scaled, state["scale"])
    new = {name: p.copy() for name, p in params.items()}
    if finite:
        for name, g in clip(grads, max_norm).items():
            new[name] -= np.asarray(lr * g, dtype=np.float32)
    state = dict(state)
    state["scale"], state["good"] = update_scale(state["scale"], state["good"], finite, interval)
    return new, state
""",
}
TORCH = {
    "half_gradients": """
import torch

def half_gradients(params, x, y, scale):
    t = {name: torch.as_tensor(a).half() for name, a in {"x": x, **params}.items()}
    error = torch.addmm(t["b"], t["x"], t["w"]).float() - torch.as_tensor(y)
    v = (error * (2 * scale / error.numel())).half()
    return (error**2).mean(), {"w": t["x"].T @ v, "b": v.sum(dim=0)}
""",
    "unscale": """
def unscale(grads, scale):
    wide = {name: torch.as_tensor(g).float() / scale for name, g in grads.items()}
    finite = torch.stack([g.isfinite().all() for g in wide.values()]).all().item()
    return {name: g.numpy() for name, g in wide.items()}, finite
""",
    "step": """
def step(params, state, x, y, lr, max_norm, interval):
    loss, grads = half_gradients(params, x, y, state["scale"])
    grads, finite = unscale(grads, state["scale"])
    scale, good = update_scale(state["scale"], state["good"], finite, interval)
    if not finite:
        return params, {"scale": scale, "good": good}
    return {n: params[n] - lr * g for n, g in clip(grads, max_norm).items()}, {"good": good, "scale": scale}
""",
}
LOOPS = {
    "half_gradients": """
H, F = np.float16, np.float32

def half_gradients(params, x, y, scale):
    (n, d), k = x.shape, y.shape[1]
    w, b, x = H(params["w"]), H(params["b"]), H(x)
    total, dw, db = F(0), np.zeros((d, k), F), np.zeros(k, F)
    for i in range(n):
        for j in range(k):
            o = H(sum(F(x[i, m]) * F(w[m, j]) for m in range(d)) + F(b[j]))
            e = F(o) - y[i, j]
            total += e * e
            v = F(H(F(2 * scale / (n * k)) * e))
            db[j] += v
            for m in range(d):
                dw[m, j] += F(x[i, m]) * v
    return total / (n * k), {"w": H(dw), "b": H(db)}
""",
    "unscale": """
def unscale(grads, scale):
    wide = {name: np.array(g, dtype=np.float64) / scale for name, g in grads.items()}
    finite = np.isfinite(np.concatenate([g.ravel() for g in wide.values()])).all()
    return {name: np.float32(g) for name, g in wide.items()}, finite
""",
    "update_scale": """
def update_scale(scale, good, finite, interval):
    if finite:
        good += 1
        if good >= interval:
            good = 0
            if scale < 2**24:
                scale *= 2
    elif scale == 1:
        raise FloatingPointError
    else:
        scale, good = scale * 0.5, 0
    return scale, good
""",
}


@pytest.mark.parametrize("style", [EINSUM, LOOPS], ids=["einsum", "loops"])
def test_a_right_answer_in_another_style_gets_every_point(earns_every_point, style):
    """Sums by einsum, and powers for scales; one number at a time, in float32 between."""
    earns_every_point(style)


@pytest.mark.parametrize("wrong", ["bias_averaged", "overflow_clipped", "always_finite", "multiplied", "quarters"])
def test_the_check_of_a_step_names_the_part_that_is_wrong(grade, wrong):
    """It said that step was too short, or left the scale, when step did what it should with a wrong part."""
    [(part, text)] = read_wrong_answer(WRONG / f"{wrong}.py").answers.items()
    checks = {row.name: row.message for row in grade({part: text}).rows if row.kind == "check"}
    assert f"step rests on {part}" in checks["check_step"]


def test_by_hand_is_without_a_librarys_arrays(finds_no_library):
    """torch is not there where it is graded, not even for its tensors."""
    finds_no_library(TORCH)
