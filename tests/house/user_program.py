"""A user's program that touches every public name once, for the type checker; nothing calls it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import nbformat
import numpy as np
import torch

import course_grader
from course_grader import cli, notebooks
from course_lib import (
    autograd,
    benchmark_results,
    clipping,
    costs,
    doctor,
    errors,
    extras,
    figures,
    frameworks,
    instrument,
    integrations,
    jax_norm,
    mlp,
    monitoring,
    norms,
    oracle,
    profiling,
    rendering,
    small_transformer,
    split_tensors,
    training,
    types,
)
from course_lib.autograd import nn, optim
from course_lib.autograd.nn import functional

Floats = np.ndarray[Any, np.dtype[np.float64]]


def create_tensors(array: Floats) -> autograd.Tensor:
    """Every way to make a tensor."""
    autograd.manual_seed(0)
    made = [
        autograd.arange(3),
        autograd.eye(3, dtype=autograd.float32),
        autograd.from_numpy(array),
        autograd.full((2, 3), 1.5),
        autograd.linspace(0.0, 1.0, 5),
        autograd.ones(2, 3, dtype=autograd.float64),
        autograd.rand(2, 3),
        autograd.randn(2, 3, requires_grad=True),
        autograd.tensor([1, 2], dtype=autograd.int64),
        autograd.tensor([True], dtype=autograd.bool),
        autograd.zeros(2, 3),
        autograd.Tensor(array),
    ]
    made += [autograd.ones_like(made[0]), autograd.zeros_like(made[0])]
    return made[-1]


def compute_elementwise(x: autograd.Tensor, y: autograd.Tensor) -> None:
    """Arithmetic, comparisons and functions of one entry."""
    autograd.abs(x), autograd.add(x, y, alpha=2), autograd.atan(x), autograd.clamp(x, 0.0, 1.0), autograd.cos(x)
    autograd.cosh(x), autograd.div(x, y, rounding_mode="floor"), autograd.erf(x), autograd.exp(x), autograd.expm1(x)
    autograd.log(x), autograd.log1p(x), autograd.maximum(x, y), autograd.minimum(x, 2.0), autograd.mul(x, y)
    autograd.neg(x), autograd.pow(x, 3), autograd.reciprocal(x), autograd.rsqrt(x), autograd.sign(x), autograd.sin(x)
    autograd.sinh(x), autograd.sqrt(x), autograd.square(x), autograd.sub(1.0, y), autograd.tan(x)
    autograd.where(autograd.gt(x, 0), x, y), autograd.eq(x, y), autograd.ge(x, y), autograd.le(x, y), autograd.lt(x, y)
    autograd.ne(x, y), autograd.isfinite(x), autograd.isnan(x), autograd.equal(x, y), autograd.allclose(x, y, atol=1.0)
    autograd.logical_and(x, y), autograd.logical_not(x), autograd.logical_or(x, y)
    autograd.bitwise_and(x, y), autograd.bitwise_not(x), autograd.bitwise_or(x, y)
    autograd.relu(x), autograd.sigmoid(x), autograd.tanh(x), autograd.silu(x), autograd.gelu(x, approximate="tanh")
    autograd.elu(x, alpha=0.5), autograd.leaky_relu(x, 0.1), autograd.softplus(x, beta=2.0), autograd.dropout(x, 0.1)


def compute_with_shapes(x: autograd.Tensor, y: autograd.Tensor, index: autograd.Tensor) -> None:
    """Products, reductions, views and indexing."""
    autograd.addmm(x, x, y, beta=0.5), autograd.bmm(x, y), autograd.dot(x, y), autograd.matmul(x, y), autograd.mm(x, y)
    autograd.mv(x, y), autograd.outer(x, y), autograd.linear(x, y, None)
    autograd.amax(x, 0), autograd.amin(x, (0, 1)), autograd.argmax(x, 0), autograd.cumsum(x, 0), autograd.mean(x, 0)
    autograd.prod(x), autograd.std(x, 0), autograd.sum(x, keepdim=True), autograd.var(x, correction=0)
    autograd.log_softmax(x, 1), autograd.logsumexp(x, 1), autograd.softmax(x, 1), autograd.vector_norm(x, 2)
    autograd.cat([x, y], 1), autograd.clone(x), autograd.expand(x, 2, 3), autograd.flatten(x, 1), autograd.t(x)
    autograd.permute(x, 1, 0), autograd.ravel(x), autograd.reshape(x, (6,)), autograd.split(x, 2), autograd.squeeze(x)
    autograd.stack([x, y]), autograd.transpose(x, 0, 1), autograd.unsqueeze(x, 0), autograd.view(x, 6)
    autograd.gather(x, 1, index), autograd.index_select(x, 0, index)
    autograd.linalg.vector_norm(x)


def compute_losses(x: autograd.Tensor, y: autograd.Tensor, weight: autograd.Tensor) -> None:
    """Losses and normalizations, under the engine's own names and in ``nn.functional``."""
    autograd.binary_cross_entropy_with_logits(x, y, reduction="sum"), autograd.cross_entropy(x, y, ignore_index=0)
    autograd.mse_loss(x, y), autograd.nll_loss(x, y), autograd.layer_norm(x, (3,), weight)
    autograd.batch_norm(x, None, None, training=True)
    functional.binary_cross_entropy_with_logits(x, y), functional.cross_entropy(x, y), functional.mse_loss(x, y)
    functional.nll_loss(x, y), functional.layer_norm(x, (3,)), functional.batch_norm(x, x, y), functional.linear(x, y)
    functional.relu(x), functional.sigmoid(x), functional.tanh(x), functional.silu(x), functional.gelu(x)
    functional.elu(x), functional.leaky_relu(x), functional.softplus(x), functional.dropout(x, training=False)
    functional.softmax(x, dim=1), functional.log_softmax(x, dim=1)


