"""Make the tables that commands print: a class's grades, submissions which are alike, what was collected."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from course_grader.cli.terminal_output import WIDTH, printable_text
from course_grader.grading.grade_class.similarity import Pair
from course_grader.grading.gradebook.attempts import ManualPoints
from course_grader.grading.gradebook.standing import GradeLine
from course_grader.grading.text import format_time, join_names

if TYPE_CHECKING:
    from course_grader.grading.collect import Collected

__all__ = ["collected_table", "grades_table", "manual_points_table", "similar_pairs_table"]

# A learner's name can be as long as a file's, and is folded before the message for them is.
NAME_WIDTH, SAID_WIDTHS, CELLS_WIDTH = 32, (12, 40), 20
OTHERS_WIDTH = 60  # what the other columns of grades need where names are short


def grades_table(
    grades: Sequence[GradeLine], *, names: str = "learner", width: int = WIDTH, details: str = "in details/"
) -> Group:
    """Make the table of grades: points, status and the first message of each submission.

    Text from learners is never read as markup, nor obeyed by the terminal.
    """
    grades = sorted(grades, key=lambda each: (each.learner, each.exercise))
    several = len({each.exercise for each in grades}) > 1
    least, enough = SAID_WIDTHS
    said_width = min(enough, max(least, width - OTHERS_WIDTH))
    table = Table(expand=True)
    table.add_column(names, overflow="fold", max_width=NAME_WIDTH)
    if several:
        table.add_column("exercise", overflow="fold")
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("what the learner is told first", ratio=1, width=said_width, overflow="fold")
    for each in grades:
        messages = each.messages
        said = [*messages[:1], *([f"(and {len(messages) - 1} more)"] if len(messages) > 1 else [])]
        cells = [each.learner, *([each.exercise] if several else [])]
        cells += [f"{each.points:g} / {each.max_points:g}", each.status, " ".join(said)]
        table.add_row(*map(printable_text, cells))
    return Group(table, *_notes(grades, details))


def _notes(grades: Sequence[GradeLine], details: str) -> list[Text]:
    """Return the notes below the table: no sandbox, or a fault of the grader."""
    lines = []
    if any(each.sandbox == "none" for each in grades):
        lines.append(
            Text("graded without a sandbox: this code could read and change anything you can", style="bold red")
        )
    if errors := [each.learner for each in grades if each.status == "error"]:
        lines.append(
            printable_text(
                f"not the learners' fault, look at `detail` {details}: {', '.join(errors)}", style="bold red"
            )
        )
    return lines


def similar_pairs_table(pairs: Sequence[Pair]) -> Group:
    """Make the table of pairs of submissions that are alike."""
    several = len({pair.exercise for pair in pairs}) > 1
    table = Table(title="alike, for you to look at: no points depend on it", title_justify="left", expand=True)
    for name in ("learner", "and", *(["exercise"] if several else [])):
        table.add_column(name, overflow="fold", max_width=NAME_WIDTH)
    table.add_column("alike", justify="right", no_wrap=True)
    table.add_column("most in these answers", ratio=1, width=CELLS_WIDTH, overflow="fold")
    for pair in pairs:
        cells = [pair.first, pair.second, *([pair.exercise] if several else [])]
        table.add_row(*map(printable_text, [*cells, f"{pair.alike:.0%}", ", ".join(pair.cells)]))
    return Group(table)


def collected_table(lines: "Sequence[Collected]") -> Group:
    """Make the table of what was collected, and the line that counts it."""
    table = Table(expand=True)
    table.add_column("learner", overflow="fold", max_width=NAME_WIDTH)
    table.add_column("result", no_wrap=True)
    table.add_column("handed in", ratio=1, overflow="fold")
    for line in lines:
        said = "; ".join(filter(None, [join_names(line.files) if line.files else "", line.note]))
        table.add_row(*map(printable_text, [line.learner, line.result, said]))
    counts = Counter(line.result for line in lines)
    return Group(table, Text(", ".join(f"{count} {result}" for result, count in counts.items())))


def manual_points_table(given: Sequence[ManualPoints]) -> Table:
    """Make the table of points given by hand, in the order they were given."""
    table = Table(expand=True)
    for name in ("learner", "exercise"):
        table.add_column(name, overflow="fold", max_width=NAME_WIDTH)
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("given", no_wrap=True)
    table.add_column("why", ratio=1, overflow="fold")
    for each in given:
        cells = [each.learner, each.exercise, f"{each.points:+g}", format_time(each.given_at), each.why]
        table.add_row(*map(printable_text, cells))
    return table
