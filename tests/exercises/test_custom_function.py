"""Right answers to custom_function that look nothing like the reference get every point."""

import pytest

SETUP_CONTEXT = {
    "leaky_power": """
class LeakyPower(torch.autograd.Function):
    @staticmethod
    def forward(x, a, p):
        up = x > 0
        return torch.where(up, torch.exp(p * torch.log(torch.where(up, x, 1.0))), a * x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, a, ctx.p = inputs
        ctx.save_for_backward(x, a)

    @staticmethod
    def backward(ctx, g):
        x, a = ctx.saved_tensors
        up = x > 0
        safe = x.masked_fill(~up, 1.0)
        dx = da = None
        if ctx.needs_input_grad[0]:
            dx = g * torch.where(up, ctx.p * safe.pow(ctx.p - 1), a)
        if ctx.needs_input_grad[1]:
            da = (g * x.masked_fill(up, 0.0)).reshape(-1, a.numel()).sum(0)
        return dx, da, None
""",
    "agrees": """
import numpy as np
def agrees(fn, inputs, eps=1e-6, tolerance=1e-4):
    if not all(x.dtype == torch.double for x in inputs if x.requires_grad):
        raise ValueError("double precision, please")
    ok = np.bool_(True)
    for n, x in enumerate(inputs):
        if not x.requires_grad:
            continue
        shape = fn(*inputs).shape
        m = fn(*inputs).numel()
        for k in range(m):
            y = fn(*inputs).reshape(-1)
            (row,) = torch.autograd.grad(y[k], x, allow_unused=True)
            row = np.zeros(x.numel()) if row is None else row.detach().numpy().ravel()
            for i in range(x.numel()):
                f = []
                for s in (eps, -eps):
                    flat = x.detach().clone().reshape(-1); flat[i] += s
                    args = list(inputs); args[n] = flat.reshape(x.shape)
                    f.append(float(fn(*args).reshape(-1)[k].detach()))
                num = (f[0] - f[1]) / 2 / eps
                ok &= abs(row[i] - num) <= tolerance * max(1.0, abs(num))
    return ok
""",
}
RECOMPUTED = {
    "leaky_power": """
class LeakyPower(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, a, p):
        ctx.save_for_backward(x, a)
        ctx.p = p
        return torch.where(x > 0, x.clamp(min=0) ** p, a * x)

    @staticmethod
    def backward(ctx, g):
        x, a = ctx.saved_tensors
        with torch.enable_grad():
            base = torch.where(x > 0, x, torch.ones_like(x))
            rule = torch.where(x > 0, ctx.p * base ** (ctx.p - 1), a + torch.zeros_like(x))
        per_entry = g * torch.minimum(x, torch.zeros_like(x))
        return g * rule, per_entry if x.dim() == 1 else per_entry.sum(dim=0), None
""",
    "agrees": """
def agrees(fn, inputs, eps=1e-6, tolerance=1e-4):
    # What torch.autograd.gradcheck does, without it.
    for x in inputs:
        if x.requires_grad and x.dtype is not torch.float64:
            raise ValueError(f"needs float64, got {x.dtype}")
    inputs = [x.detach().clone().requires_grad_(x.requires_grad) for x in inputs]
    told = torch.autograd.functional.jacobian(fn, tuple(inputs))
    good = True
    for x, j in zip(inputs, told):
        if not x.requires_grad: continue
        columns = []
        for i in range(x.numel()):
            with torch.no_grad():
                step = torch.zeros_like(x); step.view(-1)[i] = eps
                hi = fn(*[v + step if v is x else v for v in inputs])
                lo = fn(*[v - step if v is x else v for v in inputs])
            columns.append(((hi - lo) / (2 * eps)).flatten())
        m = torch.stack(columns, dim=1)
        good &= bool(((j.reshape(m.shape) - m).abs() <= tolerance * torch.clamp(m.abs(), min=1.0)).all())
    return good
""",
}
TENSORS = {
    "leaky_power": """
class LeakyPower(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, a, p):
        ctx.save_for_backward(x, a)
        ctx.p = p
        return torch.where(x > 0, x.clamp(min=0) ** p, a * x)

    @staticmethod
    def backward(ctx, g):
        x, a = ctx.saved_tensors
        dx = g * torch.where(x > 0, ctx.p * torch.where(x > 0, x, 1.0) ** (ctx.p - 1), a.expand_as(x))
        return dx, (g * torch.where(x > 0, torch.zeros_like(x), x)).sum_to_size(a.shape), None
""",
    "agrees": """
def agrees(fn, inputs, eps=1e-6, tolerance=1e-4):
    checked = [x for x in inputs if x.requires_grad]
    if any(x.dtype != torch.float64 for x in checked):
        raise ValueError("float64")
    for x in checked:
        y = fn(*inputs).flatten()
        rows = [torch.autograd.grad(y_k, x, retain_graph=True, allow_unused=True)[0] for y_k in y]
        told = torch.stack([torch.zeros_like(x) if row is None else row for row in rows]).flatten(1)
        for i in range(x.numel()):
            with torch.no_grad():
                old = x.view(-1)[i].item()
                x.view(-1)[i] = old + eps
                up = fn(*inputs).flatten()
                x.view(-1)[i] = old - eps
                down = fn(*inputs).flatten()
                x.view(-1)[i] = old
            measured = (up - down) / (2 * eps)
            if not torch.all((told[:, i] - measured).abs() <= tolerance * measured.abs().clamp(min=1)):
                return torch.tensor(False)
    return torch.tensor(True)
""",
}


@pytest.mark.parametrize("style", [SETUP_CONTEXT, RECOMPUTED, TENSORS], ids=["setup_context", "recomputed", "tensors"])
def test_a_right_answer_in_another_style_gets_every_point(earns_every_point, style):
    """A separate setup_context, and NumPy's booleans; rules computed anew, torch's jacobian; a tensor's verdict."""
    earns_every_point(style)
