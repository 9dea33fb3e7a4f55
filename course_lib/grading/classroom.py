"""Find the submissions of a class in a folder, and grade them one by one or several at a time.

What runs notebooks and tests is loaded by the functions that do: where other processes grade, this one is spared it.
"""

import contextlib
import functools
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from course_lib.errors import InputError
from course_lib.grading.exercise import Exercise, find
from course_lib.grading.foreman import Foreman
from course_lib.grading.report import SubmissionReport
from course_lib.grading.sandbox import BUBBLEWRAP
from course_lib.grading.warm import Zygote, zygotes
from course_lib.grading.words import one_line
from course_lib.grading.workers import Died, in_processes, serve

__all__ = ["Task", "find_submissions", "grade_class", "grade_each"]

T = TypeVar("T")
R = TypeVar("R")
DIED = "the grader's own process died; grade this one again with -j 1"


@dataclass(frozen=True)
class Task:
    """One submission to grade; without a ``path`` there is none, and ``message`` says what was found instead."""

    learner: str
    exercise: Exercise | None
    path: Path | None
    message: str = ""


def find_submissions(folder: Path, *, exercises: Path, slug: str | None = None, key: Path | None = None) -> list[Task]:
    """List the submissions in a folder: ``<learner>/<exercise>.ipynb``, or ``<learner>.ipynb`` of one exercise.

    Parameters
    ----------
    folder : Path
        The class's submissions. Names that start with a dot are passed over.
    exercises : Path
        The folder of exercises.
    slug : str, optional
        Grade this exercise alone; needed for flat folders, where the file is called after the learner.
    key : Path, optional
        Where private keys lie, as for :func:`course_lib.grading.exercise.find`.

    Raises
    ------
    InputError
        If the folder is not one, is empty, or does not say which exercise is meant.
    """
    if not folder.is_dir():
        came = "a file" if folder.is_file() else "nothing"
        raise InputError(f"expected a folder of submissions at {folder}, found {came}; give the folder that holds them")
    only = None if slug is None else find(slug, exercises=exercises, key=key)
    if not exercises.is_dir() and key is None:
        raise InputError(
            f"expected the folder of exercises at {exercises}, found none; say where it is with --exercises"
        )
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    tasks = [task for entry in entries for task in _tasks_of(entry, exercises=exercises, only=only, key=key)]
    if not any(task.exercise for task in tasks):
        raise InputError(
            f"expected <learner>/<exercise>.ipynb in {folder}, found no such notebook; check the folder, "
            "or name the exercise of a flat folder with --exercise"
        )
    return tasks


def _tasks_of(entry: Path, *, exercises: Path, only: Exercise | None, key: Path | None) -> Iterator[Task]:
    if entry.suffix == ".ipynb":
        if only is None:
            raise InputError(
                f"expected a folder for each learner, found the notebook {entry.name}; "
                "say with --exercise which exercise these notebooks are"
            )
        yield Task(learner=_name(entry.stem), exercise=only, path=entry)
    elif entry.is_symlink():
        message = "expected a folder with a notebook, found a link; hand in the folder itself"
        yield Task(learner=_name(entry.name), exercise=only, path=None, message=message)
    elif entry.is_dir():
        yield from _tasks_in(entry, exercises=exercises, only=only, key=key)


def _tasks_in(folder: Path, *, exercises: Path, only: Exercise | None, key: Path | None) -> Iterator[Task]:
    """Yield a task for each notebook of a known exercise in one learner's folder, or one that says there is none."""
    learner, found = _name(folder.name), False
    names = sorted(path.stem for path in folder.glob("*.ipynb") if not path.name.startswith("."))
    for name in names:
        exercise = only if only is not None and only.slug == name else None
        if only is None:
            exercise = _known(name, exercises=exercises, key=key)
        if exercise is not None:
            found = True
            yield Task(learner=learner, exercise=exercise, path=folder / f"{name}.ipynb")
    if not found:
        wanted = f"{only.slug}.ipynb" if only else "a notebook called after its exercise"
        came = _name(f"{names[0]}.ipynb") if names else "no notebook"
        yield Task(learner, only, None, f"expected {wanted}, found {came}; hand in the notebook under its own name")


def _known(slug: str, *, exercises: Path, key: Path | None) -> Exercise | None:
    folders = [exercises / slug / "key", *([key, key / slug] if key else [])]
    return find(slug, exercises=exercises, key=key) if any((f / "source.md").is_file() for f in folders) else None


