"""Find the bottlenecks of a training step: what it waits for, on what evidence, and what helps."""

from collections.abc import Callable
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from textwrap import wrap

from course_lib.instrument.dispatch_mode import check_step
from course_lib.profiling.argument_checks import check_count
from course_lib.profiling.event_analysis import break_down_step
from course_lib.profiling.formatting import format_seconds
from course_lib.profiling.timing import no_garbage_collection
from course_lib.profiling.trace import trace
from course_lib.profiling.work_kinds import Kind
from course_lib.rendering import ReadableResult, Section

__all__ = ["Advice", "Bottleneck", "advise"]

WORTH_SAYING = 0.1  # of the step
MOST_SAID = 100  # beyond, the bound says nothing that the share does not
LINE_WIDTH = 76
WORDS: dict[Kind, tuple[str, str]] = {
    "data": (
        "waiting for data",
        "workers in the DataLoader, or less to do in __getitem__; waiting hides all else, so fix it first",
    ),
    "outside": (
        "code outside of torch's operations",
        "cProfile or py-spy find it, in Python, NumPy, files or other threads; then arrays in place of loops, and for "
        "batches a DataLoader with workers, made once and not in each step",
    ),
    "calls": (
        "small calls, and the time between operations",
        "whole batches instead of loops, a fused or foreach optimizer, torch.compile",
    ),
    "products": (
        "products and factors of matrices",
        "with many rows, fewer FLOPs (count_flops counts them), or torch.autocast where the device is faster in "
        "bfloat16: measure it; with few rows a product reads its whole weight and waits for memory, so more rows at "
        "once, or weights of fewer bits",
    ),
    "copies": (
        "copies",
        "a layout, dtype and device that fit from the start; to a GPU, pinned memory with non_blocking=True",
    ),
    "communication": (
        "communication between processes, in which nothing else ran",
        "in DDP no_sync for all but the last of accumulated batches, larger buckets (bucket_cap_mb), gradients in "
        "bfloat16 (comm hooks); in FSDP more prefetching; a larger batch for each exchange",
    ),
    "passes": (
        "passes over arrays, which wait for memory",
        "fused operations or torch.compile; a smaller dtype; where memory itself is short, checkpointing",
    ),
}
COMPILED: dict[Kind, str] = {  # what helps where torch.compile is at work already
    "calls": (
        "graph breaks and recompilations cost calls (TORCH_LOGS=graph_breaks,recompiles names them); outside of the "
        "compiled regions whole batches, a fused or foreach optimizer; on a GPU mode='reduce-overhead', CUDA graphs"
    ),
    "passes": (
        "graph breaks end a fusion (TORCH_LOGS=graph_breaks names them), as does what stays outside of the compiled "
        "region, such as the loss; a smaller dtype; where memory itself is short, checkpointing"
    ),
}


@dataclass(frozen=True)
class Bottleneck:
    """A bottleneck of a step: one kind of work or waiting, and its share of the time.

    Attributes
    ----------
    kind : {"data", "outside", "calls", "products", "copies", "communication", "passes"}
        Waiting for data; other code, of which torch records nothing; small calls and the time between operations;
        products of matrices, attention among them, and what solves or factors them; copies; communication between
        processes, as by NCCL; passes over arrays, which wait for memory.
    share : float
        Of the step, from 0 to 1.
    evidence : str
        What the trace holds of it: operations, calls per step, times.
    remedy : str
        What usually helps.
    """

    kind: Kind
    share: float
    evidence: str
    remedy: str

    @property
    def at_most(self) -> float:
        r"""How many times as fast the step would be without it: :math:`1 / (1 - \mathrm{share})` (Amdahl, 1967)."""
        return 1 / (1 - self.share) if self.share < 1 else float("inf")


