"""Read a roster: a CSV file with a line for each learner of a course, as learning systems export it."""

import csv
import io
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from course_grader.grading.text import one_line
from course_lib.errors import InputError

__all__ = ["RosterEntry", "parse_roster", "read_roster"]

SEPARATORS = ",;\t"
# The columns that hold each field, the best first; capitals, blanks and underscores do not matter.
USERNAMES = ("username", "learner", "login", "login id", "sis login id", "github username", "email", "email address")
NAMES = ("name", "full name", "student")
NUMBERS = ("sis user id", "sid", "student id", "id number", "matriculation number", "identifier")
COLUMNS = {
    "username": USERNAMES,
    "name": NAMES,
    "email": ("email", "email address"),
    "id": ("id", "user id", "canvas id", "moodle id", "github id"),
    "number": NUMBERS,
    "section": ("section", "sections", "group", "groups"),
}
FIRST_NAMES, LAST_NAMES = ("first name", "given name"), ("last name", "surname", "family name")
CANVAS_ROWS = ("points possible", "student, test")  # lines of a Canvas gradebook that are nobody
LEARNERS = ("", "student", "learner")  # roles, where there is a column of them


@dataclass(frozen=True)
class RosterEntry:
    """One learner of the roster; a field is empty if the roster has no such column.

    Parameters
    ----------
    username : str
        What the learner's folder is called, and the name by which the gradebook knows them (Unicode NFC).
    name : str
        As the roster writes it: ``Ada Lovelace`` or ``Lovelace, Ada``.
    email : str
    id : str
        The number that the learning system itself gives: the column ``ID`` of Canvas.
    number : str
        The number that the school gives: ``SIS User ID`` (Canvas), ``ID number`` (Moodle), ``SID`` (Gradescope).
    section : str
    """

    username: str
    name: str = ""
    email: str = ""
    id: str = ""
    number: str = ""
    section: str = ""


def read_roster(path: Path) -> list[RosterEntry]:
    r"""Read a roster (CSV); the column names tell which column is what, and others are passed over.

    Raises
    ------
    InputError
        With the first line that cannot be used.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "roster.csv")
    >>> _ = path.write_text("Student,ID,SIS Login ID\nLovelace,4711,ada\n")
    >>> read_roster(path)
    [RosterEntry(username='ada', name='Lovelace', email='', id='4711', number='', section='')]
    """
    try:
        return parse_roster(path.read_text(encoding="utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        raise InputError(f"expected a CSV file at {path}, found other text: {error}; export it as UTF-8") from error


def parse_roster(text: str, place: str) -> list[RosterEntry]:
    """Read a roster's text; ``place`` says in messages where it stands.

    Raises
    ------
    InputError
        With the first line that cannot be used.
    """
    try:
        head = text.lstrip().split("\n", 1)[0]
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=max(SEPARATORS, key=head.count), strict=True)
        return _read_lines([(lines.line_num, cells) for cells in lines if any(map(str.strip, cells))], place)
    except csv.Error as error:
        raise InputError(f"expected a CSV file at {place}, found other text: {error}; export it as UTF-8") from error


def _read_lines(lines: Sequence[tuple[int, list[str]]], path: str) -> list[RosterEntry]:
    header = [_fold_column(cell) for cell in lines[0][1]] if lines else []
    if not set(header) & set(USERNAMES):
        came = repr(one_line(",".join(lines[0][1]), chars=80)) if lines else "nothing"
        raise InputError(
            f"{path}, line 1: expected a column that says what each learner's folder is called "
            f"({', '.join(USERNAMES)}), found {came}; name the columns there"
        )
    found: dict[str, tuple[str, RosterEntry]] = {}
    for number, cells in lines[1:]:
        # Backwards: of two columns of the same name the first holds.
        values = dict(zip(reversed(header), reversed(_pad_cells(cells, len(header))), strict=True))
        if _is_nobody(values):
            continue
        place = f"{path}, line {number}"
        entry = _read_entry(values, place)
        before, other = found.setdefault(entry.username.casefold(), (place, entry))
        if other is not entry:
            raise InputError(
                f"{place}: expected one line for each learner, found {entry.username!r} here and {other.username!r} in "
                f"{before}; keep one of them"
            )
    if not found:
        raise InputError(
            f"{path}: expected a line for each learner, found none below the names of the columns; add them"
        )
    return [entry for _, entry in found.values()]


def _read_entry(values: Mapping[str, str], place: str) -> RosterEntry:
    fields = {field: _first_filled(values, names) for field, names in COLUMNS.items()}
    fields["name"] = (
        fields["name"] or f"{_first_filled(values, FIRST_NAMES)} {_first_filled(values, LAST_NAMES)}".strip()
    )
    username = fields["username"]
    if not username or username != one_line(username) or "/" in username or username.startswith((".", "__")):
        came = repr(username) if username else "nothing"
        raise InputError(
            f"{place}: expected what the learner's folder is called, found {came}; write a name without a slash that "
            "begins with neither a dot nor two underscores"
        )
    return RosterEntry(**fields)


def _is_nobody(values: Mapping[str, str]) -> bool:
    known = (*FIRST_NAMES, *LAST_NAMES, *(name for names in COLUMNS.values() for name in names))
    if not any(values.get(name) for name in known) or values.get("role", "").casefold() not in LEARNERS:
        return True
    return _first_filled(values, NAMES).casefold() in CANVAS_ROWS


def _first_filled(values: Mapping[str, str], names: Iterable[str]) -> str:
    return next((values[name] for name in names if values.get(name)), "")


def _fold_column(name: str) -> str:
    return " ".join(name.casefold().replace("_", " ").replace("e-mail", "email").split())


def _pad_cells(cells: Sequence[str], width: int) -> list[str]:
    """Return a line's cells, as many as there are columns, without blanks around them."""
    stripped = [unicodedata.normalize("NFC", cell.strip()) for cell in cells]
    return (stripped + [""] * width)[:width]
