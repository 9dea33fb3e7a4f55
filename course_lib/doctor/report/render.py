"""Render a report's sections as text, Markdown or HTML."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill

from course_lib.profiling.formatting import format_table

__all__ = ["Section", "as_html", "as_markdown", "as_page", "as_text"]

WIDTH = 88
STYLE = (
    "<style>.doctor{font:15px/1.5 system-ui,sans-serif;max-width:50rem}.doctor table{border-collapse:collapse;"
    "margin:.5rem 0}.doctor th,.doctor td{padding:.1rem .8rem .1rem 0;text-align:right;font-variant-numeric:"
    "tabular-nums}.doctor th:first-child,.doctor td:first-child{text-align:left;overflow-wrap:anywhere}"
    ".doctor th{border-bottom:1px solid}.doctor h2{font-size:1.1rem;margin:1rem 0 .3rem}.doctor p{margin:.3rem 0}"
    "</style>"
)
PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    "<meta name=color-scheme content='light dark'><title>A training loop, watched</title></head>"
    "<body>{}</body></html>\n"
)


@dataclass(frozen=True)
class Section:
    """A title, paragraphs, which may begin with a word that stands out, and a table, whose first row are its heads."""

    title: str
    paragraphs: tuple[str | tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...] = ()

    def split(self) -> list[tuple[str, str]]:
        """Return each paragraph as the word that stands out, and the rest."""
        return [("", p) if isinstance(p, str) else p for p in self.paragraphs]


def as_text(headline: str, sections: Sequence[Section]) -> str:
    """Render for a terminal."""
    blocks = [fill(headline, WIDTH)]
    for section in sections:
        lines = [section.title.upper()]
        for word, rest in section.split():
            lead = f"{word}: " if word else ""
            lines.append(fill(lead + rest, WIDTH, subsequent_indent="    " if word else "", break_on_hyphens=False))
        lines += [format_table(section.rows)] if section.rows else []
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def as_markdown(headline: str, sections: Sequence[Section]) -> str:
    """Render as Markdown, in which what a model's names hold stays text."""
    blocks = ["# A training loop, watched", _escape(headline)]
    for section in sections:
        blocks.append(f"## {section.title}")
        for word, rest in section.split():
            blocks.append(f"- **{_escape(word)}**: {_escape(rest)}" if word else _escape(rest))
        if section.rows:
            head, *body = [f"| {' | '.join(map(_escape, row))} |" for row in section.rows]
            rule = f"|{'|'.join([' :--- ', *[' ---: '] * (len(section.rows[0]) - 1)])}|"
            blocks.append("\n".join([head, rule, *body]))
    return "\n\n".join(blocks) + "\n"


def _escape(text: str) -> str:
    r"""Escape what Markdown would take for marks.

    Examples
    --------
    >>> print(_escape("a_b * <c>"))
    a\_b \* \<c\>
    """
    return re.sub(r"([\\`*_\[\]<>|#~$&])", r"\\\1", text)


def as_html(headline: str, sections: Sequence[Section]) -> str:
    """Render as a part of a page, as a notebook shows it."""
    parts = [STYLE, '<section class="doctor">', f"<p>{html.escape(headline)}</p>"]
    for section in sections:
        parts.append(f"<h2>{html.escape(section.title)}</h2>")
        for word, rest in section.split():
            lead = f"<strong>{html.escape(word)}</strong>: " if word else ""
            parts.append(f"<p>{lead}{html.escape(rest)}</p>")
        if section.rows:
            head, *body = section.rows
            cells = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in head)
            parts.append(f"<table><thead><tr>{cells}</tr></thead><tbody>")
            for row in body:
                parts.append(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>")
            parts.append("</tbody></table>")
    return "".join([*parts, "</section>"])


def as_page(headline: str, sections: Sequence[Section]) -> str:
    """Render as a page of its own."""
    return PAGE.format(as_html(headline, sections))
