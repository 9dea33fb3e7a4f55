"""What is recorded, one function for each panel of the book; each returns ``text`` to print, and the numbers in it."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile

from benchmarks.gpu.work import Sizes, TransformerStep, list_rows, median_seconds, mlp_step
from course_lib.clipping import clip_by_global_norm
from course_lib.monitoring import GradientMonitor
from course_lib.profiling import count_flops, memory_timeline, saved_activations

__all__ = ["SECTIONS"]

Panel = dict[str, Any]
LONGEST_TRACE = 400


def record_profile(sizes: Sizes, device: str) -> Panel:
    """Record the profiler's table of a step, with the columns of the device."""
    step = mlp_step(device)
    for _ in range(3):
        step()
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device == "cuda" else [])]
    with profile(activities=activities, record_shapes=True, profile_memory=True) as prof:
        step()
    order = "self_cuda_time_total" if device == "cuda" else "self_cpu_time_total"
    table = prof.key_averages().table(sort_by=order, row_limit=12, max_name_column_width=50)
    return {"text": table.strip()}


def record_trace(sizes: Sizes, device: str) -> Panel:
    """Record when each operator of a step was called, and when its kernels ran."""
    step = mlp_step(device)
    for _ in range(3):
        step()
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device == "cuda" else [])]
    with profile(activities=activities) as prof:
        step()
    events = sorted(prof.events(), key=lambda event: event.time_range.start)
    origin = events[0].time_range.start
    spans = [
        {
            "name": event.name[:60],
            "on": "cpu" if str(event.device_type) == "DeviceType.CPU" else "gpu",
            "thread": event.thread,
            "start_us": round(event.time_range.start - origin, 1),
            "us": round(event.time_range.elapsed_us(), 1),
        }
        for event in events[:LONGEST_TRACE]
    ]
    by_place = {on: sum(span["on"] == on for span in spans) for on in ("cpu", "gpu")}
    return {"text": f"{by_place['cpu']} calls on the host, {by_place['gpu']} kernels and copies", "spans": spans}


def record_precision(sizes: Sizes, device: str) -> Panel:
    """Time a product and a training step in each precision that the device has."""
    a, b = (torch.randn(sizes.matrix, sizes.matrix, device=device) for _ in range(2))
    ways: dict[str, tuple[str, torch.dtype | None]] = {
        "float32": ("highest", None),
        "TF32": ("high", None),
        "bfloat16": ("highest", torch.bfloat16),
        "float16": ("highest", torch.float16),
    }

    def under(precision: str, work: Callable[[], torch.Tensor]) -> Callable[[], torch.Tensor]:
        def run() -> torch.Tensor:
            torch.set_float32_matmul_precision(precision)
            return work()

        return run

    products, steps = {}, {}
    for name, (precision, dtype) in ways.items():
        left, right = (t.to(dtype or torch.float32) for t in (a, b))
        products[name] = under(precision, partial(torch.mm, left, right))
        steps[name] = under(precision, TransformerStep(sizes, device, dtype=dtype))
    try:
        product, step = (median_seconds(works, sizes.rounds) for works in (products, steps))
    finally:
        torch.set_float32_matmul_precision("highest")
    tflops = {name: 2 * sizes.matrix**3 / seconds / 1e12 for name, seconds in product.items()}
    rows: list[tuple[object, ...]] = [
        (
            name,
            f"{tflops[name]:.1f}",
            f"{product['float32'] / product[name]:.1f}",
            f"{step['float32'] / step[name]:.2f}",
        )
        for name in ways
    ]
    header = ("precision", "TFLOP/s of a product", "times as fast", "a Transformer's step: times as fast")
    return {"text": list_rows(header, rows), "tflops": tflops, "step_seconds": step}


