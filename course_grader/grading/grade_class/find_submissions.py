"""Find the submissions of a class in a folder."""

import contextlib
import hashlib
import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from course_grader.grading.exercises.exercise import Exercise, find_exercise, load_exercise
from course_grader.grading.text import join_names, one_line
from course_lib.errors import InputError

__all__ = ["Task", "find_submissions", "strays"]

JUNK = (".", "__")  # how names begin that nobody hands in: .ipynb_checkpoints, __MACOSX
MOST_BESIDE = 20


@dataclass(frozen=True)
class Task:
    """One submission to grade; without a ``path`` there is none, and ``message`` says what was found instead.

    ``passed_over`` are the names of what lies beside it, or a folder deeper, and is not graded: notebooks that are
    not called after an exercise, and files of other kinds.
    """

    learner: str
    exercise: Exercise | None
    path: Path | None
    message: str = ""
    passed_over: tuple[str, ...] = ()


def find_submissions(folder: Path, *, exercises: Path, slug: str | None = None, key: Path | None = None) -> list[Task]:
    """List the submissions in a folder: ``<learner>/<exercise>.ipynb``, or ``<learner>.ipynb`` of one exercise.

    In a learner's folder the name alone tells what is to be graded: which of two that are alike is the newer, or the
    one that was meant, cannot be told from a file.

    Parameters
    ----------
    folder : Path
        The class's submissions. Names that start with a dot are passed over.
    exercises : Path
        The folder of exercises.
    slug : str, optional
        Grade this exercise alone; needed for flat folders, where the file is called after the learner.
    key : Path, optional
        Where private keys lie, as for :func:`course_grader.grading.exercises.exercise.find_exercise`.

    Raises
    ------
    InputError
        If the folder is not one, is empty, does not say which exercise is meant, or has two learners of the same name.
    """
    if not folder.is_dir():
        came = "a file" if folder.is_file() else "nothing"
        raise InputError(f"expected a folder of submissions at {folder}, found {came}; give the folder that holds them")
    only = None if slug is None else find_exercise(slug, exercises=exercises, key=key)
    if not exercises.is_dir() and key is None:
        raise InputError(
            f"expected the folder of exercises at {exercises}, found none; say where it is with --exercises"
        )
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    _check_names(entries)
    tasks = [task for entry in entries for task in _tasks_of(entry, exercises=exercises, only=only, key=key)]
    if not any(task.exercise for task in tasks):
        names = [name for task in tasks for name in task.passed_over] + list(strays(folder))
        came = f"no such notebook, only {join_names(names)}" if names else "no such notebook"
        raise InputError(
            f"expected <learner>/<exercise>.ipynb in {folder}, found {came}; check the folder, unpack and rename what "
            "is in it, or name the exercise of a flat folder with --exercise"
        )
    return tasks


def strays(folder: Path) -> tuple[str, ...]:
    """Return the names of files among the learners' folders that are not notebooks: packed ones, or other files."""
    return tuple(_clean(entry.name) for entry in _entries(folder) if _is_stray(entry))


def _is_stray(entry: Path) -> bool:
    return not (entry.suffix == ".ipynb" or entry.is_symlink() or entry.is_dir())


def _tasks_of(entry: Path, *, exercises: Path, only: Exercise | None, key: Path | None) -> Iterator[Task]:
    if entry.suffix == ".ipynb":
        if only is None:
            raise InputError(
                f"expected a folder for each learner, found the notebook {entry.name}; "
                "say with --exercise which exercise these notebooks are"
            )
        yield Task(learner=_name(_raw(entry)), exercise=only, path=entry)
    elif entry.is_symlink():
        message = "expected a folder with a notebook, found a link; hand in the folder itself"
        yield Task(learner=_name(_raw(entry)), exercise=only, path=None, message=message)
    elif entry.is_dir():
        yield from _tasks_in(entry, exercises=exercises, only=only, key=key)