def _name(name: str) -> str:
    """Return a file's name as text that can be printed and stored, whatever bytes it is made of."""
    return one_line(name.encode("utf-8", "backslashreplace").decode("utf-8"))


def grade_class(
    tasks: list[Task], *, jobs: int | None = None, sandbox: str = BUBBLEWRAP, warm: bool = True
) -> Iterator[SubmissionReport]:
    """Grade submissions and yield each report as it is ready; the parameters are those of :func:`grade_each`."""
    yield from (report for _, report in grade_each(tasks, jobs=jobs, sandbox=sandbox, warm=warm))


def grade_each(
    tasks: list[Task], *, jobs: int | None = None, sandbox: str = BUBBLEWRAP, warm: bool = True
) -> Iterator[tuple[Task, SubmissionReport]]:
    """Grade submissions and yield each task with its report as it is ready.

    Parameters
    ----------
    tasks : list of Task
        From :func:`find_submissions`.
    jobs : int, optional
        How many to grade at the same time; one for each processor by default. With one, no process is started.
    sandbox : {"bubblewrap", "none"}
        Where learners' code runs.
    warm : bool
        Whether kernels in a sandbox are forked from a process that has imported what the exercise needs. The grades
        are the same either way.

    Raises
    ------
    InputError
        If the hidden tests of an exercise cannot be used; then nobody is graded.
    """
    present = [task for task in tasks if task.path is not None]
    jobs = min(jobs or len(os.sched_getaffinity(0)), len(present))
    alone = jobs <= 1 or sys.platform != "linux"  # elsewhere there is no sandbox and no descriptor of a process
    with (
        contextlib.nullcontext() if alone else Foreman(serve) as foreman,
        zygotes(_shared_imports(present) if warm and sandbox == BUBBLEWRAP else []) as ready,
    ):
        # A broken key ends the run here, before anyone is graded by it.
        worth = _worths({task.exercise for task in tasks if task.exercise}, foreman)
        yield from ((task, _ungraded(task, worth, "missing", task.message)) for task in tasks if task.path is None)
        grade = functools.partial(_grade, sandbox=sandbox, ready=ready)
        for task, came in _each(grade, present, jobs=jobs, foreman=foreman):
            yield task, _ungraded(task, worth, "error", DIED) if isinstance(came, Died) else came


def _each(
    work: Callable[[T], R], tasks: Sequence[T], *, jobs: int, foreman: Foreman | None
) -> Iterator[tuple[T, R | Died]]:
    """Yield each task with what came of it: from processes of the foreman's, or from this one if there is none."""
    if foreman is not None:
        yield from in_processes(work, tasks, jobs=jobs, foreman=foreman)
    else:
        yield from ((task, work(task)) for task in tasks)


def _shared_imports(tasks: list[Task]) -> list[tuple[str, ...]]:
    """Return what more than one submission imports: for a single one, a kernel from scratch is no slower."""
    counts = Counter(task.exercise.imports for task in tasks if task.exercise)
    return [imports for imports, count in counts.items() if count > 1]


def _grade(task: Task, *, sandbox: str, ready: dict[tuple[str, ...], Zygote]) -> SubmissionReport:
    from course_lib.grading.submission import grade_submission

    assert task.path is not None  # grade_each sorts these out
    assert task.exercise is not None
    zygote = ready.get(task.exercise.imports)
    return grade_submission(task.path, learner=task.learner, exercise=task.exercise, sandbox=sandbox, zygote=zygote)


def _worth(exercise: Exercise) -> float:
    from course_lib.grading.submission import hidden_tests

    return sum(row.max_points for row in hidden_tests(exercise))


def _worths(exercises: set[Exercise], foreman: Foreman | None) -> dict[str, float]:
    """Return what each exercise is worth by its name.

    Raises
    ------
    InputError
        If the hidden tests of one cannot be used.
    """
    found = {}
    for exercise, worth in _each(_worth, sorted(exercises, key=lambda one: one.slug), jobs=1, foreman=foreman):
        if isinstance(worth, Died):
            raise InputError(f"{exercise.tests} cannot be used: they end the process; run them through pytest")
        found[exercise.slug] = worth
    return found


def _ungraded(task: Task, worths: dict[str, float], status: str, message: str) -> SubmissionReport:
    slug = task.exercise.slug if task.exercise else ""
    return SubmissionReport(task.learner, slug, status, 0, worths.get(slug, 0), (message,))