class Cube(autograd.Function):
    """A rule of one's own."""

    @staticmethod
    def forward(ctx: Any, x: autograd.Tensor) -> Any:
        """Compute it."""
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, v: autograd.Tensor) -> Any:
        """Send its vector-Jacobian product."""
        (x,) = ctx.saved_tensors
        return v * 3 * x * x


def differentiate(x: autograd.Tensor, loss: autograd.Tensor) -> None:
    """Backward passes, checks, hooks and modes."""
    autograd.backward(loss, retain_graph=True)
    autograd.grad(loss, [x], allow_unused=True)
    autograd.autograd.grad(loss, x), autograd.functional.vjp(Cube.apply, x)
    autograd.gradcheck(Cube.apply, x, raise_exception=False), autograd.gradgradcheck(Cube.apply, [x])
    autograd.vjp(Cube.apply, x, v=x), autograd.jvp(Cube.apply, x), autograd.jacobian(Cube.apply, x)
    autograd.hessian(Cube.apply, x), autograd.hvp(Cube.apply, x)
    with autograd.no_grad(), autograd.enable_grad(), autograd.set_grad_enabled(mode=autograd.is_grad_enabled()):
        pass
    with autograd.saved_tensors_hooks(lambda t: t, lambda t: t), autograd.graph.saved_tensors_hooks(abs, abs):
        handle: autograd.RemovableHandle = x.register_hook(lambda g: g)
    handle.remove()
    node: autograd.Node | None = x.grad_fn
    assert node is None


def train_a_model(x: autograd.Tensor, y: autograd.Tensor) -> None:
    """Modules and optimizers, as in PyTorch."""
    layers: list[autograd.nn.Module] = [
        nn.Linear(3, 4), nn.BatchNorm1d(4), nn.LayerNorm(4), nn.ReLU(), nn.GELU(), nn.Tanh(), nn.Sigmoid(),
        nn.Dropout(0.1), nn.Flatten(), nn.RNNCell(4, 4),
    ]  # fmt: skip
    model: nn.Module = nn.Sequential(*layers)
    scale: autograd.Tensor = nn.Parameter(x)
    for optimizer in (optim.SGD([scale], lr=0.1), optim.Adam([scale]), autograd.optim.AdamW(model.parameters())):
        optimizer.zero_grad()
    nn.CrossEntropyLoss()(model(x), y), nn.MSELoss()(model(x), y), nn.functional.relu(x)
    optim.AdamW([scale], weight_decay=0.1).step()


def clip_gradients(model: torch.nn.Module) -> None:
    """By norm and by value."""
    policy: clipping.Nonfinite = "skip"
    clipping.clip_by_global_norm(model, 1.0, nonfinite=policy), clipping.clip_by_value(model, 0.5)


