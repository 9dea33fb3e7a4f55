"""What an exercise says of itself beforehand: points, minutes and difficulty of each part, and what it needs."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nbformat import NotebookNode

from course_lib.errors import NotebookError

__all__ = ["Part", "describe_parts", "needed_packages", "parts_of", "write_part_lines"]

DIFFICULTY = {1: "●○○ easy", 2: "●●○ medium", 3: "●●● hard"}
HEADING = re.compile(r"^## +(.+)$", re.MULTILINE)
PACKAGES = {"numpy": "NumPy", "torch": "PyTorch", "jax": "JAX", "course_lib": "this course's library"}
IMPORT = re.compile(r"^\s*(?:import|from) +(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Part:
    """An answer: its heading, what it is worth, and how long and how hard it is."""

    heading: str
    points: float
    minutes: int
    difficulty: int

    @property
    def line(self) -> str:
        """Say it in one line, below the heading."""
        noun = "point" if self.points == 1 else "points"
        return f"*{self.points:g} {noun}, about {self.minutes} minutes, {DIFFICULTY[self.difficulty]}.*"


def parts_of(source: NotebookNode, points: Mapping[str, float]) -> list[Part]:
    """Return the parts of an exercise; an answer says ``:minutes:`` and ``:difficulty:``, 1 to 3.

    Raises
    ------
    NotebookError
        If an answer does not, or stands below no heading.
    """
    return [part for part, _, _ in _find_parts(source, points)]


def write_part_lines(source: NotebookNode, points: Mapping[str, float]) -> None:
    """Write below the heading of each part what it is worth and how long it takes, in place."""
    for part, cell, heading in reversed(list(_find_parts(source, points))):
        text = cell.source
        cell.source = f"{text[: heading.end()]}\n\n{part.line}{text[heading.end() :]}"


def describe_parts(parts: list[Part]) -> str:
    """Return a table of the parts and their sum."""
    rows = [f"| {p.heading} | {p.points:g} | {p.minutes} | {DIFFICULTY[p.difficulty]} |" for p in parts]
    total = f"| all | {sum(p.points for p in parts):g} | {sum(p.minutes for p in parts)} | |"
    return "\n".join(["| part | points | minutes | |", "|---|---|---|---|", *rows, total])


def needed_packages(source: NotebookNode) -> str:
    """Name the packages that an exercise imports, by its own cells and its solutions."""
    cells = [c.source for c in source.cells if c.cell_type == "code" and "picture" not in c.metadata.get("tags", [])]
    found = set(IMPORT.findall("\n".join(cells)))
    alone = (
        " alone: nothing that differentiates is there when it is graded"
        if source.metadata.course.get("by_hand")
        else ""
    )
    return ", ".join(name for package, name in PACKAGES.items() if package in found) + alone


def _find_parts(
    source: NotebookNode, points: Mapping[str, float]
) -> Iterator[tuple[Part, NotebookNode, re.Match[str]]]:
    """Yield each part, the cell with its heading, and where that stands in it."""
    last: tuple[NotebookNode, re.Match[str]] | None = None
    for cell in source.cells:
        if cell.cell_type == "markdown":
            last = next(((cell, found) for found in reversed(list(HEADING.finditer(cell.source)))), last)
        elif "answer" in cell.metadata.get("tags", []):
            minutes, difficulty = cell.metadata.get("minutes"), cell.metadata.get("difficulty")
            if type(minutes) is not int or difficulty not in DIFFICULTY:
                raise NotebookError(
                    f"the answer {cell.id!r} must say :minutes:, a whole number, and :difficulty:, 1 to 3, but got "
                    f"{minutes!r} and {difficulty!r}; add both"
                )
            if last is None:
                raise NotebookError(f"the answer {cell.id!r} must stand below a heading, ## TITLE; write one")
            yield Part(last[1][1], points[cell.id], minutes, difficulty), *last
