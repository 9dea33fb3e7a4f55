"""A report as its page shows it: rows by kind, what they do not say, and what changed since the attempt before."""

from collections.abc import Sequence
from dataclasses import dataclass

from course_grader.grading.grade_one.report import Row, SubmissionReport
from course_grader.grading.gradebook.attempts import Attempt

__all__ = ["Change", "ReportView", "view_report"]

HEADINGS = {"test": "Tests", "check": "Your checks", "answer": "Your cells", "given": "Cells you were given"}


@dataclass(frozen=True)
class Change:
    """A test or cell whose outcome is another than in the attempt before."""

    row: Row
    before: Row

    @property
    def is_better(self) -> bool:
        """Whether it earns more now, or passes now."""
        return (self.row.points, self.row.status == "passed") > (self.before.points, self.before.status == "passed")


@dataclass(frozen=True)
class ReportView:
    """What a page shows of an attempt; ``changes`` is None for a first attempt."""

    report: SubmissionReport
    attempt: Attempt
    notes: Sequence[str]
    sections: Sequence[tuple[str, Sequence[Row]]]
    changes: Sequence[Change] | None
    points_before: float = 0


def view_report(attempt: Attempt, former: Attempt | None) -> ReportView:
    """Return what to show of an attempt, beside the one before it."""
    report = attempt.report
    said = [row.message for row in report.rows if row.message]
    notes = [message for message in report.messages if not any(each in message for each in said)]
    kinds = dict.fromkeys([*HEADINGS, *(row.kind for row in report.rows)])
    sections = [
        (HEADINGS.get(kind, "The grader"), rows)
        for kind in kinds
        if (rows := [row for row in report.rows if row.kind == kind])
    ]
    if former is None:
        return ReportView(report, attempt, notes, sections, None)
    return ReportView(
        report, attempt, notes, sections, _find_changes(former.report, report), points_before=former.report.points
    )


def _find_changes(before: SubmissionReport, now: SubmissionReport) -> list[Change]:
    """Pair the rows of two reports by kind and name; of rows of the same name, in their order."""
    rows: dict[tuple[str, str], list[Row]] = {}
    for row in before.rows:
        rows.setdefault((row.kind, row.name), []).append(row)
    pairs = [(row, former.pop(0)) for row in now.rows if (former := rows.get((row.kind, row.name)))]
    return [Change(row, old) for row, old in pairs if (row.status, row.points) != (old.status, old.points)]