def _tasks_in(folder: Path, *, exercises: Path, only: Exercise | None, key: Path | None) -> Iterator[Task]:
    """Yield a task for each notebook of a known exercise in one learner's folder, or one that says there is none."""
    learner = _name(_raw(folder))
    entries = _entries(folder)
    names = [entry.stem for entry in entries if entry.suffix == ".ipynb"]
    if only is None:
        known = {name: _known(name, exercises=exercises, key=key) for name in names}
    else:
        known = {name: only if name == only.slug else None for name in names}
    found = {name: exercise for name, exercise in known.items() if exercise is not None}
    known_elsewhere = {name for name in names if name not in found and (exercises / name).is_dir()}
    passed_over = tuple(_beside(entries, but={f"{name}.ipynb" for name in [*found, *known_elsewhere]}))
    for name, exercise in found.items():
        yield Task(learner, exercise, folder / f"{name}.ipynb", passed_over=passed_over)
    if not found:
        yield Task(learner, only, None, _missing(only, [*_beside(entries, but=())]), passed_over)


def _missing(only: Exercise | None, came: list[str]) -> str:
    """Say that there is no notebook to grade, what there is, and what to do about it."""
    wanted = f"{only.slug}.ipynb" if only else "a notebook called after its exercise"
    fix = "hand in the notebook under its own name"
    if not all(name.endswith(".ipynb") and "/" not in name for name in came):
        fix = "hand in the notebook itself, under its own name, not packed and not in another folder"
    return f"expected {wanted}, found {join_names(came) if came else 'no notebook'}; {fix}"


def _beside(entries: Iterable[Path], *, but: Collection[str]) -> list[str]:
    """Name what lies in a learner's folder, and what lies in its folders: someone may have meant to hand it in."""
    found: list[str] = []
    for entry in entries:
        if entry.name in but:
            continue
        inside = _inside(entry) if entry.suffix != ".ipynb" else []
        found += [f"{_clean(entry.name)}/{name}" for name in inside] or [_clean(entry.name)]
    return found[:MOST_BESIDE]


def _inside(entry: Path) -> list[str]:
    """Return the names in a folder; for anything else, none."""
    if entry.is_symlink() or not entry.is_dir():
        return []
    return [_clean(each.name) for each in _entries(entry)[:MOST_BESIDE]]


def _entries(folder: Path) -> list[Path]:
    """Return what lies in a folder, by name; for one that may not be read, nothing."""
    with contextlib.suppress(OSError):
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith(JUNK))
    return []


def _known(slug: str, *, exercises: Path, key: Path | None) -> Exercise | None:
    folders = [exercises / slug / "key", *([key / slug, key / slug / "key"] if key else [])]
    if any((folder / "source.md").is_file() for folder in folders):
        return find_exercise(slug, exercises=exercises, key=key)
    single = load_exercise(key.resolve()) if key and (key / "source.md").is_file() else None
    return single if single is not None and single.slug == slug else None


def _check_names(entries: Iterable[Path]) -> None:
    """Refuse two learners of the same name, which only a name made to look like another's can cause."""
    raw_names: dict[str, str] = {}
    learners = (entry for entry in entries if entry.suffix == ".ipynb" or entry.is_dir() or entry.is_symlink())
    for raw in map(_raw, learners):
        other = raw_names.setdefault(_name(raw), raw)
        if other != raw:
            raise InputError(f"expected learners with different names, found {other!r} and {raw!r}; rename one of them")


def _raw(entry: Path) -> str:
    """Return a learner's name as the file system has it."""
    return entry.stem if entry.suffix == ".ipynb" else entry.name


def _name(raw: str) -> str:
    """Return what a learner is called: the name as it is, else what can be shown of it and a digest of all."""
    shown = _clean(raw)
    return shown if shown == raw else f"{shown} ({hashlib.sha256(os.fsencode(raw)).hexdigest()[:6]})"


def _clean(name: str) -> str:
    """Return a file's name as text that can be printed and stored, whatever bytes it is made of."""
    return one_line(name.encode("utf-8", "backslashreplace").decode("utf-8"))