def count_costs() -> tuple[costs.TrainingCost, costs.CheckpointPlan]:
    """FLOPs and bytes, by formula."""
    layers: list[costs.Cost] = [
        costs.linear(32, 10, 20), costs.elementwise("relu", 640), costs.attention(2, 4, 8, 16, fused=True),
        costs.conv2d(1, 3, 8, (32, 32), 3), costs.max_pool2d(1, 8, (32, 32), 2), costs.dropout(640),
        costs.embedding(32, 100, 16), costs.layer_norm(32, 16), costs.rnn(5, 2, 3, 4), costs.gru(5, 2, 3, 4),
        costs.lstm(5, 2, 3, 4), costs.cross_entropy(32, 10), costs.mse_loss(32),
        *costs.freeze(*costs.mlp(32, [10, 20, 2])), *costs.transformer_layer(2, 8, 16, 4),
    ]  # fmt: skip
    print(costs.ratio_from_first_layer(layers), costs.transformer_activation_bytes(2, 8, 16, 4))
    print(costs.mfu(costs.training_cost(layers), 0.1, costs.peak_flops("A100", "bfloat16")))
    return costs.training_cost(layers), costs.checkpoint_plan(12, costs.best_checkpoint_interval(12))


def measure_costs(step: Callable[[], torch.Tensor], model: torch.nn.Module) -> int:
    """FLOPs and bytes, measured."""
    flops: instrument.Flops = instrument.count_flops(step)
    own: list[instrument.ModuleFlops] = [*flops.modules.values()]
    log: instrument.StorageLog = instrument.log_storages(step)
    first: instrument.Storage = log.storages[0]
    print(own, first.bytes, flops.module_table())
    saved: instrument.SavedTensors = instrument.saved_tensors(step, parameters=model.parameters())
    return flops.forward + saved.bytes + instrument.peak_bytes(step)


def draw(x: autograd.Tensor, y: torch.Tensor) -> list[figures.Drawing]:
    """Charts, graphs and diagrams."""
    graph: figures.GraphFigure = figures.graph(y, names={"y": y})
    stepper: figures.StepperFigure = figures.backward_stepper(x, names={"x": x}, gradient=x)
    rows = {"first": [1.0, None], "last": [0.1, 2.0]}
    maps: figures.HeatMapFigure = figures.heat_map(rows, rows=["a", "b"], columns=[1, 2], title="t", value="rms")
    loop: figures.LoopFigure = figures.loop_diagram({"step()": {"w": "changes"}}, things=["w"], title="t")
    product: figures.MatrixProductsFigure = figures.matrix_products(["x:b,d"], sizes={"b": 2, "d": 3}, title="t")
    print(graph, stepper, maps, loop, product)
    with figures.canvas("t", height=2.0) as page:
        page.figure.subplots()
    return [
        page.drawing("A plot."),
        figures.lines({"loss": [1.0, None]}, x_label="step", y_label="loss", title="t", y_scale="log"),
        figures.ratios({"work": {"ours": figures.Ratio(1.0, 1.1, 1.2)}}, title="t", baseline="NumPy"),
        figures.roofline({"sum": [(0.1, 3.0)]}, peak_gflops=100.0, peak_gbytes=40.0, title="t"),
        figures.stacked_areas({"b": [1, 2]}, x_label="x", y_label="y", title="t", spans=[("forward", 0, 1)]),
        figures.strips({"host": [("launch", 0.0, 1.0)]}, title="t", unit="ms", marks={"done": 1.0}),
        figures.surface([[1.0, 2.0]], x=[0.0, 1.0], y=[0.0], x_label="w", y_label="b", title="t"),
        figures.timeline([("mm", 0.0, 1.0)], title="t", unit="ms"),
    ]


def differentiate_by_hand(x: Floats, w: Floats) -> mlp.MlpGrads:
    """The networks of the first pages."""
    mlp.manual_mlp_grad(x, w, w), mlp.mlp_activations(x, w, w)
    result: mlp.MlpResult = mlp.mlp_grad(x, [w, w], activation="tanh")
    first: mlp.Step = result.steps[0]
    print(first.flops)
    return result.grads


def monitor(model: torch.nn.Module, step: Any) -> tuple[monitoring.GradientFinding, ...]:
    """Watch gradients, and diagnose a run."""
    stats: monitoring.GradientStats = monitoring.log_gradient_stats(model)
    one: monitoring.ParameterStats = stats.parameters["weight"]
    origin: monitoring.NonfiniteOrigin | None = monitoring.first_nonfinite(step)
    print(one.norm, origin, monitoring.compute_grad_norm(model), monitoring.DeadUnits(model))
    diagnosis: monitoring.Diagnosis = monitoring.GradientMonitor(model, every=10).diagnose()
    monitoring.JaxGradientMonitor({"w": jax.numpy.ones(2)}).step({"w": jax.numpy.ones(2)})
    logged = monitoring.GradientMonitor(model, log_to=lambda scalars, step: print(scalars, step), histogram_every=10)
    histogram: monitoring.GradientHistogram = logged.histogram("weight")
    print(histogram.counts, integrations.lightning_callback(every=10), integrations.huggingface_callback(log_to=print))
    return diagnosis.findings


