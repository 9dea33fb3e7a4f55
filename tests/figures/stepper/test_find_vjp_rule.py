"""The rules in words are the rules the engines compute by."""

import gc
import math
import sys
import warnings
from pathlib import Path
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
import pytest

from course_lib.figures.graphs.recorded_graph import read_graph
from course_lib.figures.stepper.backward_run import run_backward
from course_lib.figures.stepper.find_vjp_rule import find_rule, operation_name
from course_lib.figures.stepper.labels import Labels
from course_lib.figures.stepper.vjp_rule_table import RULES

sys.path.append(str(Path(__file__).parents[2] / "autograd"))

FUNCTIONS = {
    **{name: getattr(np, name) for name in ("exp", "log", "sin", "cos", "sinh", "cosh", "sqrt", "tanh", "sign", "abs")},
    **{name: getattr(np, name) for name in ("mean", "var", "outer", "pi")},
    "sum": lambda x: np.sum(x, -1, keepdims=True),
    "sigmoid": lambda x: 1 / (1 + np.exp(-np.asarray(x))),
    "softmax": lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True),
    "one_hot": lambda y: np.eye(3)[y],
    "Φ": np.vectorize(NormalDist().cdf),
    "φ": np.vectorize(NormalDist().pdf),
    "eps": 1e-5,
}
X, Y = 0.7, -2.0
SCALARS = {
    **{f"{op}": lambda e, x, y, op=op: getattr(e, op)(x, y) for op in ("add", "sub", "mul", "div")},
    **{
        f"{op}": lambda e, x, y, op=op: getattr(e, op)(x)
        for op in (
            "neg", "abs", "square", "reciprocal", "sqrt", "rsqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan",
            "sinh", "cosh", "atan", "erf", "tanh", "sigmoid", "sum", "mean", "clone",
        )
    },
    **{f"pow with {n}": lambda e, x, y, n=n: x**n for n in (0, 1, 2, 3, 0.5, -1)},
    "pow of a number": lambda e, x, y: 2.0**x,
    "pow of tensors": lambda e, x, y: x**y,
    "from a number": lambda e, x, y: 2.0 - x,
    **{
        name: lambda e, x, y, name=name: e.nn.functional.__dict__[name](x) for name in ("gelu", "silu", "softplus")
    },
    "softplus, bent": lambda e, x, y: e.nn.functional.softplus(x, 2.0),
    "binary_cross_entropy_with_logits": lambda e, x, y: e.nn.functional.binary_cross_entropy_with_logits(x, y),
}  # fmt: skip
VECTOR, OTHER = np.array([0.7, -2.0, 1.5]), np.array([0.5, 1.0, 0.25])
VECTORS = {
    "sum": lambda e, x, y: e.sum(x),
    "mean": lambda e, x, y: e.mean(x),
    "var": lambda e, x, y: e.var(x),
    "std": lambda e, x, y: e.std(x),
    "var, biased": lambda e, x, y: e.var(x, dim=0, correction=0),
    "softmax": lambda e, x, y: e.softmax(x, 0) * y,
    "log_softmax": lambda e, x, y: e.log_softmax(x, 0) * y,
    "logsumexp": lambda e, x, y: e.logsumexp(x, 0),
    "layer_norm": lambda e, x, y: e.nn.functional.layer_norm(x, (3,)) * y,
    "norm": lambda e, x, y: e.linalg.vector_norm(x),
    "norm 3": lambda e, x, y: e.linalg.vector_norm(x, 3),
    "mse_loss": lambda e, x, y: e.nn.functional.mse_loss(x, y),
    "squares, added up": lambda e, x, y: e.nn.functional.mse_loss(x, y, reduction="sum"),
    "binary_cross_entropy_with_logits": lambda e, x, y: e.nn.functional.binary_cross_entropy_with_logits(x, y),
    "cross_entropy": lambda e, x, y: e.nn.functional.cross_entropy(e.stack([x, y]), e.tensor([2, 0])),
    "dot": lambda e, x, y: x @ y,
    "outer": lambda e, x, y: e.outer(x, y),
    "mv": lambda e, x, y: e.outer(x, y) @ y,
    "mm": lambda e, x, y: e.outer(x, y) @ e.outer(y, x),
    "addmm": lambda e, x, y: e.addmm(x, e.outer(x, y), e.outer(y, x)),
    "addmm, weighted": lambda e, x, y: e.addmm(x, e.outer(x, y), e.outer(y, x), beta=0.5, alpha=2.0),
}


class Torch:
    """torch, with the course's names where it has others."""

    def __getattr__(self, name):
        import torch

        return getattr(torch, name)


class Ours:
    """The course's engine, with its functions also where torch has them."""

    def __getattr__(self, name):
        import course_lib.autograd as ours

        if name == "nn":
            return SimpleNamespace(functional=ours)
        return ours if name == "linalg" else getattr(ours, name)


ENGINES = pytest.mark.parametrize("engine", [Torch(), Ours()], ids=["torch", "ours"])


