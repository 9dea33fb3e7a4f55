"""``course check``: run the visible checks of a learner's notebook."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Group

    from course_grader.grading.grade_one.self_check import SelfCheck

__all__ = ["check"]


def check(notebook: Annotated[Path, typer.Argument(help="The exercise notebook you work in.")]) -> None:
    """Run the visible checks of your exercise notebook and say what each found.

    Exit status 0 when all pass, 1 when not, 2 when the file is not an exercise notebook. The notebook is not changed.
    """
    from course_lib.extras import load

    load("nbval", extra="grade")
    from course_grader.cli.terminal_output import make_console
    from course_grader.grading.grade_one.self_check import check_notebook

    result = check_notebook(notebook)
    make_console().print(_table(result))
    raise typer.Exit(0 if result.passed else 1)


def _table(result: "SelfCheck") -> "Group":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from course_grader.cli.terminal_output import printable_text

    table = Table(title=printable_text(result.title), title_justify="left", title_style="bold")
    table.add_column("check", no_wrap=True)
    table.add_column("result", no_wrap=True)
    table.add_column("what it says", ratio=1)
    for row in result.rows:
        style = "green" if row.status == "passed" else "red"
        table.add_row(printable_text(row.name), printable_text(row.status, style=style), printable_text(row.message))
    checks = [row for row in result.rows if row.kind == "check"]
    passed = sum(row.status == "passed" for row in checks)
    lines = [printable_text(f"note: {warning}", style="yellow") for warning in result.warnings]
    lines.append(Text(f"{passed} of {len(checks)} checks passed. Points come from further tests, with other numbers."))
    return Group(table, *lines)
