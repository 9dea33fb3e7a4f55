"""The sheets before the first page: a title, and contents with the numbers of pages."""

import html
import re
from dataclasses import dataclass
from pathlib import Path

import yaml
from print_pages import PrintedPage

from course_grader.notebooks.repository import Repository

STYLE = Path(__file__).with_name("front_matter.css")


@dataclass(frozen=True)
class Entry:
    """A page in the contents: how deep it stands, and the number of its first sheet."""

    printed: PrintedPage
    depth: int
    number: int


@dataclass(frozen=True)
class BookFacts:
    """What the title says: from ``CITATION.cff``, ``_config.yml`` and the repository's address."""

    title: str
    author: str
    about: str
    version: str
    year: str
    site: str
    licence: str  # with its links

    @classmethod
    def read(cls, root: Path) -> "BookFacts":
        """Read them."""
        citation = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))
        settings = yaml.safe_load((root / "_config.yml").read_text("utf-8"))
        return cls(
            title=settings["title"],
            author=settings["author"],
            about=citation["abstract"],
            version=citation["version"],
            year=settings["copyright"],
            site=Repository.read(root).site,
            licence=settings["html"]["extra_footer"].partition(". ")[0],
        )

    def say(self) -> str:
        """Return title, version and licence in a line."""
        return f"{self.title}, version {self.version}. {re.sub('<[^>]+>', '', self.licence)}."


def write_front_matter(facts: BookFacts, parts: dict[str, list[Entry]], *, framework: str, static: Path) -> str:
    """Return the title and the contents as a page of HTML; its links name pages as they lie on this disk."""
    said = {name: html.escape(value) for name, value in vars(facts).items() if name != "licence"}
    listed = "".join(
        f"<h2>{html.escape(part)}</h2><ol>{''.join(map(_write_entry, entries))}</ol>" for part, entries in parts.items()
    )
    foot = f"""Version {said["version"]}, {said["year"]}, with the code in {html.escape(framework)}. With all
frameworks, and figures to play with: <a href="{said["site"]}">{said["site"]}</a><br>{facts.licence}."""
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{said["title"]}</title>
<link rel="stylesheet" href="{static.as_uri()}/look.css"><style>{STYLE.read_text("utf-8")}</style></head>
<body><section class="title"><img src="{static.as_uri()}/logo.svg" alt="">
<h1>{said["title"]}</h1><p class="about">{said["about"]}</p><p>{said["author"]}</p>
<p class="foot">{foot}</p></section>
<section class="contents"><h1>Contents</h1>{listed}</section></body></html>"""


def _write_entry(entry: Entry) -> str:
    link = f'<a href="{entry.printed.address}">{html.escape(entry.printed.title)}</a>'
    return f'<li class="depth-{entry.depth}">{link}<i></i><span>{entry.number}</span></li>'
