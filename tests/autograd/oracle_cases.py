"""The cases that several tests share, one line an operation, to be run under torch's names in both libraries."""

from typing import Any

import numpy as np
import torch

import course_lib.autograd as ours

SHAPES_1 = [((3, 4),), ((),), ((0, 3),), ((5,),)]
SHAPES_2 = [
    ((3, 4), (3, 4)),
    ((3, 4), (4,)),
    ((3, 1), (1, 4)),
    ((), (2, 3)),
    ((2, 3), ()),
    ((0, 3), (3,)),
    ((1, 1), (1,)),
]

# name: function of (library, *tensors), list of shapes, interval to draw from
CASES: dict[str, tuple[Any, list[Any], tuple[float, float]]] = {}


def case(name: str, f: Any, *shapes: Any, domain: tuple[float, float] = (-2.0, 2.0)) -> None:
    """Add a case."""
    CASES[name] = (f, list(shapes), domain)


for name in [
    "neg",
    "reciprocal",
    "square",
    "abs",
    "exp",
    "expm1",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "atan",
    "erf",
    "sigmoid",
    "relu",
    "nn.functional.gelu",
    "nn.functional.silu",
    "nn.functional.softplus",
    "nn.functional.elu",
    "nn.functional.leaky_relu",
    "clone",
]:

    def unary(lib: Any, x: Any, path: tuple[str, ...] = tuple(name.split("."))) -> Any:
        if lib is ours:
            return getattr(lib, path[-1])(x)
        f = lib
        for part in path:
            f = getattr(f, part)
        return f(x)

    case(name, unary, *SHAPES_1)
for name in ("log", "log1p", "sqrt", "rsqrt"):
    case(name, lambda lib, x, name=name: getattr(lib, name)(x), *SHAPES_1, domain=(0.1, 3.0))
for name in ("add", "sub", "mul", "div", "maximum", "minimum"):
    case(name, lambda lib, x, y, name=name: getattr(lib, name)(x, y), *SHAPES_2)
F = {ours: ours, torch: torch.nn.functional}
case("pow tensor", lambda lib, x, y: lib.pow(x, y), *SHAPES_2, domain=(0.2, 2.0))
for n in (0, 1, 2, 3, -1, 0.5, 2.5):
    case(f"pow {n}", lambda lib, x, n=n: x**n, *SHAPES_1, domain=(0.2, 2.0))
case("rpow", lambda lib, x: 2.0**x, *SHAPES_1)
case("scalar operators", lambda lib, x: (2 - x) / 3 + 1 / (x * x + 1) - (x - 1) * 2.5, *SHAPES_1)
case("clamp", lambda lib, x: lib.clamp(x, -0.5, 0.7), *SHAPES_1)
case("clamp min", lambda lib, x: x.clamp(min=0.1), *SHAPES_1)
case("clamp max", lambda lib, x: x.clamp(max=0.1), *SHAPES_1)
case("where", lambda lib, x, y: lib.where(x > y, x * x, y), *SHAPES_2)
case("where number", lambda lib, x: lib.where(x > 0, x, 0.5), *SHAPES_1)
case("gelu tanh", lambda lib, x: F[lib].gelu(x, approximate="tanh"), *SHAPES_1)
case("softplus beta", lambda lib, x: F[lib].softplus(x, 2.0, 1.0), *SHAPES_1)
case("elu alpha", lambda lib, x: F[lib].elu(x, 0.7), *SHAPES_1)
case("leaky slope", lambda lib, x: F[lib].leaky_relu(x, 0.2), *SHAPES_1)

CUBE = (2, 3, 4)
for dim in (None, 0, -1, (0, 2), (-1, 0)):
    for keepdim in (False, True):
        label = f"dim={dim} keepdim={keepdim}"
        for name in ("sum", "mean", "amax", "amin", "var", "std", "logsumexp"):
            if name == "logsumexp" and dim is None:
                continue

            def reduce(lib: Any, x: Any, name: str = name, dim: Any = dim, keepdim: bool = keepdim) -> Any:
                options = {} if dim is None and not keepdim else {"dim": tuple(range(x.ndim)) if dim is None else dim}
                return getattr(lib, name)(x, **options, **({"keepdim": keepdim} if options else {}))

            case(f"{name} {label}", reduce, (CUBE,))
        for order in (2, 1, 3, 0.5, float("inf"), -float("inf")):

            def norm(lib: Any, x: Any, order: float = order, dim: Any = dim, keepdim: bool = keepdim) -> Any:
                f = lib.vector_norm if lib is ours else lib.linalg.vector_norm
                return f(x, order, dim=dim, keepdim=keepdim)

            case(f"vector_norm {order} {label}", norm, (CUBE,))
