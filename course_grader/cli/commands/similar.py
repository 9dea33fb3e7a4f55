"""``course similar``: list pairs of submissions whose answers are alike, for a human to look at."""

from pathlib import Path
from typing import Annotated

import typer

from course_grader.cli.options import Exercises, Key, Submissions

__all__ = ["similar"]


def similar(
    submissions: Submissions,
    *,
    exercise: Annotated[str | None, typer.Option(help="Look at this exercise only.")] = None,
    exercises: Exercises = Path("exercises"),
    key: Key = None,
    at_least: Annotated[
        float, typer.Option(min=0.05, max=1, help="List pairs with at least this share of equal code.")
    ] = 0.6,
) -> None:
    """List pairs of submissions whose answers are alike once names, numbers, strings and comments are set aside.

    What is also in the notebook as handed out, the reference answer or half the class is not counted. The list is for
    you to look at; nothing is graded and nothing is written.
    """
    from course_lib.extras import load

    load("nbformat", extra="grade")
    from course_grader.cli.result_tables import similar_pairs_table
    from course_grader.cli.terminal_output import make_console
    from course_grader.grading.grade_class.find_submissions import find_submissions
    from course_grader.grading.grade_class.similarity import find_similar

    tasks = find_submissions(submissions, exercises=exercises, slug=exercise, key=key)
    pairs, console = find_similar(tasks, at_least=at_least), make_console()
    if pairs:
        console.print(similar_pairs_table(pairs))
    present = sum(task.path is not None for task in tasks)
    many = "pair" if len(pairs) == 1 else "pairs"
    console.print(f"{present} submissions, {len(pairs)} {many} at least {at_least:.0%} alike", markup=False)
