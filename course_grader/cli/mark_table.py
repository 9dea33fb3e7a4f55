"""Make the table of one's own notebook: its parts, their points, and what each check or test says."""

from rich.console import Group
from rich.table import Table

from course_grader.cli.terminal_output import printable_text
from course_grader.learner import Mark, Verdict

__all__ = ["mark_table"]

STYLES = {Verdict.RIGHT: "green", Verdict.WRONG: "red", Verdict.UNWRITTEN: "yellow", Verdict.NOT_RUN: "yellow"}


def mark_table(mark: Mark) -> Group:
    """Make the table; what the notebook's code says is never read as markup, nor obeyed by the terminal."""
    table = Table(title=printable_text(mark.title), title_justify="left", title_style="bold")
    table.add_column("part", ratio=1, overflow="fold")
    if mark.max_points:
        table.add_column("points", no_wrap=True, justify="right")
    table.add_column("result", no_wrap=True)
    table.add_column("what it says", ratio=1, overflow="fold")
    for row in mark.rows:
        verdict = Verdict.of(row)
        points = [f"{row.points:g} / {row.max_points:g}" if row.max_points else ""] if mark.max_points else []
        result = printable_text(verdict.value, style=STYLES[verdict])
        table.add_row(printable_text(row.title or row.name), *points, result, printable_text(row.message))
    notes = [printable_text(f"note: {note}", style="yellow") for note in mark.notes]
    return Group(table, *notes, printable_text(mark.summary))
