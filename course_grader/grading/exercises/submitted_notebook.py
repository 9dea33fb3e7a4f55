"""Read a submitted notebook as data: size-limited, parsed by hand, never executed, its form never trusted."""

import functools
import json
import operator
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.errors import NotebookError

__all__ = [
    "MAX_BYTES",
    "CodeCell",
    "Submission",
    "course_metadata",
    "parse_submission",
    "read_notebook_bytes",
    "read_submission",
]

MAX_BYTES = 16 << 20
# Those that Windows lacks matter to grading, which does not run there.
FLAGS = functools.reduce(
    operator.or_, (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")), os.O_RDONLY
)
HAND_IN = "hand in the .ipynb file itself"
SAVE_AGAIN = "open it in Jupyter, save it, and hand it in again"
UNPACK, EXPORT = "unpack it, and hand in the .ipynb file inside", "hand in the notebook itself, as .ipynb"
# How files begin that were only given the name of a notebook; Office documents are zip archives, too.
DISGUISES = {
    b"PK\x03\x04": ("a zip archive", UNPACK),
    b"PK\x05\x06": ("an empty zip archive", "hand in the notebook you worked in"),
    b"\x1f\x8b": ("a gzip archive", UNPACK),
    b"7z\xbc\xaf\x27\x1c": ("a 7z archive", UNPACK),
    b"Rar!": ("a rar archive", UNPACK),
    b"%PDF": ("a PDF", EXPORT),
    b"\x89PNG": ("a picture", EXPORT),
    b"\xff\xd8\xff": ("a picture", EXPORT),
    b"<!doctype html": ("a web page", EXPORT),
    b"<html": ("a web page", EXPORT),
}


@dataclass(frozen=True)
class CodeCell:
    """One code cell: its text and its possible names, the most reliable first."""

    source: str
    names: tuple[str, ...]
    course: dict[str, Any]


@dataclass(frozen=True)
class Submission:
    """The code cells of a notebook and the exercises it says it belongs to."""

    cells: tuple[CodeCell, ...]
    exercises: frozenset[str]
    metadata: dict[str, Any]


def read_submission(path: Path) -> Submission:
    """Read a notebook file.

    Parameters
    ----------
    path : Path
        A regular file; a link is refused, since it may point anywhere.

    Raises
    ------
    NotebookError
        With one sentence on what was expected, what came, and what to do.
    """
    return parse_submission(read_notebook_bytes(path))


def read_notebook_bytes(path: Path) -> bytes:
    """Read a file without following a link or waiting on a pipe; check the open file, not its name."""
    try:
        descriptor = os.open(path, FLAGS)
    except OSError as error:
        came = "a link" if path.is_symlink() else (error.strerror or "something unreadable").lower()
        raise NotebookError(f"expected a notebook file, found {came}; {HAND_IN}") from error
    try:
        _check_kind(os.fstat(descriptor))
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read(MAX_BYTES + 1)
    finally:
        os.close(descriptor)


def _check_kind(status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise NotebookError(f"expected a notebook file, found a folder; {HAND_IN}")
    if not stat.S_ISREG(status.st_mode):
        raise NotebookError(f"expected a notebook file, found a device or pipe; {HAND_IN}")
    if status.st_size > MAX_BYTES:
        came = f"{status.st_size / (1 << 20):.1f} MiB"
        raise NotebookError(
            f"expected at most {MAX_BYTES >> 20} MiB, found {came}; clear the outputs and save it again"
        )


def parse_submission(raw: bytes) -> Submission:
    """Parse the bytes of a notebook into a :class:`Submission`.

    Examples
    --------
    >>> parse_submission(b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}').cells
    ()
    >>> parse_submission(b"")
    Traceback (most recent call last):
    course_lib.errors.NotebookError: expected a notebook, found an empty file; hand in the notebook you worked in
    """
    notebook = _parse_json(raw)
    _check_version(notebook)
    cells = notebook.get("cells")
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise NotebookError(f"expected a notebook with a list of cells, found none; {SAVE_AGAIN}")
    metadata = _as_dict(notebook.get("metadata"))
    code = tuple(_read_code_cell(cell) for cell in cells if cell.get("cell_type") == "code")
    said = [course_metadata(metadata), *(cell.course for cell in code)]
    exercises = frozenset(course["exercise"] for course in said if isinstance(course.get("exercise"), str))
    return Submission(cells=code, exercises=exercises, metadata=metadata)


def _parse_json(raw: bytes) -> dict[str, Any]:
    if not raw.strip():
        raise NotebookError("expected a notebook, found an empty file; hand in the notebook you worked in")
    start = raw[:64].lstrip().lower()
    for signature, (kind, fix) in DISGUISES.items():
        if start.startswith(signature.lower()):
            raise NotebookError(f"expected a notebook, found {kind} under its name; {fix}")
    try:
        notebook = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise NotebookError(f"expected UTF-8 text, found other bytes; {SAVE_AGAIN}") from None
    except RecursionError:
        raise NotebookError(f"expected a notebook, found data nested too deeply; {SAVE_AGAIN}") from None
    except ValueError:
        raise NotebookError(f"expected a notebook (JSON), found text that is not JSON; {SAVE_AGAIN}") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("nbformat"), int):
        raise NotebookError("expected a notebook, found JSON of another kind; hand in the .ipynb file")
    return notebook


def _check_version(notebook: dict[str, Any]) -> None:
    version = notebook["nbformat"]
    if version > 4:
        raise NotebookError(f"expected nbformat 4, found {version}, which is newer; save it as nbformat 4")
    if version < 4:
        raise NotebookError(f"expected nbformat 4, found {version}, which is older; {SAVE_AGAIN}")


def _read_code_cell(cell: dict[str, Any]) -> CodeCell:
    metadata = _as_dict(cell.get("metadata"))
    course = course_metadata(metadata)
    candidates = [cell.get("id"), course.get("cell"), metadata.get("id")]
    names = tuple(dict.fromkeys(name for name in candidates if isinstance(name, str)))
    return CodeCell(source=_read_source(cell.get("source")), names=names, course=course)


def _read_source(source: object) -> str:
    """Return a cell's text with Unix line ends; nbformat allows one string or a list of lines."""
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        raise NotebookError(f"expected text in every code cell, found something else; {SAVE_AGAIN}")
    try:
        source.encode("utf-8")
    except UnicodeEncodeError:
        raise NotebookError(f"expected text in every code cell, found a broken character; {SAVE_AGAIN}") from None
    return source.replace("\r\n", "\n").replace("\r", "\n")


def course_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return this course's own part of some metadata; empty if it has none."""
    return _as_dict(metadata.get("course"))


def _as_dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
