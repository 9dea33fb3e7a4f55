"""A linear layer under the roofs of a GPU, by the library's formulas."""

from typing import Any

from course_lib import costs
from course_lib.figures import Drawing, roofline

TITLE = "A linear layer under the roofs of an A100"
START = {"rows": 16, "width": 4096, "dtype": "float32"}
# FLOP/s and bytes/s of NVIDIA's data sheet: float32 without tensor cores, bfloat16 with them, dense.
PEAKS = {"float32": 19.5e12, "bfloat16": 312e12}
BANDWIDTH = 1555e9
ITEMSIZE = {"float32": 4, "bfloat16": 2}


def model(state: dict[str, Any]) -> dict[str, Any]:
    """Compute what the roofs allow the forward pass of a layer of ``width`` by ``width``."""
    cost = costs.linear(state["rows"], state["width"], state["width"], bias=False, itemsize=ITEMSIZE[state["dtype"]])
    moved = 2 * cost.input_bytes + cost.parameters * ITEMSIZE[state["dtype"]]  # the result is as large as the input
    peak = PEAKS[state["dtype"]]
    arithmetic, memory = cost.forward / peak, moved / BANDWIDTH
    seconds = max(arithmetic, memory)
    return {
        "flops": cost.forward,
        "bytes": moved,
        "intensity": cost.forward / moved,
        "ridge": peak / BANDWIDTH,
        "bound": "memory" if memory > arithmetic else "compute",
        "seconds": seconds,
        "rate": cost.forward / seconds,
        "peak": peak,
    }


def still() -> Drawing:
    """Draw the roof of bfloat16, and three batches under it."""
    found = {rows: model(START | {"rows": rows, "dtype": "bfloat16"}) for rows in (1, 64, 1024)}
    points = {
        f"{rows} row{'s' * (rows > 1)}": [(each["intensity"], each["rate"] / 1e9)] for rows, each in found.items()
    }
    return roofline(
        points,
        peak_gflops=PEAKS["bfloat16"] / 1e9,
        peak_gbytes=BANDWIDTH / 1e9,
        kinds=("at best",),
        title="In bfloat16 a layer of 4096 by 4096 climbs the slope with its batch; past the ridge it is at the peak",
    )


def table() -> list[list[str]]:
    """Compare batches in both precisions."""
    rows = [["rows", "precision", "FLOPs per byte", "ridge", "bound by", "least time"]]
    for dtype in PEAKS:
        for count in (1, 16, 64, 256, 1024):
            found = model(START | {"rows": count, "dtype": dtype})
            numbers = (f"{found['intensity']:.3g}", f"{found['ridge']:.3g}", found["bound"])
            rows.append([f"{count}", dtype, *numbers, f"{found['seconds'] * 1e6:.3g} µs"])
    return rows