for name in ("sum", "mean", "prod"):
    case(name, lambda lib, x, name=name: getattr(lib, name)(x), ((),), ((4,),), ((2, 3),))
case("sum empty", lambda lib, x: x.sum(), ((0, 3),))
case("sum empty dim", lambda lib, x: x.sum(dim=0), ((0, 3),))
case("var correction", lambda lib, x: x.var(dim=1, correction=0), (CUBE,))
case("std correction", lambda lib, x: x.std(dim=(0, 1), correction=2, keepdim=True), (CUBE,))
for dim in (0, 1, -1):
    case(f"prod {dim}", lambda lib, x, dim=dim: x.prod(dim, keepdim=dim == 1), (CUBE,))
    for name in ("cumsum", "softmax", "log_softmax"):
        case(f"{name} {dim}", lambda lib, x, dim=dim, name=name: getattr(lib, name)(x, dim=dim), (CUBE,), ((3, 5),))
for name in ("cumsum", "softmax", "log_softmax", "logsumexp"):
    case(f"{name} of a number", lambda lib, x, name=name: getattr(lib, name)(x, 0), ((),))

MATMULS = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)), ((2, 1, 2, 3), (5, 3, 4)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,)), ((0, 3), (3, 4)),
    ((2, 0), (0, 4)), ((1, 1), (1, 1)), ((0, 2, 3), (3, 4)),
]  # fmt: skip
case("matmul", lambda lib, x, y: x @ y, *MATMULS)
case("mm", lambda lib, x, y: lib.mm(x, y), ((2, 3), (3, 4)))
case("bmm", lambda lib, x, y: lib.bmm(x, y), ((2, 3, 4), (2, 4, 5)))
case("mv", lambda lib, x, y: lib.mv(x, y), ((2, 3), (3,)))
case("dot", lambda lib, x, y: lib.dot(x, y), ((3,), (3,)))
case("outer", lambda lib, x, y: lib.outer(x, y), ((3,), (4,)), ((0,), (2,)))
case(
    "addmm",
    lambda lib, b, x, y: lib.addmm(b, x, y, beta=0.5, alpha=2.0),
    ((4,), (2, 3), (3, 4)),
    ((2, 4), (2, 3), (3, 4)),
)
case(
    "linear",
    lambda lib, x, w, b: F[lib].linear(x, w, b),
    *[((*s, 3), (4, 3), (4,)) for s in ((2,), (1,), (0,), (), (2, 5))],
)
case("linear without bias", lambda lib, x, w: F[lib].linear(x, w), ((2, 3), (4, 3)), ((1, 3), (4, 3)))

case("reshape", lambda lib, x: lib.reshape(x, (4, -1)) * x.reshape(4, 6), (CUBE,))
case("view", lambda lib, x: x.view(-1, 4).view((6, 2, 2)), (CUBE,))
case("flatten", lambda lib, x: lib.flatten(x, 1), (CUBE,), ((2, 3),))
case("flatten all", lambda lib, x: x.flatten(), (CUBE,), ((),), ((0, 2),))
case("permute", lambda lib, x: x.permute(2, 0, 1) * 2, (CUBE,))
case("permute function", lambda lib, x: lib.permute(x, (-1, 0, 1)), (CUBE,))
case("transpose", lambda lib, x: x.transpose(0, -1), (CUBE,), ((3, 4),))
case("T", lambda lib, x: x.T @ x, ((3, 4),))
case("mT", lambda lib, x: x.mT, (CUBE,))
case("squeeze", lambda lib, x: lib.squeeze(x), ((1, 3, 1),), ((1,),))
case("squeeze dim", lambda lib, x: x.squeeze(0).squeeze(-1), ((1, 3, 2),))
case("unsqueeze", lambda lib, x: x.unsqueeze(0).unsqueeze(-1), ((3, 2),), ((),))
case("expand", lambda lib, x: x.expand(5, -1, 4), ((3, 1),))
case("cat", lambda lib, x, y, z: lib.cat([x, y, z], dim=1), ((2, 1), (2, 3), (2, 0)))
case("stack", lambda lib, x, y: lib.stack((x, y), dim=-1), ((2, 3), (2, 3)), ((), ()))
case("split", lambda lib, x: lib.split(x, 2)[0].sum() + (x.split([1, 2], dim=1)[1] ** 2).sum(), ((3, 3),))
INDEX = np.array([[0, 2], [2, 1]])
case("index_select", lambda lib, x: lib.index_select(x, 1, lib.tensor([0, 0, 2])), (CUBE,))
case("gather", lambda lib, x: lib.gather(x, 1, lib.tensor([[0, 0], [2, 1]])), ((2, 3),), ((4, 3),))
for index in (
    0,
    -1,
    slice(1, None),
    None,
    ...,
    (0, 1),
    (slice(None), 1),
    (..., 0),
    (1, None, slice(0, 2)),
    (slice(None), slice(0, 3, 2)),
    [0, 0, 1],
):
    case(f"index {index}", lambda lib, x, index=index: x[index] ** 2, (CUBE,))