def formulas(result, names):
    """Return each formula that is no sentence, as code, with what the engine sent, for all nodes behind a result."""
    graph = read_graph(result, names)
    walked = run_backward(graph)
    labels = Labels(graph, walked)
    for visit in walked.visits:
        if graph.is_leaf(visit.node):
            continue
        for slot, sent in enumerate(visit.sent):
            if sent is None:
                continue
            v = visit.arrived[0]
            template = labels.rules[visit.node].gives[slot]
            keys = [k for k in range(len(labels.rules[visit.node].gives)) if f"{{{k}}}" in template]
            values = {f"_{k}": labels._find_value(visit.node, k) for k in keys}
            values |= {"v": v, "out": labels._find_value(visit.node, "out"), "count": max(sent.size // v.size, 1)}
            values["classes"] = [2, 0]
            code = template.format(*(f"_{k}" for k in range(9)), v="v", out="out", count="count")
            yield (
                code,
                {k: x if x is None else np.array(getattr(x, "tolist", lambda x=x: x)()) for k, x in values.items()},
                sent,
            )


def compiled(code):
    """Compile what can be computed; None for a sentence."""
    try:
        return compile(code, code, "eval")
    except SyntaxError:
        return None


def summed(found, shape):
    """Repeat or sum to a shape, as broadcasting and its adjoint do."""
    if found.ndim <= len(shape):
        found = found * np.ones(np.broadcast_shapes(found.shape, shape))
    found = found.sum(tuple(range(found.ndim - len(shape))))
    return found.sum(tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)


def check(result, names):
    """Compute every formula that can be, and compare; return how many there were."""
    checked = 0
    for code, values, sent in formulas(result, names):
        if compiled(code) is None or any(x is None for k, x in values.items() if k in code):
            continue
        if "x̂" in code:
            values["x̂"] = (values["_0"] - values["_0"].mean()) / np.sqrt(values["_0"].var() + 1e-5)
        found = np.asarray(eval(compiled(code), {**FUNCTIONS, **values}))
        np.testing.assert_allclose(summed(found, sent.shape), sent, rtol=2e-5, atol=1e-12, err_msg=code)
        checked += 1
    return checked


@ENGINES
@pytest.mark.parametrize("case", SCALARS)
def test_formula_and_engine_agree(engine, case):
    """On numbers, what the formula says is what the engine sends."""
    x, y = (engine.tensor(value, requires_grad=True, dtype=engine.float64) for value in (X, Y))
    out = SCALARS[case](engine, x, y)
    assert check(out * 3.0, {"x": x, "y": y, "out": out}) >= 2


@ENGINES
@pytest.mark.parametrize("case", VECTORS)
def test_formula_and_engine_agree_on_arrays(engine, case):
    """On vectors and matrices, too."""
    x, y = (engine.tensor(value, requires_grad=True, dtype=engine.float64) for value in (VECTOR, OTHER))
    out = VECTORS[case](engine, x, y)
    assert check((out * out).sum(), {"x": x, "y": y, "out": out}) >= 2 + (case != "cross_entropy")


@ENGINES
def test_the_numbers_shown_are_the_formula_s(engine):
    """What the figure puts in is bracketed where a sign would change the meaning."""
    x = engine.tensor(-2.0, requires_grad=True)
    graph = read_graph(x**3, {"x": x})
    walked = run_backward(graph)
    visit = walked.visits[0]
    _, numbers = Labels(graph, walked).format_sent(visit.node, 0, visit.arrived[0], visit.sent[0])
    assert (numbers, eval(numbers)) == ("1 * 3 * (-2) ** 2", 12)


def test_every_operation_of_the_engine_has_a_rule():
    """A new primitive needs its line, or the figure can only name it."""
    import course_lib.autograd  # noqa: F401
    from course_lib.autograd.ops.primitive import Primitive
    from course_lib.autograd.ops.shape import cat_of

    cat_of(2)
    gc.unfreeze()  # or what was imported before would not be among the objects
    found = {p.name: p for p in gc.get_objects() if Primitive in type(p).__mro__}  # no look at what is not ours
    assert len(found) > 60
    saved = {name: {key: [0] if key == "right" else 1.0 for key in p.saves} for name, p in found.items()}
    rules = {name: find_rule(name, len(p.vjps), saved[name]) for name, p in found.items()}
    assert [name for name, rule in rules.items() if not rule.known] == []


@ENGINES
def test_every_node_behind_every_operation_has_a_rule(engine):
    """Whatever an operation is made of, in this engine and in torch: all cases that the engine itself is tested on."""
    import torch
    from oracle_cases import CASES

    import course_lib.autograd as ours

    library = torch if isinstance(engine, Torch) else ours
    rng, unknown, operations = np.random.default_rng(0), set(), set()
    for f, shapes, interval in CASES.values():
        inputs = [library.tensor(rng.uniform(*interval, shape), requires_grad=True) for shape in shapes[0]]
        graph = read_graph(f(library, *inputs))
        gradient = None if not graph.result.shape else library.ones(graph.result.shape, dtype=graph.result.dtype)
        labels = Labels(graph, run_backward(graph, gradient))
        for i, rule in enumerate(labels.rules):
            operations.add(operation_name(labels.operation(i)))
            unknown |= set() if rule.known else {labels.operation(i)}
    assert unknown == set()
    assert len(operations) > 60


def test_what_only_torch_has_is_known_too():
    """Layers of the pages: convolution, pooling, embedding, batch norm, attention's parts."""
    import torch
    import torch.nn.functional as F  # noqa: N812

    x, image = torch.rand(2, 3, requires_grad=True), torch.rand(1, 2, 6, 6, requires_grad=True)
    weight, bias = torch.rand(2, 2, 3, 3, requires_grad=True), torch.rand(2, requires_grad=True)
    results = [
        F.conv2d(image, weight, bias), F.max_pool2d(image, 2), F.avg_pool2d(image, 2), F.adaptive_avg_pool2d(image, 3),
        F.embedding(torch.tensor([0, 1]), x), F.batch_norm(image, None, None, bias, bias, training=True),
        F.layer_norm(x, (3,)), F.relu6(x), F.selu(x), F.logsigmoid(x), F.binary_cross_entropy(x, x.detach()),
        F.nll_loss(image, torch.zeros(1, 6, 6, dtype=torch.long)), x.max(), x.max(1)[0], x.tril(), x.triu(),
        x.masked_fill(x > 0.5, 0.0), x.repeat(2, 2), x.flip(0), x.unbind(0)[0], x.double(), torch.log2(x),
        torch.atan2(x, x), torch.baddbmm(image[0], image[0], image[0]), x.chunk(3, 1)[0], x.norm(), F.dropout(x),
        torch.einsum("ij,kj->ik", x, x), F.mse_loss(x, x), F.gelu(x, approximate="tanh"),
    ]  # fmt: skip
    graphs = [read_graph(result) for result in results]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rules = [Labels(graph, run_backward(graph, torch.ones_like(graph.result))).rules for graph in graphs]
    assert [rule.forward for some in rules for rule in some if not rule.known] == []


def test_every_rule_says_what_goes_to_every_input():
    """Its templates use only what the figure fills in."""
    for name, rule in RULES.items():
        inputs = len(rule.gives)
        filled = rule.forward.format(*"abc"[:inputs]) + "".join(
            gives.format(*"abc"[:inputs], v="v", out="out", count=1) for gives in rule.gives
        )
        assert "{" not in filled, name


def test_powers_are_written_as_by_hand():
    """No exponent of one, no factor of x to the zero."""
    written = {n: find_rule("PowBackward0", 1, {"exponent": n}).gives[0] for n in (0, 1, 2, 3)}
    assert written == {0: "{v} * 0", 1: "{v} * 1", 2: "{v} * 2 * {0}", 3: "{v} * 3 * {0} ** 2"}


@pytest.mark.parametrize(
    ("name", "inputs", "saved", "says"),
    [
        ("ClampBackward0", 1, {"min": -0.5, "max": 0.7}, ("{v} where -0.5 <= {0} <= 0.7, else 0",)),
        ("ClampBackward1", 1, {"min": None, "max": 0.7}, ("{v} where {0} <= 0.7, else 0",)),
        ("EluBackward0", 1, {"alpha": 0.7}, ("{v} where {0} > 0, else {v} * 0.7 * exp({0})",)),
        ("EluBackward0", 1, {"alpha": 1.0, "input_scale": 2}, ("the vjp of elu",)),
        ("AddBackward0", 2, {"alpha": 2}, ("{v}", "{v} * 2")),
        ("SubBackward0", 2, {"alpha": 2}, ("{v}", "-{v} * 2")),
        ("DivBackward1", 1, {"other": 4}, ("{v} / 4",)),
        ("LinalgVectorNormBackward0", 1, {"ord": math.inf}, ("{v} * sign({0}) where abs({0}) is largest, else 0",)),
        ("NllLossBackward0", 1, {"reduction": 2}, ("-{v} at the class of each row, else 0",)),
        ("CatBackward0", 3, {}, ("its part of {v}",) * 3),
        ("SoftplusBackward0", 1, {"beta": 2.0, "threshold": 1.0}, ("{v} * sigmoid(2 * {0}), {v} where 2 * {0} > 1",)),
    ],
)
def test_settings_are_part_of_the_rule(name, inputs, saved, says):
    """Bounds, slopes, factors, and which way a loss was reduced."""
    assert find_rule(name, inputs, saved).gives == says


def test_an_unknown_operation_is_named():
    """The reader is told that there is a rule, and whose."""
    rule = find_rule("MyOwnBackward", 2, {})
    assert (rule.forward, rule.gives) == ("my_own({0}, {1})", ("the vjp of my_own",) * 2)


@pytest.mark.parametrize(("name", "forward"), [("Maximum", "maximum({0}, {1})"), ("Minimum", "minimum({0}, {1})")])
def test_what_a_node_computed_is_written_as_code(name, forward):
    """Its two operands in their order."""
    assert find_rule(f"{name}Backward0", 2, {}).forward == forward
