"""Grade one submission on Gradescope: ``python -m course_grader.grading.packages.run_on_gradescope /autograder``.

Gradescope's container may forbid what a sandbox is made of. Then nothing is run, and the result says why; an autograder
that was packaged with ``--no-sandbox`` runs it all the same, and every result says that there was none.
"""

import json
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from course_grader.grading.exercises.exercise import load_exercise
from course_grader.grading.grade_class.choose_notebook import find_claims
from course_grader.grading.grade_one.grade_submission import grade_submission
from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.packages.gradescope_results import gradescope_results
from course_grader.grading.sandbox.bubblewrap import BUBBLEWRAP, NONE, require_sandbox
from course_grader.grading.text import one_line
from course_lib.errors import CourseError, InputError

__all__ = ["main"]

BROKEN = "grading failed, not your answer: tell your instructor"
REFUSED = (
    "not graded: this machine cannot run your code in a sandbox; tell your instructor: the documentation says "
    "what can be done"
)


def main(root: Path) -> None:
    """Grade the notebook in ``root/submission`` and write ``root/results/results.json``, whatever happens."""
    settings = json.loads((root / "source" / "settings.json").read_text(encoding="utf-8"))
    slug = str(settings["exercise"])
    try:
        report = _grade(root, slug, sandboxed=bool(settings["sandbox"]))
    except Exception as error:  # without a results.json the learner would be told nothing at all
        traceback.print_exc()  # for the instructor: Gradescope keeps it from learners
        report = SubmissionReport(
            "", slug, "error", 0, 0, (str(error) if isinstance(error, _LearnerMessage) else BROKEN,)
        )
    (folder := root / "results").mkdir(exist_ok=True)
    results = gradescope_results(report, visibility=str(settings["visibility"]))
    (part := folder / ".results.json").write_text(json.dumps(results, indent=2), encoding="utf-8")
    part.replace(folder / "results.json")


class _LearnerMessage(CourseError):  # noqa: N818 - the name of what it is
    """A failure with a message for the learner."""


def _grade(root: Path, slug: str, *, sandboxed: bool) -> SubmissionReport:
    exercise, sandbox = load_exercise((root / "source" / "key" / slug).resolve()), BUBBLEWRAP
    try:
        require_sandbox()
    except InputError as error:
        if sandboxed:
            raise _LearnerMessage(REFUSED) from error
        sandbox = NONE
    found, others = _find_notebook(root / "submission", slug)
    report = grade_submission(found, learner=_read_learner(root), exercise=exercise, sandbox=sandbox)
    if not others:
        return report
    passed_over = (
        f"{found.name} was graded, but not {_join_file_names(others)}; if another was meant, give it that name"
    )
    return replace(report, messages=(passed_over, *report.messages))


def _find_notebook(folder: Path, slug: str) -> tuple[Path, list[Path]]:
    """Find the notebook to grade, called after the exercise, the only one, or the only one that says so; and others."""
    files = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    notebooks = [path for path in files if path.name.strip().casefold().endswith(".ipynb")]
    named = [path for path in notebooks if path.name == f"{slug}.ipynb"]
    for found in (named, notebooks, find_claims(notebooks).get(slug, [])):
        if len(found) == 1:
            return found[0], [path for path in notebooks if path != found[0]]
    came = _join_file_names(notebooks) or "no notebook"
    raise _LearnerMessage(f"expected {slug}.ipynb, found {came}; hand in the notebook under its own name")


def _join_file_names(notebooks: Sequence[Path]) -> str:
    """Join the names of the first three."""
    return ", ".join(one_line(os.fsencode(path.name).decode("utf-8", "replace"), chars=80) for path in notebooks[:3])


def _read_learner(root: Path) -> str:
    """Return the ids of all learners of the submission, sorted: they seed the random inputs."""
    try:
        data = json.loads((root / "submission_metadata.json").read_text(encoding="utf-8"))
        return " ".join(sorted(str(user["id"]) for user in data["users"]))
    except (OSError, ValueError, KeyError, TypeError):
        return "learner"


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
