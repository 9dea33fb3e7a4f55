"""Attempts and points given by hand, as a gradebook holds them; hashes that tell notebooks and keys apart."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import course_lib
from course_grader.grading.exercises.exercise import Exercise
from course_grader.grading.grade_one.report import SubmissionReport

__all__ = ["Attempt", "ManualPoints", "hash_key", "hash_notebook"]


@dataclass(frozen=True)
class Attempt:
    """One notebook that was handed in, with its report.

    A learner's attempts at an exercise are told apart by ``notebook_hash``: the same bytes handed in twice are one
    attempt. ``submitted_at`` is when these bytes first came, which decides lateness, and
    ``last_submitted_at`` when they last came, which decides "the last attempt"; where a table of times was given,
    both are what that said.
    """

    report: SubmissionReport
    notebook_hash: str
    key_hash: str
    submitted_at: datetime
    last_submitted_at: datetime
    graded_at: datetime
    grader_version: str = course_lib.__version__


@dataclass(frozen=True)
class ManualPoints:
    """Points an instructor gave or took by hand, and why; they stay whatever is graded again."""

    learner: str
    exercise: str
    points: float
    why: str
    given_at: datetime


def hash_notebook(raw: bytes) -> str:
    """Return the SHA-256 of a notebook file's bytes, in hexadecimal.

    Examples
    --------
    >>> hash_notebook(b"")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(raw).hexdigest()


def hash_key(exercise: Exercise) -> str:
    """Return a SHA-256 of all files of a key that can change a grade: its text, its tests, and files beside them."""
    whole = hashlib.sha256()
    for path in sorted(exercise.key.rglob("*")):
        inside = path.relative_to(exercise.key)
        if path.is_file() and _can_change_grade(inside):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            whole.update(f"{inside.as_posix()}\0{content}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def _can_change_grade(path: Path) -> bool:
    """Tell whether grading may read a file: not known-wrong answers, which test the key, nor hidden files."""
    return path.parts[0] != "wrong" and not any(part.startswith((".", "__pycache__")) for part in path.parts)
