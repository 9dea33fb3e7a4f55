"""Report a comparison of gradients, as data and as a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from course_lib.oracle.arrays import Arrays
from course_lib.oracle.bug_ranking import Cause
from course_lib.rendering import ReadableResult, Section, as_text, format_table

__all__ = ["Difference", "Report"]

_Entry: TypeAlias = float | tuple[int, ...]
NARROWEST = 44  # characters, for the sentences under a table: what a phone shows of a line


@dataclass(frozen=True, repr=False)
class Difference(ReadableResult):
    """Difference between a gradient and the right one, and its likely cause.

    Attributes
    ----------
    engine, name : str
        Whose gradient, and of what.
    max_abs, relative : float
        The largest difference of one entry, and the same over the largest entry of the right gradient. NaN where the
        shapes differ.
    index : tuple of int or None
        Where it is largest.
    found, expected : float or tuple of int
        The entry there, and the right one; shapes, where these differ.
    cause : str or None
        One of :data:`course_lib.oracle.CAUSES`, or None if none of them makes these numbers.
    evidence : str
        Why, in words.
    equally : tuple of str
        Causes that are as likely as the one named, because the numbers cannot tell them apart.
    also : tuple of str
        All other causes that would make the same numbers.
    unexplained : tuple of str
        Tensors that differ too, and not as the cause would have it: there is a second mistake.
    """

    engine: str
    name: str
    max_abs: float
    relative: float
    index: tuple[int, ...] | None
    found: _Entry
    expected: _Entry
    cause: Cause | None
    evidence: str
    equally: tuple[Cause, ...] = ()
    also: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()

    def sections(self) -> list[Section]:
        """Return what differs, its likely cause, and what else there is to know."""
        if self.index is None and not isinstance(self.found, float):
            by = f"its shape is {self.found} instead of {self.expected}"
        else:
            at = f" at {self.index}" if self.index else ""
            by = f"by {self.max_abs:.3g} (relative {self.relative:.2g}){at}: "
            by += f"{self.found:.6g} instead of {self.expected:.6g}"
        lines = [
            f"The first to differ, from the loss towards the inputs, is {self.name} ({self.engine}), {by}.",
            f"Likely cause: {' or '.join([self.cause or 'none of the known ones', *self.equally])}. {self.evidence}",
        ]
        if others := [cause for cause in self.also if cause not in self.equally]:
            lines.append(f"The same numbers would come from: {', '.join(others)}.")
        if self.unexplained:
            lines.append(f"That does not explain {', '.join(self.unexplained)}: look there next.")
        return [Section(paragraphs=tuple(lines))]

    def __repr__(self) -> str:
        return "\n".join(map(str, self.sections()[0].paragraphs))


@dataclass(frozen=True, repr=False)
class Report(ReadableResult):
    """Gradients of one loss side by side; prints as a table.

    Attributes
    ----------
    names : tuple of str
        Tensors in backward order: a gradient that is complete earlier in the backward pass comes earlier.
    engines : tuple of str
        The columns.
    reference : str
        The engine that the others are measured against: the one that most others agree with.
    errors : mapping of (str, str) to float
        For a column and a row, the largest difference over the largest entry of the right gradient; inf where the
        shapes differ, NaN where there is nothing to compare.
    wrong : mapping of str to Difference
        For each engine that differs, the first tensor that does.
    failed : mapping of str to str
        Why an engine could not run the loss.
    grads : mapping of str to mapping of str to array
        The gradients themselves, by engine and name.
    """

    names: tuple[str, ...]
    engines: tuple[str, ...]
    reference: str
    errors: Mapping[tuple[str, str], float]
    wrong: Mapping[str, Difference]
    failed: Mapping[str, str]
    grads: Mapping[str, Arrays]

    @property
    def agrees(self) -> bool:
        """Return whether all gradients are equal up to the precision they were computed in."""
        return not self.wrong

    @property
    def first(self) -> Difference | None:
        """Return the difference to look at: of the gradients by hand if they differ, else of an engine."""
        return self.wrong.get("manual") or next(iter(self.wrong.values()), None)

    def sections(self) -> list[Section]:
        """Return a table of the errors, and below it the verdict."""
        columns = [engine for engine in self.engines if engine != self.reference] or [self.reference]
        right, longest = self.grads[self.reference], max(map(len, self.names))
        rows = [("gradient", *columns)]
        for name in self.names:
            tensor = f"{name:{longest}} {right[name].shape}"
            rows.append((tensor, *(self.cell(engine, name) for engine in columns)))
        measure = f"Each number is the largest difference from {self.reference}, over the largest entry there."
        notes = [f"{engine} could not run the loss: {why}" for engine, why in self.failed.items()]
        verdict = self.first.sections()[0].paragraphs if self.first else ("All agree.",)
        return [Section(rows=tuple(rows), caption="Gradients side by side", notes=(measure, *notes, *verdict))]

    def __repr__(self) -> str:
        sections = self.sections()
        table = format_table(sections[0].rows)
        return as_text(sections, width=max(len(table.partition("\n")[0]), NARROWEST))

    def cell(self, engine: str, name: str) -> str:
        """Write one error; a star marks the first that is too large."""
        error = self.errors.get((engine, name))
        star = "*" if engine in self.wrong and self.wrong[engine].name == name else ""
        if error is None or self.grads[engine][name].shape == self.grads[self.reference][name].shape:
            return "-" if error is None else f"{star}{error:.0e}" if error else "0"
        return f"{star}shape"
