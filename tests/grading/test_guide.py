"""The instructors' guide says what the code does."""

from pathlib import Path

from course_grader.grading.exercises.exercise import TOTAL_FACTOR
from course_grader.grading.exercises.name_analysis import MAX_CHARS
from course_grader.grading.exercises.submitted_notebook import MAX_BYTES
from course_grader.grading.exercises.ungraded_cells import MAX_OWN_CHARS
from course_grader.grading.sandbox.limits import Limits

GUIDE = Path(__file__).parents[2] / "docs" / "grading.md"


def test_the_guide_gives_the_limits_that_hold():
    """Each number of its table is the one in the code."""
    limits, text = Limits(), GUIDE.read_text(encoding="utf-8")
    for line in (
        f"| time for each cell and each call | {limits.cell_seconds:g} s, or",
        f"| time for all of it | {TOTAL_FACTOR} times that |",
        f"| memory | {limits.memory_bytes >> 30} GiB, or",
        f"| processes | {limits.processes} |",
        f"| each file | {limits.file_bytes >> 20} MiB |",
        f"may write to | {limits.home_bytes >> 20} MiB",
        f"| output | {limits.output_chars:,} characters |",
        f"| the notebook handed in | {MAX_BYTES >> 20} MiB |",
        f"| each answer | {MAX_CHARS:,} characters;",
        f"| {MAX_CHARS:,} characters each, {MAX_OWN_CHARS:,} together |",
    ):
        assert line in text, line