case("index arrays", lambda lib, x: x[lib.tensor([0, 1, 1]), lib.tensor([2, 0, 0])], ((2, 3),), (CUBE,))
case("index apart", lambda lib, x: x[lib.tensor([0, 1, 1]), :, lib.tensor([2, 0, 0])], (CUBE,))
case("index boolean", lambda lib, x: x[x > 0] ** 2, ((2, 3),), ((7,),))
case("index rows", lambda lib, x: x[lib.tensor([True, False])], (CUBE,))

LABELS = [1, 0, 2, 1]
CLASS_WEIGHT = np.array([0.5, 2.0, 1.5])
for reduction in ("mean", "sum", "none"):
    case(
        f"mse_loss {reduction}",
        lambda lib, x, t, r=reduction: F[lib].mse_loss(x, t, reduction=r),
        ((4, 3), (4, 3)),
        ((), ()),
    )
    for options in (
        {},
        {"weight": CLASS_WEIGHT},
        {"label_smoothing": 0.1},
        {"weight": CLASS_WEIGHT, "label_smoothing": 0.3},
        {"ignore_index": 1},
    ):

        def entropy(lib: Any, x: Any, options: dict[str, Any] = options, r: str = reduction) -> Any:
            options = {k: lib.tensor(v) if k == "weight" else v for k, v in options.items()}
            y = lib.tensor(LABELS)
            if x.ndim != 2:
                y = y[0] if x.ndim == 1 else lib.stack([y, y], -1)
            return F[lib].cross_entropy(x, y, reduction=r, **options)

        case(
            f"cross_entropy {reduction} {options}",
            entropy,
            ((4, 3),),
            ((4, 3, 2),),
            *([((3,),)] if not options else []),
        )
    for options in ({}, {"weight": CLASS_WEIGHT}, {"label_smoothing": 0.1}):

        def soft_entropy(lib: Any, x: Any, t: Any, options: dict[str, Any] = options, r: str = reduction) -> Any:
            options = {k: lib.tensor(v) if k == "weight" else v for k, v in options.items()}
            return F[lib].cross_entropy(x, t, reduction=r, **options)

        case(f"cross_entropy of probabilities {reduction} {options}", soft_entropy, ((4, 3), (4, 3)), ((3,), (3,)))

    def likelihood(lib: Any, x: Any, r: str = reduction) -> Any:
        return F[lib].nll_loss(
            lib.log_softmax(x, 1), lib.tensor(LABELS), weight=lib.tensor(CLASS_WEIGHT), ignore_index=2, reduction=r
        )

    case(f"nll_loss {reduction}", likelihood, ((4, 3),))

    def yes_or_no(lib: Any, x: Any, t: Any, r: str = reduction) -> Any:
        f = F[lib].binary_cross_entropy_with_logits
        plain = f(x, t, reduction=r)
        weight, pos_weight = lib.tensor(CLASS_WEIGHT), lib.tensor(CLASS_WEIGHT[::-1].copy())
        return plain + f(x * 30, t, weight=weight, reduction=r, pos_weight=pos_weight)

    case(f"binary_cross_entropy_with_logits {reduction}", yes_or_no, ((4, 3), (4, 3)))
case("layer_norm", lambda lib, x: F[lib].layer_norm(x, (4,)), (CUBE,))
case("layer_norm affine", lambda lib, x, w, b: F[lib].layer_norm(x, (3, 4), w, b, 1e-3), (CUBE, (3, 4), (3, 4)))


def batch_norm(lib: Any, x: Any, w: Any, b: Any, training: bool) -> Any:
    """Normalize, with running statistics."""
    mean, var = lib.tensor(np.array([0.1, 0.2, 0.3])), lib.tensor(np.array([1.1, 1.2, 1.3]))
    return F[lib].batch_norm(x, mean, var, w, b, training)


for training in (True, False):
    case(
        f"batch_norm {training}",
        lambda lib, x, w, b, t=training: batch_norm(lib, x, w, b, t),
        ((4, 3), (3,), (3,)),
        (CUBE, (3,), (3,)),
    )
case("dropout off", lambda lib, x: F[lib].dropout(x, 0.5, training=False) * 2, (CUBE,))
