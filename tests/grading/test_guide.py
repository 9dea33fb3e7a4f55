"""The instructors' guide says what the code does."""

import re
from datetime import timedelta
from pathlib import Path

from course_grader.grading.exercises.exercise import TOTAL_FACTOR
from course_grader.grading.exercises.name_analysis import MAX_CHARS
from course_grader.grading.exercises.submitted_notebook import MAX_BYTES
from course_grader.grading.exercises.ungraded_cells import MAX_OWN_CHARS
from course_grader.grading.grade_class.roster import USERNAMES
from course_grader.grading.gradebook import read_policies
from course_grader.grading.gradebook.course_toml import EXTENSION_READERS, READERS
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


def test_the_guides_rules_are_read_and_complete(tmp_path):
    """Its example has every key there is, and each means what is written beside it."""
    text = GUIDE.read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    (path := tmp_path / "course.toml").write_text(example, encoding="utf-8")
    (tmp_path / "roster.csv").write_text("username\nada\n")
    assert all(re.search(rf"^{key} = ", example, flags=re.MULTILINE) for key in READERS | EXTENSION_READERS)
    policies, slug = read_policies(path), "two_layer_gradients"
    shared, ada, bob = (policies.of(slug, learner) for learner in ("", "ada", "bob@uni.example"))
    assert (shared.late_percent, shared.max_attempts, shared.pause) == ((10, 25, 100), 5, timedelta(hours=1))
    assert (ada.due - shared.due, bob.due - shared.due, bob.max_attempts) == (timedelta(7), timedelta(7), 6)
    named = text[text.index("says what the learner's folder is called") :].casefold().replace("_", " ")
    assert all(f"`{name}`" in named for name in USERNAMES)
