"""The tiny exercise, as the installed course has it."""

import shutil

import nbformat
import pytest

from tests.grading.conftest import exercise, hand_in, make_exercise  # noqa: F401 - pytest finds them here


@pytest.fixture
def course_folder(exercise, tmp_path):  # noqa: F811 - the fixture
    """A folder of exercises: the notebook that is handed out, and its key."""
    folder = tmp_path / "course" / "double"
    shutil.copytree(exercise.key, folder / "key", ignore=shutil.ignore_patterns("__pycache__"))
    nbformat.write(exercise.pristine(), folder / "double.ipynb")
    return folder.parent
