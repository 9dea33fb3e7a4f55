"""The table of a class's grades."""

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from course_lib.grading.report import SubmissionReport

__all__ = ["grades_table"]


def grades_table(reports: Sequence[SubmissionReport], *, names: str = "learner") -> Group:
    """Return one line a submission: points, status, and the first thing the learner is told.

    Text from learners is never read as markup.
    """
    reports = sorted(reports, key=lambda report: (report.learner, report.exercise))
    several = len({report.exercise for report in reports}) > 1
    table = Table(expand=True)
    table.add_column(names, overflow="fold")
    if several:
        table.add_column("exercise", overflow="fold")
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("what the learner is told first", ratio=1, overflow="fold")
    for report in reports:
        said = [*report.messages[:1], *([f"(and {len(report.messages) - 1} more)"] if len(report.messages) > 1 else [])]
        cells = [report.learner, *([report.exercise] if several else [])]
        cells += [f"{report.points:g} / {report.max_points:g}", report.status, " ".join(said)]
        table.add_row(*map(Text, cells))
    return Group(table, *_notes(reports))


def _notes(reports: Sequence[SubmissionReport]) -> list[Text]:
    """Return what an instructor must not miss."""
    lines = []
    if any(report.sandbox == "none" for report in reports):
        lines.append(
            Text("graded without a sandbox: this code could read and change anything you can", style="bold red")
        )
    if errors := [report.learner for report in reports if report.status == "error"]:
        lines.append(
            Text(f"not the learners' fault, look at `detail` in grades.json: {', '.join(errors)}", style="bold red")
        )
    return lines
