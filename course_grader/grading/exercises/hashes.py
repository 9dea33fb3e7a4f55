"""Hashes that tell notebooks and keys apart."""

import hashlib
from pathlib import Path

from course_grader.grading.exercises.exercise import Exercise

__all__ = ["hash_key", "hash_key_folder", "hash_notebook"]


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
    return hash_key_folder(exercise.key)


def hash_key_folder(key: Path) -> str:
    """Return what :func:`hash_key` does, also of a key that cannot be loaded."""
    whole = hashlib.sha256()
    for path in sorted(key.rglob("*")):
        inside = path.relative_to(key)
        if path.is_file() and _can_change_grade(inside):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            whole.update(f"{inside.as_posix()}\0{content}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def _can_change_grade(path: Path) -> bool:
    """Tell whether grading may read a file: not known-wrong answers, which test the key, nor hidden files."""
    return path.parts[0] != "wrong" and not any(part.startswith((".", "__pycache__")) for part in path.parts)
