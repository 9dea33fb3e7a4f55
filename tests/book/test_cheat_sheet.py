"""The cheat sheet: its calls run, its rules are right, each row leads somewhere, and it is one sheet of paper."""

import ast
import io
import re
from pathlib import Path

import pytest
from pypdf import PdfReader

torch, jax = (pytest.importorskip(name) for name in ("torch", "jax"))

TEXT = (Path(__file__).parents[2] / "cheat_sheet.md").read_text("utf-8")
SQUARE, SQUARE_IN_JAX, STEP, STEP_IN_JAX, IMPORTS = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
TABLES = {
    title: [[cell.strip() for cell in row.strip("|").split(" |")] for row in body.splitlines()[2:]]
    for title, body in re.findall(r"^## (.+)\n\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
}
RUN = [
    pytest.param(cell, column, id=f"{title}: {cell}")
    for title, rows in TABLES.items()
    for row in rows
    for column, cell in enumerate(row[:-1])
    if cell and not re.sub(r"`[^`]+`|, ", "", cell)  # nothing but code
]
# What the names on the sheet stand for.
BOTH = """
from math import sqrt
import jax, jax.numpy as jnp, optax, torch
f, g = lambda w: (w**2).sum(), lambda w: w**2
one = lambda w, x: ((w * x).sum() - 1) ** 2
m = k = n = N = D = W = B = 4
seconds = peak = intensity = bandwidth = curvature = variance = norm = 2.0
"""
PYTORCH = """
torch.manual_seed(0)
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w64 = w.detach().double().requires_grad_()
t, v, xs, norms = torch.ones(3), torch.ones(3), torch.ones(2, 3), torch.ones(9)
loss, y = f(w), g(w)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
layer, block, x, targets = model[0], model, torch.randn(8, 4), torch.arange(8) % 3
look, see, pack, unpack = lambda out, received: None, lambda *given: None, lambda t: t, lambda t: t

def train_step():
    model.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), targets)
    loss.backward()
    return loss

monitor = GradientMonitor(model)
train_step()
monitor.step()
"""
IN_JAX = """
w = t = v = x = result = norms = jnp.array([1.0, 2.0, 3.0])
xs, block, folder, train_step = jnp.stack([w, w]), jnp.sin, trace_folder, None
"""
RULES = """
draw = lambda *shape: torch.randn(*shape, dtype=torch.float64, requires_grad=True)
torch.manual_seed(0)
X, W, bias, z, x, gamma = draw(5, 4), draw(4, 3), draw(3), draw(5, 3), draw(5, 6), draw(6)
mean, n, labels = lambda t: t.mean(-1, keepdim=True), 5, torch.tensor([0, 1, 2, 1, 0])
one_hot, dY, dh, dy = torch.nn.functional.one_hot(labels, 3), torch.randn(5, 3), torch.randn(5, 3), torch.randn(5, 6)
dY, dh, dy = dY.double(), dh.double(), dy.double()
s = ((x - mean(x)) ** 2).mean(-1, keepdim=True).add(1e-5).sqrt()
u, a = (x - mean(x)) / s, dy * gamma
"""


def _run(code: str, names: dict) -> None:
    """Run a span of the sheet; the head of a ``with`` has an empty body."""
    exec(f"{code} pass" if code.startswith("with ") else code, names)


@pytest.fixture
def as_before():
    """Two calls set switches of the whole process."""
    yield
    torch.autograd.set_detect_anomaly(False)
    jax.config.update("jax_debug_nans", False)


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # in torch.func and torch.compile themselves
@pytest.mark.parametrize(("cell", "column"), RUN)
def test_a_call_runs(cell, column, as_before, tmp_path, capsys):
    """As it stands there, in PyTorch or in JAX; what asks a GPU is there where no GPU is."""
    names: dict = {"trace_folder": str(tmp_path)}
    exec(BOTH + IMPORTS + (IN_JAX if column else PYTORCH), names)
    if "dY" in cell or cell.startswith("`d"):
        exec(RULES, names)
    for code in re.findall(r"`([^`]+)`", cell):
        if code.startswith("torch.cuda.") and not torch.cuda.is_available():
            code = ast.unparse(ast.parse(code, mode="eval").body.func)
        _run(code, names)


def test_the_rules_are_right():
    """Each gradient is the one of autograd."""
    names: dict = {}
    exec(BOTH + RULES, names)
    for rule, _ in TABLES["Backward rules"]:
        _run(rule.strip("`"), names)
    functional, of = torch.nn.functional, names
    normed = functional.layer_norm(of["x"], (6,), of["gamma"], eps=1e-5)
    for got, (result, upstream, given) in {
        "dX": (of["X"] @ of["W"], of["dY"], of["X"]),
        "dW": (of["X"] @ of["W"], of["dY"], of["W"]),
        "db": (of["X"] @ of["W"] + of["bias"], of["dY"], of["bias"]),
        "dx": (normed, of["dy"], of["x"]),
        "dz": (functional.cross_entropy(of["z"], of["labels"]), None, of["z"]),  # the last of two with this name
    }.items():
        (right,) = torch.autograd.grad(result, given, upstream)
        torch.testing.assert_close(of[got].detach(), right)
    _run("dz = dh * (z > 0)", of)
    torch.testing.assert_close(of["dz"], torch.autograd.grad(of["z"].relu(), of["z"], of["dh"])[0])


def test_the_training_steps_train():
    """Both lower their loss, and PyTorch's pieces make the whole batch's gradient."""
    names: dict = {}
    exec(BOTH + IMPORTS + PYTORCH + SQUARE + SQUARE_IN_JAX, names)
    model, x, y = names["model"], names["x"], names["targets"]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler, scaler = torch.optim.lr_scheduler.ConstantLR(optimizer), torch.amp.GradScaler("cpu", enabled=False)
    loss_sum = torch.nn.CrossEntropyLoss(reduction="sum")
    (whole,) = torch.autograd.grad(loss_sum(model(x), y) / 8, model[0].bias)
    given = {"y": y, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler, "loss_sum": loss_sum}
    exec(STEP, names | given | {"device": "cpu", "half": torch.bfloat16, "k": 2})
    torch.testing.assert_close(model[0].bias.grad, whole, rtol=0.05, atol=0.01)

    names |= {"schedule": 0.1, "loss_fn": lambda w, x, y: ((x @ w - y) ** 2).mean()}
    exec(STEP_IN_JAX, names)
    w, data = jax.numpy.zeros(3), (jax.numpy.eye(3), jax.numpy.ones(3))
    state = names["optimizer"].init(w)
    w, state, before = names["step"](w, state, *data)
    assert names["step"](w, state, *data)[2] < before


def test_both_rules_of_ones_own_are_right():
    """In PyTorch by finite differences, in JAX by the slope."""
    names: dict = {}
    exec(BOTH + SQUARE + SQUARE_IN_JAX, names)
    at = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(names["Square"].apply, at)
    assert jax.grad(names["square"])(3.0) == 6.0


def test_each_row_leads_to_its_page():
    """Or to the glossary; the build looks whether the page is there."""
    rows = [row for rows in TABLES.values() for row in rows]
    assert len(rows) > 50
    assert [row for row in rows if not re.search(r"\]\([\w/]+\.ipynb\)|\{term\}", row[-1])] == []


def test_it_is_one_sheet_of_a4(visit):
    """Printed from the browser; none of its words are outside of it."""
    page = visit("cheat_sheet")
    (sheet,) = PdfReader(io.BytesIO(page.pdf(prefer_css_page_size=True))).pages
    assert (round(sheet.mediabox.width), round(sheet.mediabox.height)) == (842, 595)
    words = re.sub(r"\s", "", sheet.extract_text())
    for cell in ("loss.backward()", "fromcourse_lib.profilingimportadvise", "aslowstep", "2*(W-1)/W*B"):
        assert cell in words


def test_on_a_phone_nothing_is_cut_off(visit):
    """A row's cells stand below each other; a long call is broken, and JAX's has its name."""
    page = visit("cheat_sheet", width=390)
    right = "e => Math.max(...[...e.querySelectorAll('td code')].map(c => c.getBoundingClientRect().right))"
    assert page.locator(".bd-article").evaluate(right) <= 390
    name = page.locator("td", has_text="jax.grad(f)(w)").first.evaluate("e => getComputedStyle(e, '::before').content")
    assert "JAX" in name