def record_roofline(sizes: Sizes, device: str) -> Panel:
    """Find the two roofs, and place operations below them, in bfloat16."""
    n, dtype = sizes.matrix, torch.bfloat16
    a, b = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(2))
    x, y = (torch.randn(sizes.vector, device=device, dtype=dtype) for _ in range(2))
    tokens, size, heads = 8 * sizes.longest, 64, sizes.heads
    q, k, v = (torch.randn(4, heads, tokens, size, device=device, dtype=dtype) for _ in range(3))
    weight, few = (
        torch.randn(n // 2, n // 2, device=device, dtype=dtype),
        torch.randn(4, n // 2, device=device, dtype=dtype),
    )
    wide = x.view(-1, min(4096, sizes.vector))

    def written_out() -> torch.Tensor:
        return (q @ k.mT / math.sqrt(size)).softmax(-1) @ v

    pairs, moved = 4 * heads * tokens**2, 2  # bytes of an entry
    works: dict[str, tuple[Callable[[], torch.Tensor], float, float]] = {
        "matrix product": (lambda: a @ b, 2 * n**3, 3 * moved * n * n),
        "x + y": (lambda: x + y, sizes.vector, 3 * moved * sizes.vector),
        "layer norm": (lambda: functional.layer_norm(wide, wide.shape[1:]), 7 * sizes.vector, 2 * moved * sizes.vector),
        "linear, 4 rows": (lambda: few @ weight, 8 * (n // 2) ** 2, moved * ((n // 2) ** 2 + 8 * (n // 2))),
        "attention, fused": (
            lambda: functional.scaled_dot_product_attention(q, k, v),
            4 * pairs * size,
            4 * moved * q.numel(),
        ),
        "attention, written out": (written_out, 4 * pairs * size, moved * (4 * q.numel() + 4 * pairs)),
    }
    seconds = median_seconds({name: work for name, (work, _, _) in works.items()}, sizes.rounds)
    points = {name: (flops / size_, flops / seconds[name] / 1e9) for name, (_, flops, size_) in works.items()}
    peak = points["matrix product"][1]
    bandwidth = works["x + y"][2] / seconds["x + y"] / 1e9
    rows: list[tuple[object, ...]] = [
        (name, f"{intensity:.1f}", f"{rate / 1e3:.2f}", f"{rate / min(peak, intensity * bandwidth):.0%}")
        for name, (intensity, rate) in points.items()
    ]
    text = list_rows(("in bfloat16", "FLOPs per byte", "TFLOP/s", "of its roof"), rows)
    ridge = f"ridge at {peak / bandwidth:.0f} FLOPs per byte ({bandwidth:.0f} GB/s)"
    return {"text": f"{text}\n{ridge}", "peak_gflops": peak, "peak_gbytes": bandwidth, "points": points}


def record_mfu(sizes: Sizes, device: str) -> Panel:
    """Divide the FLOPs that the model needs by what the device does in a product, in the time of a step."""
    n = sizes.matrix
    a, b = (torch.randn(n, n, device=device, dtype=torch.bfloat16) for _ in range(2))
    step = TransformerStep(sizes, device, dtype=torch.bfloat16)
    counted = count_flops(step.loss)
    needed = counted.forward + counted.backward
    seconds = median_seconds({"product": lambda: a @ b, "step": step}, sizes.rounds)
    peak = 2 * n**3 / seconds["product"]
    mfu = needed / seconds["step"] / peak
    parameters = sum(p.numel() for p in step.model.parameters())
    what = f"{parameters / 1e6:.1f} million parameters, {needed / 1e12:.2f} TFLOPs a step"
    return {
        "text": f"{what}: MFU {mfu:.0%} of the measured peak",
        "mfu": mfu,
        "step_seconds": seconds["step"],
        "needed_flops": needed,
    }


def record_memory(sizes: Sizes, device: str) -> Panel:
    """Follow the bytes of a step, beside the allocator's own counts."""
    step = TransformerStep(sizes, device)
    step()
    timeline = memory_timeline(step)
    curve = timeline.live_bytes[:: max(1, len(timeline.live_bytes) // 300)]
    rows: list[tuple[object, ...]] = [("storages, at the peak", f"{timeline.peak_bytes / 1e6:.0f}")]
    rows.append(("saved for backward", f"{saved_activations(step.loss).total_bytes / 1e6:.0f}"))
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        step()
        rows.append(("torch.cuda.max_memory_allocated", f"{torch.cuda.max_memory_allocated() / 1e6:.0f}"))
        rows.append(("torch.cuda.max_memory_reserved", f"{torch.cuda.max_memory_reserved() / 1e6:.0f}"))
    return {"text": list_rows(("of a step", "MB"), rows), "curve_bytes": list(curve)}


def record_compile(sizes: Sizes, device: str) -> Panel:
    """Time a step eager and compiled."""
    eager, compiled = (TransformerStep(sizes, device, dtype=torch.bfloat16) for _ in range(2))
    compiled.model = torch.compile(compiled.model)  # type: ignore[assignment] # it is a module still
    seconds = median_seconds({"eager": eager, "compiled": compiled}, sizes.rounds)
    gain = seconds["eager"] / seconds["compiled"]
    return {"text": f"compiled: {gain:.2f} times as fast as eager", "step_seconds": seconds}


def record_overhead(sizes: Sizes, device: str) -> Panel:
    """Time a step with what may be called before the optimizer's, beside one without."""

    def monitor(every: int) -> TransformerStep:
        step = TransformerStep(sizes, device)
        watching = GradientMonitor(step.model, every=every)
        step.before_step = lambda model: watching.step()
        return step

    clip = torch.nn.utils.clip_grad_norm_
    works: dict[str, Callable[[], Any]] = {
        "nothing": TransformerStep(sizes, device),
        "clip_grad_norm_": TransformerStep(sizes, device, before_step=lambda model: clip(model.parameters(), 1.0)),
        "clip_by_global_norm": TransformerStep(
            sizes, device, before_step=lambda model: clip_by_global_norm(model.parameters(), 1.0)
        ),
        "monitor, every=1": monitor(1),
        "monitor, every=10": monitor(10),
    }
    seconds = median_seconds(works, sizes.rounds)
    rows: list[tuple[object, ...]] = [(name, f"{taken / seconds['nothing']:.3f}") for name, taken in seconds.items()]
    return {"text": list_rows(("before the optimizer's step", "of a step without"), rows), "step_seconds": seconds}


SECTIONS: dict[str, Callable[[Sizes, str], Panel]] = {
    "profile": record_profile,
    "trace": record_trace,
    "precision": record_precision,
    "roofline": record_roofline,
    "mfu": record_mfu,
    "memory": record_memory,
    "compile": record_compile,
    "overhead": record_overhead,
}
