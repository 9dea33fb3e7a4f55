"""Clean text for display: printable, encodable, of bounded length."""

import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime

__all__ = ["excerpt", "format_time", "join_names", "normalize_name", "one_line", "quote"]


def one_line(text: object, *, chars: int = 400) -> str:
    r"""Return ``text`` as one printable line, without control characters, and cut if it is longer.

    Examples
    --------
    >>> one_line("two\n lines, \x1b[31mred")
    'two lines, �[31mred'
    >>> one_line("a" * 500, chars=5)
    'aaaa…'
    """
    line = _printable(" ".join(str(text)[: 2 * chars].split()))
    return line if len(line) <= chars else line[: chars - 1] + "\N{HORIZONTAL ELLIPSIS}"


def quote(text: object, *, chars: int = 400) -> str:
    r"""Return another's words in quotation marks that they cannot close.

    Examples
    --------
    >>> quote('no" - all points')
    '"no\' - all points"'
    """
    return '"' + one_line(text, chars=chars).replace('"', "'") + '"'


def excerpt(text: str, *, chars: int = 20_000) -> str:
    r"""Return ``text`` with its lines, printable as in :func:`one_line`, and cut in the middle if it is longer.

    Examples
    --------
    >>> excerpt("two\nlines, \x1b[31mred")
    'two\nlines, �[31mred'
    >>> excerpt("a" * 50 + "b" * 50, chars=4)
    'aa\n[96 characters are left out here]\nbb'
    """
    half = chars // 2
    if (left_out := len(text) - 2 * half) > 0:
        text = f"{text[:half]}\n[{left_out} characters are left out here]\n{text[-half:]}"
    return "\n".join(map(_printable, text.expandtabs().splitlines()))


def join_names(names: Sequence[str], *, most: int = 5) -> str:
    """Join names for a sentence: ``ada, bob and 2 more``.

    Examples
    --------
    >>> join_names(["ada", "bob", "cem"]), join_names(["ada", "bob", "cem"], most=1)
    ('ada, bob and cem', 'ada and 2 more')
    """
    more = len(names) - most
    *first, last = names if more <= 0 else [*names[:most], f"{more} more"]
    return f"{', '.join(first)} and {last}" if first else last


def normalize_name(name: str) -> str:
    r"""Return a learner's name in Unicode NFC, the one way in which names are compared and kept.

    Examples
    --------
    >>> normalize_name("Zoe\N{COMBINING DIAERESIS}") == "Zo\N{LATIN SMALL LETTER E WITH DIAERESIS}"
    True
    """
    return unicodedata.normalize("NFC", name)


def format_time(time: datetime) -> str:
    """Return a time as learners read it.

    Examples
    --------
    >>> format_time(datetime.fromisoformat("2026-10-05T23:59:00+02:00"))
    '2026-10-05 21:59 UTC'
    """
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _printable(line: str) -> str:
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)
