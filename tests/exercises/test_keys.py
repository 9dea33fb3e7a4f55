"""Every exercise: the reference gets all points, the untouched notebook none, each known mistake its own message."""

import ast
import json
import re
import time
from pathlib import Path

import nbformat
import pytest

from course_grader.grading.exercises.answers import answers_of, insert_answers
from course_grader.grading.exercises.exercise import find_exercise
from course_grader.grading.exercises.name_analysis import CellNames
from course_grader.grading.exercises.wrong_answers import read_wrong_answer, read_wrong_answers
from course_grader.learner.explain import explain_check
from course_grader.notebooks import read_text
from course_grader.notebooks.exercise_notebooks import learner_notebook, reference_notebook

EXERCISES = Path(__file__).parents[2] / "exercises"
SLUGS = sorted(path.parents[1].name for path in EXERCISES.glob("*/key/source.md"))
LEARNERS = [("ada", "0"), pytest.param(tuple(map(str, range(1, 7))), marks=pytest.mark.more)]
# One after the other, so that each function gives back all of them in turn.
ODD = """
import numpy as np
from itertools import count
_odd = [None, [], {}, "passed", 10**400, float("nan"), np.complex128(1j), [[1.0], [2.0, "x"]], np.array(["x"])]
_odd += [np.zeros((0, 3)), np.full((2, 2), 1j), (None, None), ("a", {0: [None]}), dict.fromkeys(["w1", "loss", "x"])]
_turn = count()
"""
FUNCTION = "def {0}(*args, **kwargs):\n    return {1}\n"


def pytest_generate_tests(metafunc):
    """Give each exercise its known-wrong answers, one test an answer; what is run twice, is run here for some alone."""
    if metafunc.cls and (found := {"wrong", "explained"} & set(metafunc.fixturenames)):
        paths = sorted((EXERCISES / metafunc.cls.slug / "key" / "wrong").glob("*.py"))
        more = [() if "wrong" in found or i % 10 == 0 else pytest.mark.more for i in range(len(paths))]
        params = [pytest.param(path, id=path.stem, marks=marks) for path, marks in zip(paths, more, strict=True)]
        metafunc.parametrize(found.pop(), params)


def returning(value, exercise):
    """Return answers whose every function returns this."""
    parts = {}
    for name, source in answers_of(exercise.reference()).items():
        functions = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
        parts[name] = ODD + "".join(FUNCTION.format(function, value) for function in functions)
    return parts