@dataclass(frozen=True, repr=False)
class Advice(ReadableResult):
    """Bottlenecks of a step, the largest share first.

    Attributes
    ----------
    bottlenecks : tuple of Bottleneck
        One for each kind that was seen, even those too small to be worth fixing; shares add up to 1.
    step_seconds : float
        Of one step, while it was recorded, which makes it slower: small calls most of all.
    steps : int
        How many were recorded.
    device : str
        ``"cuda"`` if the work was done there, so that its clock counts, else ``"cpu"``.
    """

    bottlenecks: tuple[Bottleneck, ...]
    step_seconds: float
    steps: int
    device: str

    def sections(self) -> list[Section]:
        """Return the time of a step, and for each bottleneck what was seen, what to try, and the most to gain."""
        head = f"{format_seconds(self.step_seconds)} a step on {self.device}, {self.steps} recorded:"
        found = [Section(paragraphs=(head,))]
        for each in self.bottlenecks:
            if each.share >= WORTH_SAYING:
                gain = (("gain", f"at most {each.at_most:.1f} times as fast"),) if each.at_most < MOST_SAID else ()
                said = ("seen", each.evidence), ("try", each.remedy), *gain
                found.append(Section(f"{each.share:4.0%}  {WORDS[each.kind][0]}", said))
        return found

    def __repr__(self) -> str:
        lines = list[str]()
        for section in self.sections():
            lines += [section.title] if section.title else []
            for said in section.paragraphs:
                lines += [said] if isinstance(said, str) else _wrap(*said)
        return "\n".join(lines)


def _wrap(label: str, text: str) -> list[str]:
    """Break a text into lines below its label."""
    return wrap(text, LINE_WIDTH, initial_indent=f"{label:>10}: ", subsequent_indent=" " * 12, break_on_hyphens=False)


def advise(step: Callable[[], object], *, warmup: int = 2, steps: int = 5) -> Advice:
    """Profile a few steps, and advise: what takes the time, on what evidence, and what helps.

    Each operation's own time is counted as products, copies, other passes over arrays, or, if it is shorter than 10
    microseconds, small calls, along with the time between operations. Where that is more than 100 microseconds at once,
    it is no longer the calling, but code outside of torch. Waiting for a ``DataLoader`` counts as a whole, with what it
    does inside. On CUDA the clock of the device counts; its idle time is waiting for data or for code outside of torch,
    for as long as the host waited for these, and otherwise for the host's calls. Where kernels run at once, on several
    streams, each moment counts once: products hide passes, these hide copies, and all hide communication.

    Parameters
    ----------
    step : callable
        Runs one whole step of training, and fetches its batch, so that waiting for it is seen. Its ``warmup + steps``
        runs train what it trains.
    warmup, steps : int
        Steps that are dropped and steps that are recorded, each at least 1.

    Returns
    -------
    Advice

    Raises
    ------
    InputError
        If ``step`` cannot be called, or a number is out of range. What ``step`` raises is passed on.
    ProfilingError
        If another profiler is running.

    Notes
    -----
    What at most half of the steps do is left out, such as an evaluation now and then. What your own threads do, and
    what JAX or NumPy do, is not recorded, so it counts as code outside of torch. Shapes are not recorded either, so a
    product that waits for memory, because it has few rows, counts as a product like any other. Reading takes torch some
    50 microseconds for each operation recorded, so a step of many thousands takes a while. A step must not start a
    profiler of its own: torch 2.13 crashes.

    Examples
    --------
    >>> import torch
    >>> x = torch.randn(500, 500)
    >>> advice = advise(lambda: x @ x @ x)
    >>> advice.bottlenecks[0].kind, advice.bottlenecks[0].evidence.split(" (")[0]
    ('products', 'mm in matmul')
    """
    check_step(step)
    check_count("warmup", warmup, least=1, because="a first step is never like the others")
    check_count("steps", steps, least=1)
    with TemporaryDirectory() as folder, trace(folder, wait=0, warmup=warmup, active=steps) as run:
        for _ in range(warmup + steps):
            step()
            run.step()
    with no_garbage_collection():
        breakdown = break_down_step(run.events())
    whole = sum(breakdown.seconds.values())
    ordered = sorted(breakdown.seconds.items(), key=lambda item: -item[1])
    remedies = {kind: remedy for kind, (_, remedy) in WORDS.items()} | (COMPILED if breakdown.compiled else {})
    found = (Bottleneck(kind, t / whole, breakdown.evidence[kind], remedies[kind]) for kind, t in ordered if t)
    return Advice(tuple(found), whole, steps, breakdown.device)
