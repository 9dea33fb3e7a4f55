"""Render a result as text, HTML or Markdown, all made of the same titles, sentences and rows."""

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TypeAlias

__all__ = ["ReadableResult", "Section", "as_html", "as_markdown", "as_page", "as_text", "format_table"]

Said: TypeAlias = str | tuple[str, str]

WIDTH = 88
STYLE = (
    "<style>.bp-result{max-width:50rem;overflow-x:auto;overflow-wrap:break-word;color:inherit}"
    ".bp-result table{border-collapse:collapse;margin:.5rem 0;color:inherit}"
    ".bp-result table caption{caption-side:top;text-align:left;white-space:nowrap;color:inherit;font-weight:600;"
    "padding:0}.bp-result table :is(th,td){padding:.1rem .8rem .1rem 0;text-align:right;vertical-align:top;"
    "white-space:pre;font-variant-numeric:tabular-nums}.bp-result table .words{text-align:left}"
    ".bp-result table tbody th{font-weight:inherit;white-space:pre-wrap;overflow-wrap:anywhere}"
    ".bp-result table thead :is(th,td){border-bottom:1px solid}"
    ".bp-result h2{font-size:1.1em;font-weight:600;margin:1rem 0 .3rem}.bp-result p{margin:.3rem 0}</style>"
)
PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    "<meta name=color-scheme content='light dark'><style>body{{font:15px/1.5 system-ui,sans-serif}}</style>"
    "<title>{}</title></head><body>{}</body></html>\n"
)


@dataclass(frozen=True)
class Section:
    """Part of a result: a title, paragraphs, a table and notes below it, each of which may be left out.

    Attributes
    ----------
    title : str
    paragraphs, notes : tuple
        Sentences; of a pair of strings, the first is a word that stands out.
    rows : tuple of tuple of str
        A table, whose first row is its head, and whose first column names its rows if it holds words.
    caption : str
        What the table is, for HTML, where a table may be read alone; without one it has the title.
    word_columns : int
        How many of the columns hold words, which begin at the left; numbers end at the right.
    """

    title: str = ""
    paragraphs: tuple[Said, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[Said, ...] = ()
    caption: str = ""
    word_columns: int = 1


class ReadableResult:
    """Result that prints as text, and is HTML in a notebook: a base class.

    Examples
    --------
    >>> class Halves(ReadableResult):
    ...     def sections(self):
    ...         return [Section(rows=(("half", "time"), ("first", "2 ms"), ("second", "3 ms")), notes=("of 5 ms",))]
    >>> Halves()
    half    time
    first   2 ms
    second  3 ms
    of 5 ms
    """

    def sections(self) -> list[Section]:
        """Return the result as titles, sentences and tables, which text and HTML are made of."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return as_text(self.sections())

    def _repr_html_(self) -> str:
        return as_html(self.sections())


def format_table(rows: Sequence[Sequence[str]], *, word_columns: int = 1, gap: int = 2) -> str:
    """Align the columns of a table: those of words at the left, the others at the right.

    Examples
    --------
    >>> print(format_table([("part", "time"), ("forward", "2 ms")]))
    part     time
    forward  2 ms
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = [str.ljust if i < word_columns else str.rjust for i in range(len(widths))]
    aligned = ([side(cell, w) for side, cell, w in zip(sides, row, widths, strict=True)] for row in rows)
    return "\n".join((" " * gap).join(line).rstrip() for line in aligned)


def as_text(sections: Iterable[Section], *, width: int = WIDTH) -> str:
    """Render for a terminal."""
    blocks = []
    for section in sections:
        lines = [section.title.upper()] if section.title else []
        lines += [_fill(said, width) for said in section.paragraphs]
        lines += [format_table(section.rows, word_columns=section.word_columns)] if section.rows else []
        blocks.append("\n".join([*lines, *(_fill(said, width) for said in section.notes)]))
    return "\n\n".join(blocks)


def _fill(said: Said, width: int) -> str:
    word, rest = _split(said)
    text, indent = (f"{word}: {rest}", "    ") if word else (rest, "")
    return fill(text, width, subsequent_indent=indent, break_on_hyphens=False)


def _split(said: Said) -> tuple[str, str]:
    """Split a sentence into the word that stands out, and the rest."""
    return ("", said) if isinstance(said, str) else said


def as_markdown(title: str, sections: Iterable[Section]) -> str:
    """Render as Markdown, in which what a model's names hold stays text."""
    blocks = [f"# {_escape(title)}"]
    for section in sections:
        blocks += [f"## {_escape(section.title)}"] if section.title else []
        blocks += map(_mark_down, section.paragraphs)
        if section.rows:
            head, *body = [f"| {' | '.join(map(_escape, row))} |" for row in section.rows]
            sides = (" :--- " if i < section.word_columns else " ---: " for i in range(len(section.rows[0])))
            blocks.append("\n".join([head, f"|{'|'.join(sides)}|", *body]))
        blocks += map(_mark_down, section.notes)
    return "\n\n".join(blocks) + "\n"


def _mark_down(said: Said) -> str:
    word, rest = map(_escape, _split(said))
    return f"- **{word}**: {rest}" if word else rest


def _escape(text: str) -> str:
    r"""Escape what Markdown would take for marks.

    Examples
    --------
    >>> print(_escape("a_b * <c>"))
    a\_b \* \<c\>
    """
    return re.sub(r"([\\`*_\[\]<>|#~$&])", r"\\\1", text)


def as_html(sections: Iterable[Section]) -> str:
    """Render as a part of a page, as a notebook shows it."""
    parts = [STYLE, '<div class="bp-result">']
    for section in sections:
        parts += [f"<h2>{html.escape(section.title)}</h2>"] if section.title else []
        parts += [*map(_paragraph, section.paragraphs), _table(section), *map(_paragraph, section.notes)]
    return "".join([*parts, "</div>"])


def _paragraph(said: Said) -> str:
    word, rest = map(html.escape, _split(said))
    return f"<p><strong>{word}</strong>: {rest}</p>" if word else f"<p>{rest}</p>"


def _table(section: Section) -> str:
    """Render a table whose heads and first cells say which column and row they name; nothing without rows."""
    if not section.rows:
        return ""
    caption = f"<caption>{html.escape(section.caption)}</caption>" if section.caption else ""
    label = f' aria-label="{html.escape(section.title)}"' if section.title and not caption else ""
    head, *body = (
        "".join(_cell(cell, row=i, words=j < section.word_columns, first=not j) for j, cell in enumerate(row))
        for i, row in enumerate(section.rows)
    )
    lines = "".join(f"<tr>{row}</tr>" for row in body)
    return f"<table{label}>{caption}<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _cell(cell: str, *, row: int, words: bool, first: bool) -> str:
    style, text = ' class="words"' if words else "", html.escape(cell)
    if not text or (row and not (first and words)):  # a head that says nothing is none
        return f"<td{style}>{text}</td>"
    return f'<th scope="{"row" if row else "col"}"{style}>{text}</th>'


def as_page(title: str, sections: Iterable[Section]) -> str:
    """Render as a page of its own."""
    return PAGE.format(html.escape(title), as_html(sections))