class Key:
    """What must hold for an exercise's key."""

    slug: str

    @pytest.fixture
    def exercise(self):
        """The exercise."""
        return find_exercise(self.slug, exercises=EXERCISES)

    @pytest.mark.parametrize("learners", LEARNERS, ids=["two", "six more"])
    def test_the_reference_passes_everything_whoever_hands_it_in(self, grade_notebook, exercise, learners):
        """All points, no message, every visible check passed: inputs are drawn by the learner's name."""
        for learner in learners:
            report = grade_notebook(exercise.reference(), exercise, learner=learner)
            assert (report.status, report.messages) == ("graded", ())
            assert report.points == report.max_points > 0
            assert [row for row in report.rows if row.status != "passed"] == []

    def test_the_untouched_notebook_earns_nothing(self, grade_notebook, exercise):
        """No points, and each message says what is not written yet."""
        report = grade_notebook(exercise.pristine(), exercise)
        assert (report.status, report.points) == ("graded", 0)
        assert all(message.endswith("is not written yet") for message in report.messages)
        assert {row.status for row in report.rows if row.kind in ("check", "test")} == {"failed"}

    def test_each_mistake_is_named_and_costs_what_it_should(self, grade_notebook, exercise, wrong):
        """The message promised by the file comes, and its exact points remain."""
        wrong = read_wrong_answer(wrong)
        assert wrong.answers.keys() <= {cell.id for cell in exercise.pristine().cells}
        report = grade_notebook(wrong.notebook(exercise), exercise)
        assert report.status == "graded"
        assert report.points == wrong.points < report.max_points
        assert any(wrong.expects in message for message in report.messages), report.messages

    def test_the_check_of_its_part_names_each_mistake(self, exercise, explained):
        """In the learner's notebook, below that check, and no part that is right."""
        wrong = read_wrong_answer(explained)
        code = [cell for cell in wrong.notebook(exercise).cells if cell.cell_type == "code"]
        ran = [cell.source for cell in code if cell.metadata.course.kind in ("given", "answer")]
        checks = [cell.source for cell in code if cell.id in {f"check_{part}" for part in wrong.answers}]
        said = [explain_check(exercise.slug, check, ran, failed=True) for check in checks]
        assert {part for told in said if told for part in re.findall(r"`(\w+)`", told.title)} <= wrong.answers.keys()
        assert any(wrong.expects in repr(told) for told in said), said

    @pytest.mark.parametrize("value", ["None", "_odd[next(_turn) % len(_odd)]"], ids=["None", "odd"])
    def test_functions_that_return_odd_values_are_graded(self, grade_notebook, exercise, value):
        """The report blames nobody but them, in words, and most points are not theirs."""
        report = grade_notebook(insert_answers(exercise.reference(), returning(value, exercise)), exercise)
        assert report.status == "graded", [row.detail[-300:] for row in report.rows if row.status == "error"]
        assert report.points <= 0.2 * report.max_points
        assert all(row.message for row in report.rows if row.status == "failed")

    def test_a_check_needs_no_other_check(self, exercise):
        """A learner may run it alone, or after one that stopped midway: what it uses is given, answered or its own."""
        reference = exercise.reference()
        kinds = {cell.id: cell.metadata.course.kind for cell in reference.cells if cell.cell_type == "code"}
        cells = {cell.id: CellNames.of(cell.source) for cell in reference.cells if cell.id in kinds}
        there = {name for cell, read in cells.items() if kinds[cell] != "check" for name in read.bound}
        checks = {cell: read for cell, read in cells.items() if kinds[cell] == "check"}
        for cell, read in checks.items():
            others = {name for other in checks if other != cell for name in checks[other].bound}
            assert (cell, read.free & others - there) == (cell, set())

    def test_each_mistake_has_a_message_of_its_own(self, exercise):
        """There are at least eight, and none is told apart only by its points."""
        wrong = read_wrong_answers(exercise)
        assert len(wrong) >= 8
        assert len({answer.expects for answer in wrong}) == len(wrong)

    def test_solutions_stand_in_their_folds_alone(self):
        """The committed notebook has the stubs; a line that only the solutions have is behind a fold that is closed."""
        notebook = nbformat.read(EXERCISES / self.slug / f"{self.slug}.ipynb", as_version=4)
        folds = [cell.source for cell in notebook.cells if cell.id.endswith("-help")]
        said = "or run `course notebooks --publish-solutions` for solutions that all may see"
        assert len(folds) == sum("Worked solution" in fold for fold in folds) == len(answers_of(notebook)), said
        assert not [fold for fold in folds if "<details open" in fold]
        notebook.cells = [cell for cell in notebook.cells if not cell.id.endswith("-help")]
        text = nbformat.writes(notebook)
        source = read_text(EXERCISES / self.slug / "key" / "source.md")
        given = "\n".join(c.source for c in source.cells if "solution" not in c.metadata.get("tags", []))
        for cell in source.cells:
            if "solution" in cell.metadata.get("tags", []):
                secret = [line for line in cell.source.splitlines() if len(line.strip()) > 12 and line not in given]
                assert secret
                assert not [line for line in secret if json.dumps(line)[1:-1] in text]

    def test_each_part_has_help_and_says_what_it_takes(self):
        """Two or three hints a part; and points, minutes and difficulty at the top, ten points in all."""
        notebook = nbformat.read(EXERCISES / self.slug / f"{self.slug}.ipynb", as_version=4)
        hints = [cell.source.count("<b>Hint ") for cell in notebook.cells if cell.id.endswith("-help")]
        assert set(hints) <= {2, 3}
        assert "| all | 10 |" in notebook.cells[0].source
        assert all(f"- **{name}**: " in notebook.cells[0].source for name in ("Needs", "Rests on", "At the end"))

    def test_rows_of_a_report_are_told_apart_by_their_titles(self):
        """A learner who lost one of two rows must see which; the title is the first line of a test's docstring."""
        tree = ast.parse((EXERCISES / self.slug / "key" / "test_hidden.py").read_text(encoding="utf-8"))
        tests = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
        titles = [ast.get_docstring(test).partition("\n")[0] for test in tests]
        assert sorted(set(titles)) == sorted(titles) != []

    def test_the_last_cell_uses_what_was_written(self, capsys):
        """On the reference answers it shows what they do, in seconds; on the stubs it says what is missing."""
        source = read_text(EXERCISES / self.slug / "key" / "source.md")
        for make in (reference_notebook, learner_notebook):
            names, seconds = {"__name__": "__main__"}, time.process_time()
            for cell in make(source).cells:
                if cell.cell_type == "code" and cell.metadata.course.kind in ("given", "answer", "payoff"):
                    exec(compile(cell.source, cell.id, "exec"), names)
            said = capsys.readouterr().out
            if make is learner_notebook:
                assert "is not written yet. This cell uses every answer above" in said.splitlines()[-1]
            else:
                assert "Not yet" not in said
                assert len(said.splitlines()) >= 3
                assert time.process_time() - seconds < 20


# A class for each exercise: pytest-xdist gives all of a class to one process, which then starts its graders once.
for slug in SLUGS:
    globals()[f"Test_{slug}"] = type(f"Test_{slug}", (Key,), {"slug": slug})
