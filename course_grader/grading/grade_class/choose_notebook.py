"""Choose the notebook of an exercise among a learner's files: by its name, else by the exercise that it says it is."""

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from course_grader.grading.exercises.hashes import hash_notebook
from course_grader.grading.exercises.submitted_notebook import (
    MAX_BYTES,
    course_metadata,
    parse_submission,
    read_notebook_bytes,
)
from course_grader.grading.text import join_names, one_line
from course_lib.errors import NotebookError

__all__ = ["SUFFIXES", "Choice", "choose_notebook", "clean_name", "drop_copies", "find_claims", "read_claim"]

SUFFIXES = (".ipynb", ".json", ".txt")  # browsers save a notebook as X.ipynb.json or X.ipynb.txt
MOST_FILES, MOST_BYTES = 10, MAX_BYTES  # read of one learner, whose folder may hold any number of files


@dataclass(frozen=True)
class Choice:
    """The notebook to grade, if there is one, and a sentence for the learner on why it is that one, or none."""

    path: Path | None
    note: str = ""


def find_claims(files: Iterable[Path]) -> dict[str, list[Path]]:
    """Return the exercises that notebooks say they belong to, each with its files; nothing in a file is run.

    A name of an exercise is whatever the learner's file says: it is a Python name, and may be one of no exercise.
    """
    claims: defaultdict[str, list[Path]] = defaultdict(list)
    for path in _bound(path for path in files if path.name.strip().casefold().endswith(SUFFIXES)):
        if slug := read_claim(path):
            claims[slug].append(path)
    return dict(claims)


def choose_notebook(slug: str, named: Path | None, claimants: Sequence[Path]) -> Choice:
    """Choose between the file called after the exercise and others that say that they are its notebook.

    Examples
    --------
    >>> choice = choose_notebook("double", None, [Path("Copy of double.ipynb")])
    >>> choice.note
    'Copy of double.ipynb was graded: it says that it is the notebook of double; next time, call it double.ipynb'
    """
    names = join_names([clean_name(path.name) for path in claimants]) if claimants else ""
    if named is not None:
        passed_over = f"{slug}.ipynb was graded, and not {names}; if another is meant, hand it in as {slug}.ipynb"
        return Choice(named, passed_over if claimants else "")
    if len(different := drop_copies(claimants)) == 1:
        name = clean_name(different[0].name)
        note = f"{name} was graded: it says that it is the notebook of {slug}; next time, call it {slug}.ipynb"
        return Choice(different[0], note)
    return Choice(
        None, f"expected one notebook of {slug}, found {names}; hand in the one that is meant as {slug}.ipynb"
    )


def drop_copies(files: Sequence[Path]) -> list[Path]:
    """Leave out what has the same bytes as a file before it: of two copies, either will do."""
    if len(files) < 2:
        return list(files)
    different: dict[str, Path] = {}
    for path in files:
        content = str(path)  # one that cannot be read is like no other
        with contextlib.suppress(NotebookError):
            content = hash_notebook(read_notebook_bytes(path))
        different.setdefault(content, path)
    return list(different.values())


def clean_name(name: str) -> str:
    """Return a file's name as printable text, whatever bytes it is made of."""
    return one_line(name.encode("utf-8", "backslashreplace").decode("utf-8"))


def _bound(files: Iterable[Path]) -> Iterator[Path]:
    """Yield the first files, as many as may be read."""
    left = MOST_BYTES
    for path in list(files)[:MOST_FILES]:
        with contextlib.suppress(OSError):
            left -= path.stat(follow_symlinks=False).st_size
            if left >= 0:
                yield path


def read_claim(path: Path) -> str:
    """Return the one exercise that a notebook says it belongs to; nothing if it says none, or several."""
    try:
        submission = parse_submission(read_notebook_bytes(path))
    except NotebookError:
        return ""
    said = course_metadata(submission.metadata).get("exercise")
    names = {said} if isinstance(said, str) else submission.exercises
    # The name becomes part of a path: no slash may be in it.
    return name if len(names) == 1 and (name := next(iter(names))).isidentifier() else ""
