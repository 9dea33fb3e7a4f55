"""What tests of the command share."""

import nbformat
import pytest

from course_grader.cli import main
from course_grader.grading.exercises.exercise import load_exercise
from tests.grading.conftest import SOURCE, TESTS


@pytest.fixture
def course(capsys):
    """Return a function that runs ``course`` and gives its exit status, standard output and standard error."""

    def run(*arguments):
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return caught.value.code or 0, said.out, said.err

    return run


@pytest.fixture
def classroom(tmp_path, monkeypatch):
    """A working directory with the tiny exercise and five submissions; two are wrong."""
    monkeypatch.chdir(tmp_path)
    (key := tmp_path / "exercises" / "double" / "key").mkdir(parents=True)
    (key / "source.md").write_text(SOURCE, encoding="utf-8")
    (key / "test_hidden.py").write_text(TESTS, encoding="utf-8")
    exercise = load_exercise(key)
    for learner in ("ada", "bob", "cem", "dan", "eva"):
        (folder := tmp_path / "submissions" / learner).mkdir(parents=True)
        notebook = exercise.reference() if learner not in ("bob", "dan") else exercise.pristine()
        notebook.metadata.title = learner  # bytes of its own
        nbformat.write(notebook, folder / "double.ipynb")
    return tmp_path
