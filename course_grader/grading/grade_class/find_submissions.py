"""Find the submissions of a class in a folder."""

import contextlib
import hashlib
import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from course_grader.grading.exercises.exercise import Exercise, find_exercise, load_exercise
from course_grader.grading.grade_class.choose_notebook import choose_notebook, clean_name, find_claims
from course_grader.grading.text import join_names, normalize_name
from course_lib.errors import InputError

__all__ = ["Task", "find_strays", "find_submissions"]

IGNORED_PREFIXES = (".", "__")  # how names begin that are not submissions: .ipynb_checkpoints, __MACOSX
MOST_NAMES = 20


@dataclass(frozen=True)
class Task:
    """One submission to grade; without a ``path`` it is missing, and ``message`` says what was found instead.

    With a path, ``message`` is a note for the learner: that the file had another name, or that there were others.
    ``ungraded_names`` are the names of what lies beside it, or a folder deeper, and is not graded: other notebooks, and
    files of other kinds.
    """

    learner: str
    exercise: Exercise | None
    path: Path | None
    message: str = ""
    ungraded_names: tuple[str, ...] = ()


def find_submissions(folder: Path, *, exercises: Path, slug: str | None = None, key: Path | None = None) -> list[Task]:
    """List the submissions in a folder: ``<learner>/<exercise>.ipynb``, or ``<learner>.ipynb`` of one exercise.

    In a learner's folder the file called after the exercise is graded, else the only one that says that it is the
    exercise's notebook, whatever it is called: which of two is the one that was meant cannot be told from a file.

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
        found = "a file" if folder.is_file() else "nothing"
        raise InputError(
            f"expected a folder of submissions at {folder}, found {found}; give the folder that holds them"
        )
    only = None if slug is None else find_exercise(slug, exercises=exercises, key=key)
    if not exercises.is_dir() and key is None:
        raise InputError(
            f"expected the folder of exercises at {exercises}, found none; say where it is with --exercises"
        )
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    _check_names(entries)
    tasks = [task for entry in entries for task in _make_tasks(entry, exercises=exercises, only=only, key=key)]
    if not any(task.exercise for task in tasks):
        names = [name for task in tasks for name in task.ungraded_names] + list(find_strays(folder))
        found = f"no such notebook, only {join_names(names)}" if names else "no such notebook"
        raise InputError(
            f"expected <learner>/<exercise>.ipynb in {folder}, found {found}; check the folder, unpack and rename what "
            "is in it, or name the exercise of a flat folder with --exercise"
        )
    return tasks


def find_strays(folder: Path) -> tuple[str, ...]:
    """List files among the learners' folders that are not notebooks: archives, or other files."""
    return tuple(clean_name(entry.name) for entry in _list_entries(folder) if _is_stray(entry))


def _is_stray(entry: Path) -> bool:
    return not (entry.suffix == ".ipynb" or entry.is_symlink() or entry.is_dir())


def _make_tasks(entry: Path, *, exercises: Path, only: Exercise | None, key: Path | None) -> Iterator[Task]:
    if entry.suffix == ".ipynb":
        if only is None:
            raise InputError(
                f"expected a folder for each learner, found the notebook {entry.name}; "
                "say with --exercise which exercise these notebooks are"
            )
        yield Task(learner=_display_name(_raw_name(entry)), exercise=only, path=entry)
    elif entry.is_symlink():
        message = "expected a folder with a notebook, found a link; hand in the folder itself"
        yield Task(learner=_display_name(_raw_name(entry)), exercise=only, path=None, message=message)
    elif entry.is_dir():
        yield from _make_tasks_in(entry, exercises=exercises, only=only, key=key)


