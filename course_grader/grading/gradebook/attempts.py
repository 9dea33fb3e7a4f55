"""Attempts and points given by hand, as a gradebook holds them."""

from dataclasses import dataclass
from datetime import datetime

import course_lib
from course_grader.grading.grade_one.report import SubmissionReport

__all__ = ["Attempt", "AttemptHeader", "ManualPoints"]


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
class AttemptHeader:
    """What an attempt is known by, without its report.

    ``submitted_at`` and ``last_submitted_at`` are what was recorded, whatever a table of times said.
    ``notebook_kept`` tells whether it can be graded again without the file: gradebooks from before notebooks were kept
    have only its hash.
    """

    learner: str
    notebook_hash: str
    key_hash: str
    submitted_at: datetime
    last_submitted_at: datetime
    notebook_kept: bool


@dataclass(frozen=True)
class ManualPoints:
    """Points an instructor gave or took by hand, and why; they stay whatever is graded again."""

    learner: str
    exercise: str
    points: float
    why: str
    given_at: datetime