def compare_gradients(x: Floats) -> str:
    """Which gradient is wrong first, and why."""
    report: oracle.Report = oracle.compare(lambda x, xp: xp.tanh(x).sum(), {"x": x}, {"x": x}, engines=["autograd"])
    first: oracle.Difference | None = report.first
    return "" if first is None or first.cause is None else f"{first.cause}, {oracle.CAUSES.index(first.cause)}"


def profile(model: torch.nn.Module, optimizer: torch.optim.Optimizer, step: Any, batch: Any) -> None:
    """Time and memory of a step."""
    timing: profiling.Timing = profiling.time_call(step, warmup=1)
    advice: profiling.Advice = profiling.advise(step)
    bottleneck: profiling.Bottleneck = advice.bottlenecks[0]
    saved: profiling.SavedActivations = profiling.saved_activations(step)
    activation: profiling.SavedActivation = saved.activations[0]
    memory: profiling.MemoryTimeline = profiling.memory_timeline(step, optimizer=optimizer)
    alive: profiling.LiveStorage = memory.alive_at_peak[0]
    times: profiling.StepProfile = profiling.profile_step(model, torch.nn.functional.mse_loss, optimizer, batch)
    times = profiling.profile_step(model, None, None, batch)
    module: profiling.ModuleTime = times.modules[""]
    flops: profiling.Flops = profiling.count_flops(step)
    part: profiling.ModuleFlops = flops.modules[""]
    print(part.self_forward, profiling.mfu(flops, times.total_seconds, profiling.peak_flops(dtype=torch.bfloat16)))
    recording: profiling.Trace = profiling.trace(Path("traces"), device="cpu")
    print(timing, bottleneck, activation, alive, memory.by_kind["activations"], module, flops, recording)


class Counted(rendering.ReadableResult):
    """A result of one's own, as text, HTML and Markdown."""

    def sections(self) -> list[rendering.Section]:
        """One table."""
        rows = ("layer", "weights"), ("0", "32")
        print(rendering.format_table(rows), rendering.as_text([rendering.Section(rows=rows)], width=44))
        return [rendering.Section("Weights", (("all", "32"),), rows, ("as they are",), caption="By layer")]


def show(counted: Counted) -> str:
    """Every form."""
    print(rendering.as_page("Weights", counted.sections()), rendering.as_html(counted.sections()))
    return rendering.as_markdown("Weights", counted.sections())


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, adam: Any) -> None:
    """Loops over epochs."""
    loader = training.ArrayLoader(x, x, batch_size=4)
    loss: training.EpochLoss = training.train_epoch(model, loader, torch.nn.MSELoss(), optimizer, "cpu")
    loss = training.validate(model, loader, torch.nn.MSELoss(), "cpu", metrics={"accuracy": training.accuracy})
    history: training.TrainingHistory = training.fit(
        model, loader, torch.nn.MSELoss(), optimizer, "cpu", epochs=2,
        precision="fp16", scaler=torch.amp.GradScaler("cpu"), checkpoint="run.pt", keep={"averaged": model},
    )  # fmt: skip
    step = training.make_jax_step(lambda params, x: jax.numpy.mean(params * x), adam)
    sent: float = training.bytes_sent()
    ranks: list[int] = training.run_processes(lambda rank: rank)
    with_aux = training.make_jax_step(lambda params, x: (jax.numpy.mean(params * x), x), adam, has_aux=True)
    _, _, _, aux = with_aux({}, adam, x)
    print(loss, history, step({}, adam, x), ranks, sent, aux)


def sort() -> list[int]:
    """The small Transformer's parts."""
    x, y = small_transformer.draw_lists(2)
    model = small_transformer.SmallTransformer(attend=small_transformer.causal_attention)
    block: torch.nn.Module = small_transformer.Block(8, 2, small_transformer.causal_attention)
    loss: torch.Tensor = small_transformer.token_loss(model(x), y) * small_transformer.warm_up_then_cosine(0)
    print(loss, block)
    return small_transformer.sort_digits(model, [3, 1, 2])