def _make_tasks_in(folder: Path, *, exercises: Path, only: Exercise | None, key: Path | None) -> Iterator[Task]:
    """Yield a task for each notebook of a known exercise in a learner's folder, or one for a missing notebook."""
    learner = _display_name(_raw_name(folder))
    entries = _list_entries(folder)

    def find(slug: str) -> Exercise | None:
        if only is None:
            return _find_exercise(slug, exercises=exercises, key=key)
        return only if slug == only.slug else None

    named = {stem: folder / f"{stem}.ipynb" for stem in _stems(entries) if find(stem)}
    claims = find_claims(entry for entry in entries if entry not in named.values())
    found = {slug: exercise for slug in (*named, *claims) if (exercise := find(slug)) is not None}
    choices = {slug: choose_notebook(slug, named.get(slug), claims.get(slug, [])) for slug in found}
    graded = {choice.path.name for choice in choices.values() if choice.path}
    others = {slug for slug in (*_stems(entries), *claims) if slug not in found and (exercises / slug).is_dir()}
    elsewhere = {f"{slug}.ipynb" for slug in others} | {path.name for slug in others for path in claims.get(slug, [])}
    ungraded_names = tuple(_list_names(entries, but=graded | elsewhere))
    for slug, choice in choices.items():
        yield Task(learner, found[slug], choice.path, choice.note, ungraded_names)
    if not found:
        yield Task(learner, only, None, _missing_message(only, [*_list_names(entries, but=())]), ungraded_names)


def _stems(entries: Iterable[Path]) -> list[str]:
    return [entry.stem for entry in entries if entry.suffix == ".ipynb"]


def _missing_message(only: Exercise | None, found: list[str]) -> str:
    """Return the message for a missing notebook: what was expected, what was found, what to do."""
    wanted = f"{only.slug}.ipynb" if only else "a notebook called after its exercise"
    fix = "hand in the notebook under its own name"
    if not all(name.endswith(".ipynb") and "/" not in name for name in found):
        fix = "hand in the notebook itself, under its own name, not packed and not in another folder"
    return f"expected {wanted}, found {join_names(found) if found else 'no notebook'}; {fix}"


def _list_names(entries: Iterable[Path], *, but: Collection[str]) -> list[str]:
    """List what else lies in a learner's folder, and in its folders: the learner may have meant to submit it."""
    found: list[str] = []
    for entry in entries:
        if entry.name in but:
            continue
        inside = _list_names_in(entry) if entry.suffix != ".ipynb" else []
        found += [f"{clean_name(entry.name)}/{name}" for name in inside] or [clean_name(entry.name)]
    return found[:MOST_NAMES]


def _list_names_in(entry: Path) -> list[str]:
    """List the names in a folder; for anything else, none."""
    if entry.is_symlink() or not entry.is_dir():
        return []
    return [clean_name(each.name) for each in _list_entries(entry)[:MOST_NAMES]]


def _list_entries(folder: Path) -> list[Path]:
    """List a folder's entries by name; none for one that may not be read."""
    with contextlib.suppress(OSError):
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith(IGNORED_PREFIXES))
    return []


def _find_exercise(slug: str, *, exercises: Path, key: Path | None) -> Exercise | None:
    folders = [exercises / slug / "key", *([key / slug, key / slug / "key"] if key else [])]
    if any((folder / "source.md").is_file() for folder in folders):
        return find_exercise(slug, exercises=exercises, key=key)
    single = load_exercise(key.resolve()) if key and (key / "source.md").is_file() else None
    return single if single is not None and single.slug == slug else None


def _check_names(entries: Iterable[Path]) -> None:
    """Refuse two learners of the same name: only a name made to look like another's, or two ways to write one, can be.

    In Unicode an accent is part of its letter or a character of its own, as the system has it that packed the files.
    """
    raw_names: dict[str, str] = {}
    learners = (entry for entry in entries if entry.suffix == ".ipynb" or entry.is_dir() or entry.is_symlink())
    for raw in map(_raw_name, learners):
        other = raw_names.setdefault(_display_name(raw), raw)
        if normalize_name(other) != normalize_name(raw):
            raise InputError(f"expected learners with different names, found {other!r} and {raw!r}; rename one of them")
        if other != raw:
            raise InputError(
                f"expected one place for each learner, found two for {_display_name(raw)}, {other!a} and {raw!a}, "
                "which differ only in how accents are encoded; move all into one of them"
            )


def _raw_name(entry: Path) -> str:
    """Return a learner's name as the file system has it."""
    return entry.stem if entry.suffix == ".ipynb" else entry.name


def _display_name(raw: str) -> str:
    """Return a learner's name for display: as it is, in Unicode NFC; else what is printable of it and a digest."""
    raw = normalize_name(raw)
    shown = clean_name(raw)
    return shown if shown == raw else f"{shown} ({hashlib.sha256(os.fsencode(raw)).hexdigest()[:6]})"
