"""Cite sources by who and when, from the book's bibliography."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pybtex.database import Entry

__all__ = ["last_names", "read_citations", "short_names"]


def last_names(entry: "Entry") -> list[str]:
    """Return the authors' last names; that of an organisation is all of it."""
    return [" ".join(person.last_names).replace("{", "").replace("}", "") for person in entry.persons["author"]]


def short_names(names: list[str]) -> str:
    """Return authors as a citation in the text names them.

    Examples
    --------
    >>> short_names(["Glorot", "Bengio"]), short_names(["He", "Zhang", "Ren"])
    ('Glorot and Bengio', 'He et al.')
    """
    return f"{names[0]} et al." if len(names) > 2 else " and ".join(names)


def read_citations(bibliography: Path) -> dict[str, tuple[str, str]]:
    """Return the authors and the year of each entry, by key; none if there is no such file."""
    from pybtex.database import parse_file

    if not bibliography.is_file():
        return {}
    entries = parse_file(str(bibliography)).entries
    return {key: (short_names(last_names(entry)), entry.fields["year"]) for key, entry in entries.items()}
