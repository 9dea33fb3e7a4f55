"""The doctor's report: what was found, with evidence and what to try, as data; it prints, and renders."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from course_lib.doctor.looks.module_look import ModuleUse
from course_lib.doctor.looks.nonfinite_search import FirstNonfinite
from course_lib.doctor.loop.loop_clock import StepTimes
from course_lib.doctor.report.report_file import write_report
from course_lib.monitoring import GradientFinding
from course_lib.profiling import Advice
from course_lib.profiling.formatting import format_bytes, format_seconds
from course_lib.rendering import ReadableResult, Section, as_markdown, as_page

__all__ = ["Finding", "MemoryUse", "Report"]

TITLE = "A training loop, watched"
LISTED = 8  # modules
SMALL_SHARE = 0.1  # of the step, below which a bottleneck is not worth a word


@dataclass(frozen=True)
class Finding:
    """One thing that is worth a change.

    Attributes
    ----------
    part : {"non-finite", "gradients", "loss", "time", "memory"}
        What it is about.
    kind : str
        Its name: a kind of :class:`~course_lib.monitoring.GradientFinding` or of
        :class:`~course_lib.profiling.Bottleneck`, ``"first non-finite"``, ``"not trained"``, ``"no step"``, ``"rising
        loss"``, ``"optimizer"``, ``"before the model"``, ``"before the step"`` or ``"nearly full"``.
    evidence : str
        What was seen, with the numbers.
    advice : str
        What to try.
    """

    part: Literal["non-finite", "gradients", "loss", "time", "memory"]
    kind: str
    evidence: str
    advice: str


@dataclass(frozen=True)
class MemoryUse:
    """Bytes of a training step, by what they hold.

    Attributes
    ----------
    parameters_bytes, gradients_bytes, state_bytes, buffers_bytes : int
        Of the model and its optimizers.
    activations_bytes : int or None
        What the graph keeps for the backward pass, if a step was looked into.
    device_peak_bytes : int or None
        The most that torch had allocated on the CUDA device since the process began; None without one.
    """

    parameters_bytes: int
    gradients_bytes: int
    state_bytes: int
    buffers_bytes: int
    activations_bytes: int | None = None
    device_peak_bytes: int | None = None


@dataclass(frozen=True, repr=False)
class Report(ReadableResult):
    """Findings of a watched training loop, the gravest first; prints as text, and is a page in a notebook.

    Attributes
    ----------
    findings : tuple of Finding
        What to try, on what evidence; empty if nothing is wrong.
    steps : int
        How often the optimizer that steps first has stepped.
    losses : tuple of float
        The first loss and the last one, as ``backward()`` got them; empty if none was one number.
    gradients : tuple of GradientFinding
        The monitor's diagnosis of each optimizer's gradients.
    nonfinite : FirstNonfinite or None
        The first loss or gradient that was not finite.
    times : StepTimes or None
        The parts of a step, by the host's clock.
    modules : tuple of ModuleUse
        Time and activations by module, the longest first; empty if the loop was too short for that look.
    bottlenecks : Advice or None
        What the operations of a few steps were, if the loop was long enough for that look.
    memory : MemoryUse or None
    price : float
        What watching took, as a share of the loop's own time; the search for a value that is not finite left out.
    notes : tuple of str
        What could not be seen, and why.
    """

    findings: tuple[Finding, ...]
    steps: int
    losses: tuple[float, ...] = ()
    gradients: tuple[GradientFinding, ...] = ()
    nonfinite: FirstNonfinite | None = None
    times: StepTimes | None = None
    modules: tuple[ModuleUse, ...] = ()
    bottlenecks: Advice | None = None
    memory: MemoryUse | None = None
    price: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the findings."""
        return tuple(found.kind for found in self.findings)

    def sections(self) -> list[Section]:
        """Return the report as titles, paragraphs and tables, which every form is made of."""
        found = [Section(paragraphs=(self.headline,))]
        if self.findings:
            found.append(Section("What to try", tuple(map(_describe, self.findings))))
        else:
            found.append(Section("Nothing stands out", ("Gradients, loss, time and memory look as they should.",)))
        if self.nonfinite is not None:
            found.append(Section("First value that is not finite", (("", self.nonfinite.words),)))
        found.append(Section("Gradients", tuple((f.kind, f.words) for f in self.gradients) or ("Not seen.",)))
        found += [self._time_section(), *self._module_section(), *self._memory_section()]
        if self.notes:
            found.append(Section("Not seen", self.notes))
        return found

    def _time_section(self) -> Section:
        if self.times is None:
            return Section("Time", ("There were too few steps to time: two or more are needed.",))
        whole = self.times.step_seconds
        rows = [("part of a step", "time", "share")]
        rows += [(part, format_seconds(t), f"{t / whole:.0%}") for part, t in self.times.parts.items()]
        rows.append(("whole step", format_seconds(whole), ""))
        said = list[tuple[str, str]]()
        for each in self.bottlenecks.bottlenecks if self.bottlenecks else ():
            if each.share >= SMALL_SHARE:
                said.append((f"{each.kind}, {each.share:.0%}", f"{each.evidence}."))
        note = f"Medians of {self.times.steps} steps, by the host's clock."
        return Section("Time", (note, *said), tuple(rows))

    def _module_section(self) -> list[Section]:
        if not self.modules:
            return []
        rows = [("module", "forward", "backward", "keeps for backward")]
        for use in self.modules[:LISTED]:
            times = format_seconds(use.forward_seconds), format_seconds(use.backward_seconds)
            rows.append((use.name, *times, format_bytes(use.saved_bytes)))
        more = f" {len(self.modules) - LISTED} more take less." if len(self.modules) > LISTED else ""
        note = f"Each without the modules that it calls, in steps that were slowed down by looking at them.{more}"
        return [Section("Modules", (note,), tuple(rows))]

    def _memory_section(self) -> list[Section]:
        if (m := self.memory) is None:
            return []
        sizes = {
            "parameters": m.parameters_bytes,
            "gradients": m.gradients_bytes,
            "optimizer state": m.state_bytes,
            "buffers": m.buffers_bytes,
            "activations, kept for the backward pass": m.activations_bytes,
            "most that was allocated on the GPU": m.device_peak_bytes,
        }
        rows = [("memory of", "size"), *((name, format_bytes(size)) for name, size in sizes.items() if size)]
        return [Section("Memory", (), tuple(rows))]

    @property
    def headline(self) -> str:
        """One line: steps, loss, and the price of watching."""
        loss = f", loss from {self.losses[0]:.4g} to {self.losses[1]:.4g}" if self.losses else ""
        step = "step" if self.steps == 1 else "steps"
        return f"{self.steps:,} {step}{loss}; watching took {self.price:.1%} of the loop's time."

    def to_html(self) -> str:
        """Return a page of HTML that needs nothing else."""
        return as_page(TITLE, self.sections())

    def to_markdown(self) -> str:
        """Return the report as Markdown."""
        return as_markdown(TITLE, self.sections())

    def write(self, path: str | Path) -> Path:
        """Write the report to a file: ``.html`` as a page, ``.md`` as Markdown, ``.txt`` as it prints.

        Raises
        ------
        InputError
            If the file's name ends otherwise, or it cannot be written.
        """
        forms = {".html": self.to_html, ".md": self.to_markdown, ".txt": self.__repr__}
        return write_report(path, forms)


def _describe(finding: Finding) -> tuple[str, str]:
    """Put a finding into words: seen, then to try."""
    return finding.kind, f"{finding.evidence} Try: {finding.advice}" if finding.advice else finding.evidence