def name_types(array: types.AnyArray, tensor: types.AnyTensor, tree: types.Tree, loss: types.LossFunction) -> None:
    """What signatures share."""
    module: types.AnyModule = torch.nn.Linear(2, 3)
    ours: types.AnyModule = nn.Linear(2, 3)
    optimizer: types.AnyOptimizer = torch.optim.SGD(torch.nn.Linear(2, 3).parameters())
    plain: types.Array = np.zeros(3)
    numeric: types.NumericArray = torch.zeros(3)
    one: types.Number = 1.0
    device: types.AnyDevice = torch.device("cpu")
    print(module, ours, optimizer, one, device, numeric, loss(array, plain), tensor.detach(), tree)


def tell_frameworks_apart(x: object) -> Iterator[object]:
    """Each question, asked of anything."""
    name: frameworks.FrameworkName | None = frameworks.framework_name(x)
    yield from (name, frameworks.is_jax_tracer(x), frameworks.is_module(x), frameworks.array_namespace(np.zeros(2)))
    if frameworks.is_torch_tensor(x):
        yield x.grad_fn
    elif frameworks.is_torch_module(x):
        yield from frameworks.parameter_names(x)
        yield x.state_dict()
    elif frameworks.is_engine_tensor(x):
        yield x.tolist()
    elif frameworks.is_engine_module(x):
        yield x.named_parameters()
    elif frameworks.is_jax_array(x):
        yield x.sharding
    elif frameworks.is_numpy_array(x):
        yield x.tolist()


def take_norms(array: Floats, tensors: list[torch.Tensor], arrays: list[jax.Array]) -> norms.Magnitude:
    """NumPy's, torch's and JAX's."""
    print(
        norms.check_norm_type(2),
        norms.LEAST_DOUBLE,
        norms.exponent_limit(8),
        norms.group_alike(tensors),
        norms.total_norms(array),
    )
    print(split_tensors.gather_parts(split_tensors.local_part(tensors[0]), split_tensors.split_over(tensors[0])))
    print(split_tensors.placed_gradient(tensors[0]))
    print(jax_norm.jax_norm(arrays, np.float32))
    return norms.combine_norms([norms.array_norm(array), *norms.tensor_norms(tensors)])


def catch_errors() -> Iterator[type[errors.CourseError]]:
    """Each error, and what loads extras and results."""
    try:
        extras.load("torch", extra="torch")
        benchmark_results.read_benchmark("autograd")
        print(benchmark_results.recorded_gpu("profile"))
    except (errors.MissingExtraError, errors.InputError):
        pass
    yield from (
        errors.AutogradError,
        errors.AutogradIndexError,
        errors.GradcheckError,
        errors.NotebookError,
        errors.TrainingError,
    )
    yield from (errors.MonitorError, errors.NonFiniteError, errors.ProfilingError, errors.GradingError)


@course_grader.points(2)
@course_grader.rests_on("def double(x): return 2 * x")
def test_their_square(learner: Any) -> None:
    """A key's test."""
    course_grader.expect.array(learner.square(3), name="square(3)", shape=())
    raise course_grader.Mistake("It is not the square.") from course_grader.LearnerError("x")


def mark_own_notebook() -> None:
    """In a notebook, or with a path."""
    course_grader.explain_checks("clip")
    print(course_grader.check("homework.ipynb").points, course_grader.check().passed)
    print(course_grader.hand_in("clip", "homework.ipynb", token="https://a.example#b").points)


def watch_a_loop(model: torch.nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> doctor.Report:
    """A loop as it is, and what the doctor found."""
    with doctor.watch(model, optimizer) as watching:
        model(x).sum().backward()
        optimizer.step()
    watched: doctor.Doctor = watching
    report: doctor.Report = watched.report()
    first: doctor.FirstNonfinite | None = report.nonfinite
    times: doctor.StepTimes | None = report.times
    memory: doctor.MemoryUse | None = report.memory
    modules: tuple[doctor.ModuleUse, ...] = report.modules
    findings: tuple[doctor.Finding, ...] = report.findings
    print(first, times, memory, [each.seconds for each in modules], [each.advice for each in findings])
    return report


def build_notebooks(root: Path) -> nbformat.NotebookNode:
    """The pages, and the command."""
    built: list[notebooks.BuiltNotebook] = list(notebooks.build_notebooks(root))
    repository: notebooks.Repository = notebooks.Repository.read(root)
    text = next(iter(notebooks.notebook_sources(root)))
    notebooks.clean_outputs(notebooks.generate_notebook(text, root=root), root=root)
    print(built, repository)
    cli.main(["notebooks"])
    return notebooks.read_text(text)
