"""Find what a notebook is marked by: the exercise as it was handed out, and its hidden tests, where they are public."""

from dataclasses import dataclass
from pathlib import Path

import course_grader
from course_grader.grading.exercises.submitted_notebook import Submission, course_metadata, parse_submission
from course_lib.errors import NotebookError

__all__ = ["PUBLIC_EXERCISES", "PublicKey", "exercise_of", "find_key", "read_key"]

PACKAGE = Path(course_grader.__file__).resolve().parent
PUBLIC_EXERCISES = next(  # the wheel holds a copy of the checkout's exercises
    (place for place in (PACKAGE / "exercises", PACKAGE.parent / "exercises") if place.is_dir()), PACKAGE / "exercises"
)


@dataclass(frozen=True)
class PublicKey:
    """An exercise as it is handed out, and the text of its hidden tests."""

    handed_out: str
    tests: str

    def notebook(self) -> Submission:
        """Return the notebook that is handed out."""
        return parse_submission(self.handed_out.encode())


def exercise_of(submission: Submission) -> str:
    """Return the exercise that a notebook belongs to, by its metadata: its file may have any name.

    Raises
    ------
    NotebookError
        If it is not the notebook of an exercise.
    """
    said = course_metadata(submission.metadata).get("exercise")
    slug = said if isinstance(said, str) else min(submission.exercises, default="")
    if not slug:
        raise NotebookError("expected the notebook of an exercise, found another one; start from a fresh copy")
    return slug


def read_key(slug: str, exercises: Path = PUBLIC_EXERCISES) -> PublicKey | None:
    """Return the public key of an exercise; None if there is none."""
    notebook, tests = exercises / slug / f"{slug}.ipynb", exercises / slug / "key" / "test_hidden.py"
    if not slug.isidentifier() or not (notebook.is_file() and tests.is_file()):
        return None
    return PublicKey(notebook.read_text(encoding="utf-8"), tests.read_text(encoding="utf-8"))


def find_key(submission: Submission, exercises: Path = PUBLIC_EXERCISES) -> tuple[PublicKey | None, str]:
    """Return the public key of a notebook's exercise; or None, and why there is none."""
    key = read_key(exercise_of(submission), exercises)
    if key is None:
        return None, "the hidden tests of this exercise are not public"
    if not _fingerprints(submission) <= _fingerprints(key.notebook()):
        return None, "this notebook was handed out with other checks than those of the course that is installed here"
    return key, ""


def _fingerprints(notebook: Submission) -> set[tuple[object, object]]:
    """Return the names of given cells and checks with the fingerprints that they were handed out with."""
    return {(cell.course.get("cell"), cell.course["digest"]) for cell in notebook.cells if "digest" in cell.course}
