"""Diagnose the gradients of a training run in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from course_lib.monitoring.diagnosis.detectors import DETECTORS, describe_healthy, detect_barely_moving
from course_lib.monitoring.diagnosis.evidence import Evidence, GradientFinding, Indices
from course_lib.monitoring.gradient_history import GradientHistory
from course_lib.rendering import ReadableResult, Section

__all__ = ["Diagnosis", "diagnose"]


@dataclass(frozen=True, repr=False)
class Diagnosis(ReadableResult):
    """Findings, the gravest first; prints as text, one paragraph for each finding.

    Attributes
    ----------
    findings : tuple of GradientFinding
        Never empty: if nothing is wrong, the one finding is of kind ``"healthy"``.
    """

    findings: tuple[GradientFinding, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the findings."""
        return tuple(finding.kind for finding in self.findings)

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong."""
        return self.kinds == ("healthy",)

    def sections(self) -> list[Section]:
        """Return a paragraph for each finding: its kind, what was seen, and what to try."""
        return [Section(paragraphs=tuple((f.kind, f"{f.words} {f.advice}".rstrip()) for f in self.findings))]

    def __repr__(self) -> str:
        return "\n".join(map(str, self.findings))


def diagnose(
    history: GradientHistory, *, looks: Sequence[int], last_seen: Mapping[int, Indices], stepped: bool = False
) -> Diagnosis:
    """Run each detector of trouble on a history.

    Parameters
    ----------
    history : History
        Of at least one step.
    looks : sequence of int
        The latest steps at which it was noted which elements of vectors have a gradient.
    last_seen : mapping of int to numpy.ndarray
        For vectors, the last of those steps at which each element had one.
    stepped : bool
        Whether an optimizer is known to have stepped.
    """
    evidence = Evidence.from_history(history, looks=looks, last_seen=last_seen)
    found = tuple(finding for sign in DETECTORS if (finding := sign(evidence)))
    return Diagnosis(found or (detect_barely_moving(evidence, stepped=stepped) or describe_healthy(evidence),))
