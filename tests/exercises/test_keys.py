"""Every exercise: the reference gets all points, the untouched notebook none, each known mistake its own message."""

import json
from pathlib import Path

import nbformat
import pytest

from course_lib.grading.exercise import find
from course_lib.grading.reading import Reading
from course_lib.grading.submission import grade_submission
from course_lib.grading.wrong import read_wrong, wrong_answers
from course_lib.notebooks import read_text

EXERCISES = Path(__file__).parents[2] / "exercises"
SLUGS = sorted(path.parents[1].name for path in EXERCISES.glob("*/key/source.md"))
WRONG = sorted(EXERCISES.glob("*/key/wrong/*.py"))


@pytest.fixture
def grade(tmp_path):
    """Return a function that grades a notebook as the exercise it belongs to."""

    def run(notebook, exercise):
        nbformat.write(notebook, path := tmp_path / f"{exercise.slug}.ipynb")
        return grade_submission(path, learner="ada", exercise=exercise)

    return run


@pytest.mark.parametrize("slug", SLUGS)
def test_the_reference_passes_everything(grade, slug):
    """All points, no message, every visible check passed: each prints exactly its ``:expect:``."""
    exercise = find(slug, exercises=EXERCISES)
    report = grade(exercise.reference(), exercise)
    assert (report.status, report.messages) == ("graded", ())
    assert report.points == report.max_points > 0
    assert [row for row in report.rows if row.status != "passed"] == []


@pytest.mark.parametrize("slug", SLUGS)
def test_the_reference_passes_whoever_hands_it_in(tmp_path, slug):
    """Inputs are drawn by the learner's name: no draw takes what is right for a mistake."""
    exercise = find(slug, exercises=EXERCISES)
    nbformat.write(exercise.reference(), path := tmp_path / f"{slug}.ipynb")
    reports = {name: grade_submission(path, learner=name, exercise=exercise) for name in map(str, range(8))}
    assert {name: report.messages for name, report in reports.items() if report.messages} == {}


@pytest.mark.parametrize("slug", SLUGS)
def test_the_untouched_notebook_earns_nothing(grade, slug):
    """No points, and each message says what is not written yet."""
    exercise = find(slug, exercises=EXERCISES)
    report = grade(exercise.pristine(), exercise)
    assert (report.status, report.points) == ("graded", 0)
    assert all(message.endswith("is not written yet") for message in report.messages)
    assert {row.status for row in report.rows if row.kind in ("check", "test")} == {"failed"}


@pytest.mark.parametrize("path", WRONG, ids=lambda path: f"{path.parents[2].name}-{path.stem}")
def test_each_mistake_is_named_and_costs_what_it_should(grade, path):
    """The message promised by the file comes, and its exact points remain."""
    exercise = find(path.parents[2].name, exercises=EXERCISES)
    wrong = read_wrong(path)
    assert wrong.answers.keys() <= {cell.id for cell in exercise.pristine().cells}
    report = grade(wrong.notebook(exercise), exercise)
    assert report.status == "graded"
    assert report.points == wrong.points < report.max_points
    assert any(wrong.expects in message for message in report.messages), report.messages


@pytest.mark.parametrize("slug", SLUGS)
def test_a_check_needs_no_other_check(slug):
    """A learner may run it alone, or after another that stopped midway: what it uses is given, answered or its own."""
    reference = find(slug, exercises=EXERCISES).reference()
    kinds = {cell.id: cell.metadata.course.kind for cell in reference.cells if cell.cell_type == "code"}
    cells = {cell.id: Reading.of(cell.source) for cell in reference.cells if cell.id in kinds}
    there = {name for cell, read in cells.items() if kinds[cell] != "check" for name in read.bound}
    checks = {cell: read for cell, read in cells.items() if kinds[cell] == "check"}
    for cell, read in checks.items():
        others = {name for other in checks if other != cell for name in checks[other].bound}
        assert (cell, read.free & others - there) == (cell, set())


@pytest.mark.parametrize("slug", SLUGS)
def test_each_mistake_has_a_message_of_its_own(slug):
    """There are at least eight, and none is told apart only by its points."""
    wrong = wrong_answers(find(slug, exercises=EXERCISES))
    assert len(wrong) >= 8
    assert len({answer.expects for answer in wrong}) == len(wrong)


@pytest.mark.parametrize("slug", SLUGS)
def test_the_learners_notebook_holds_no_solution(slug):
    """The committed notebook has the stubs, and not one line that only the solutions have."""
    text = (EXERCISES / slug / f"{slug}.ipynb").read_text(encoding="utf-8")
    source = read_text(EXERCISES / slug / "key" / "source.md")
    given = "\n".join(c.source for c in source.cells if "solution" not in c.metadata.get("tags", []))
    for cell in source.cells:
        if "solution" in cell.metadata.get("tags", []):
            secret = [line for line in cell.source.splitlines() if len(line.strip()) > 12 and line not in given]
            assert secret
            assert not [line for line in secret if json.dumps(line)[1:-1] in text]
