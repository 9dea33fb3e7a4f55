"""Write files atomically, under names and with cells that are safe whatever a learner is called."""

import csv
import functools
import hashlib
import os
import re
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from course_lib.errors import InputError

__all__ = ["check_folder", "iterate_csv", "safe_file_name", "write_atomically"]

NUMBER = re.compile(r"-?\d+(\.\d+)?")  # points can be negative, and a number is no formula
DIGESTED = re.compile(r".*-[0-9a-f]{8}")  # what is made of another name could look like it
PLAIN = re.compile(r"[a-z0-9]([a-z0-9._-]{0,78}[a-z0-9_-])?")
RESERVED = re.compile(r"(aux|con|nul|prn|com\d|lpt\d)(\..*)?")  # Windows, whatever follows the dot
SHORT = 200
CELL_CHARS = 16_000  # a spreadsheet takes 32,767, of which apostrophes may be half
# What a spreadsheet takes for the beginning of a formula.
FORMULA = tuple(
    "=+-@\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}"
)


def check_folder(folder: Path, files: Iterable[str] = ("grades.csv", "grades.json")) -> None:
    """Check before grading that these files can be written to ``folder``.

    Raises
    ------
    InputError
        If something else is there, or it may not be written to.
    """
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not nearest.is_dir():
        raise InputError(f"expected a folder for the grades, found a file at {nearest}; name another with --out")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError(
            f"expected a folder that can be written to, found {nearest}, which cannot; name another with --out"
        )
    for name in files:
        if (folder / name).is_dir():
            raise InputError(f"expected to write {folder / name}, found a folder there; name another folder with --out")


def safe_file_name(name: str) -> str:
    """Return a safe file name for a learner: their name if it is plain, else its plain parts and a digest.

    A name with capitals is not plain: on many disks ``Ada.html`` and ``ada.html`` are the same file. No more is one
    that Windows reserves for a device.

    Examples
    --------
    >>> safe_file_name("ada.lovelace")
    'ada.lovelace'
    >>> safe_file_name("../../etc/passwd")
    'etc-passwd-3754d6cb'
    >>> safe_file_name("Zoë Müller")
    'Zoe-Muller-d6e575a6'
    >>> safe_file_name("Ada"), safe_file_name("con")
    ('Ada-99a563ab', 'con-1143da2b')
    """
    if PLAIN.fullmatch(name) and not DIGESTED.fullmatch(name) and not RESERVED.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    letters = unicodedata.normalize("NFKD", name[:60]).encode("ascii", "ignore").decode()[:60]  # without their accents
    return "-".join([*re.findall(r"[A-Za-z0-9]+", letters), digest])


class _Echo:
    """A file that hands back what is written to it."""

    def write(self, text: str) -> str:
        """Return the text."""
        return text


def iterate_csv(rows: Iterable[Iterable[str]]) -> Iterator[str]:
    r"""Yield CSV that is safe to open in a spreadsheet, a line at a time.

    Examples
    --------
    >>> list(iterate_csv([["=1+1", "-1.5", "a,b", "c;=1+1"]]))
    ['\'=1+1,-1.5,"a,b",c;\'=1+1\n']
    """
    writer: Any = csv.writer(_Echo(), lineterminator="\n")  # whose writerow returns what the file's write does
    for row in rows:
        yield writer.writerow([_plain_short_cell(cell) if len(cell) < SHORT else _plain_cell(cell) for cell in row])


def _plain_cell(cell: str) -> str:
    """Return one printable line, no part of which a spreadsheet takes for a formula.

    Where decimals have a comma, spreadsheets open the file with semicolons between cells: what follows one in a
    cell then begins a cell of its own, quotes or not.
    """
    if NUMBER.fullmatch(cell):
        return cell
    cell = cell[:CELL_CHARS]
    if not cell.isprintable():
        cell = "".join(char if char.isprintable() else " " for char in cell)
    return ";".join(f"'{part}" if part.lstrip(' "').startswith(FORMULA) else part for part in cell.split(";"))


@functools.lru_cache(maxsize=10_000)
def _plain_short_cell(cell: str) -> str:
    """Return the same; a class's tables have the same points, names and words over and over."""
    return _plain_cell(cell)


def write_atomically(path: Path, text: str | bytes | Iterable[str], *, sync: bool = True) -> Path:
    """Write a file beside its place and rename it, so that a reader never sees half of it; return the path.

    Text that comes in pieces is written as it comes: if making one fails, the file stays what it was. Without ``sync``
    a machine that fails may lose it: for what is made anew where it is not as it should be.

    Raises
    ------
    InputError
        With the path, if it cannot be written: on a full disk, say. What was there stays as it was.
    """
    pieces = [text] if isinstance(text, (str, bytes)) else text
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                for piece in pieces:
                    file.write(piece.encode("utf-8", "backslashreplace") if isinstance(piece, str) else piece)
                file.flush()
                if sync:
                    os.fsync(file.fileno())
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        came = error.strerror or type(error).__name__  # the system's sentence; of a full disk it names no file
        raise InputError(
            f"expected to write {path}, found: {came}; make room there, or name another place. What was there before "
            "is as it was"
        ) from error
    return path
