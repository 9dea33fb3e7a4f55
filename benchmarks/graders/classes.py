"""Lay out one exercise and a class of right submissions for each grader, and say which command grades it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from course_grader.grading.exercises.exercise import Exercise
from course_grader.grading.grade_one.grade_submission import hidden_tests

__all__ = ["nbgrader", "otter", "ours"]

ROOT = Path(__file__).parents[2]
OTTER_TEST = """
@test_case(name={name!r}, points={points})
def {name}(env):
    run({name!r}, {key!r}, env)
"""


def _learners(count: int) -> list[str]:
    return [f"learner{number:03}" for number in range(count)]


def ours(exercise: Exercise, folder: Path, count: int) -> list[list[str]]:
    """One folder per learner; one command, with the sandbox, the visible checks, the hidden tests and all reports."""
    for learner in _learners(count):
        (folder / "class" / learner).mkdir(parents=True)
        nbformat.write(exercise.reference(), folder / "class" / learner / f"{exercise.slug}.ipynb")
    command = [
        sys.executable,
        "-m",
        "course_grader.cli",
        "grade",
        str(folder / "class"),
        "--out",
        str(folder / "grades"),
        "--report",
        "json",
        "--report",
        "html",
    ]
    return [[*command, "--exercise", exercise.slug, "--exercises", str(exercise.key.parents[1])]]


def ours_points(folder: Path) -> list[float]:
    """Return the share of the points that each learner got."""
    document = json.loads((folder / "grades" / "grades.json").read_text(encoding="utf-8"))
    return [entry["points"] / entry["max_points"] for entry in document["submissions"]]


def _peers_notebook(exercise: Exercise) -> NotebookNode:
    """Return the reference notebook without what only our grader reads."""
    notebook = exercise.reference()
    for cell in notebook.cells:
        cell.metadata = NotebookNode()
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)
    notebook.metadata = NotebookNode(
        kernelspec={"name": "python3", "display_name": "Python 3", "language": "python"},
        language_info={"name": "python"},
    )
    return notebook


def nbgrader(exercise: Exercise, folder: Path, count: int, bin_folder: Path) -> list[list[str]]:
    """An assignment with a test cell for each hidden test; one command grades all of a class."""
    config = f"c = get_config()\nc.CourseDirectory.root = {str(folder)!r}\nc.ExecutePreprocessor.timeout = 300\n"
    (folder / "nbgrader_config.py").write_text(config, encoding="utf-8")
    answers = {cell.id for cell in exercise.pristine().cells if cell.metadata.get("course", {}).get("kind") == "answer"}
    notebook = _peers_notebook(exercise)
    for cell in notebook.cells:
        solution = cell.id in answers
        if cell.cell_type == "code":
            cell.metadata["nbgrader"] = _about(cell.id, solution=solution, locked=not solution)
    first = "from benchmarks.graders.in_process import run"
    notebook.cells.append(_test_cell("the_tests", first))
    for row in hidden_tests(exercise):
        text = f"run({row.name!r}, {str(exercise.key)!r}, globals())"
        notebook.cells.append(_test_cell(row.name, text, points=row.max_points))
    places = [folder / "source" / "ps"] + [folder / "submitted" / learner / "ps" for learner in _learners(count)]
    for place in places:
        place.mkdir(parents=True)
        nbformat.write(notebook, place / f"{exercise.slug}.ipynb")
    tool = str(bin_folder / "nbgrader")
    # It calls alembic by name.
    env = os.environ | {"PATH": f"{bin_folder}:{os.environ['PATH']}"}
    subprocess.run(
        [tool, "generate_assignment", "ps", "--create"], cwd=folder, env=env, check=True, capture_output=True
    )
    return [[tool, "autograde", "ps", "--create"]]


def _about(name: str, *, solution: bool = False, locked: bool = True, points: float | None = None) -> NotebookNode:
    about = NotebookNode(schema_version=3, grade_id=name, solution=solution, locked=locked, task=False)
    about.update({"grade": True, "points": points} if points else {"grade": False})
    return about


def _test_cell(name: str, text: str, *, points: float | None = None) -> NotebookNode:
    cell: Any = new_code_cell(text, id=f"test-{name.replace('_', '-')}"[:60])
    cell.metadata["nbgrader"] = _about(name, points=points)
    return cell  # type: ignore[no-any-return] # nbformat is untyped


def nbgrader_points(folder: Path) -> list[float]:
    """Return the share of the points that each learner got, from nbgrader's own gradebook."""
    import sqlite3

    with sqlite3.connect(folder / "gradebook.db") as book:
        worth = book.execute("select sum(max_score) from grade_cells").fetchone()[0]
        rows = book.execute("select notebook_id, sum(auto_score) from grade group by notebook_id").fetchall()
    return [got / worth for _, got in rows]


def otter(exercise: Exercise, folder: Path, count: int, bin_folder: Path) -> list[list[str]]:
    """An autograder with a case for each hidden test; its local run takes one submission per command."""
    (folder / "tests").mkdir()
    head = "from otter.test_files import test_case\nfrom benchmarks.graders.in_process import run\n"
    head += 'OK_FORMAT = False\nname = "all"\npoints = None\n'
    cases = [OTTER_TEST.format(name=t.name, points=t.max_points, key=str(exercise.key)) for t in hidden_tests(exercise)]
    (folder / "tests" / "all.py").write_text(head + "".join(cases), encoding="utf-8")
    tool = str(bin_folder / "otter")
    made = [tool, "generate", "-t", "tests", "-o", "autograder.zip", "--no-config", "--no-requirements"]
    subprocess.run([*made, "--no-environment"], cwd=folder, check=True, capture_output=True)
    commands = []
    for learner in _learners(count):
        (place := folder / learner).mkdir()
        nbformat.write(_peers_notebook(exercise), place / f"{exercise.slug}.ipynb")
        command = [tool, "run", f"{learner}/{exercise.slug}.ipynb", "-a", "autograder.zip", "-o", learner, "--no-logo"]
        commands.append(command)
    return commands


def otter_points(folder: Path) -> list[float]:
    """Return the share of the points that each learner got."""
    shares = []
    for path in sorted(folder.glob("learner*/results.json")):
        tests = [test for test in json.loads(path.read_text(encoding="utf-8"))["tests"] if test.get("max_score")]
        shares.append(sum(test["score"] for test in tests) / sum(test["max_score"] for test in tests))
    return shares
