"""Draw the course as a backward pass: pages lead forward to the loss, in blue, exercises lie on the way back, in red.

Parts, pages and exercises are those of ``_toc.yml``, minutes and titles those of the texts.
"""

import html
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from course_grader.notebooks.generate import text_notebook
from course_grader.notebooks.page_facts import page_title, reading_minutes

PARTS = {  # and what each is about; what stands beside them in the contents is for looking things up
    "Mechanics": "what happens in backward()",
    "Training": "what gradients are for",
    "Clipping": "how to keep them bounded",
    "Monitoring": "how to watch them",
    "Profiling": "where their time goes",
}
COLUMNS = (186, 412, 638, 864, 1090)  # x of each part's nodes
WIDTH, LOSS, STEP, LETTERS, LINE = 1176, 1156, 42, 21, 16
INK, SOFT, FWD, BWD, PAPER = (f"var(--bp-{name})" for name in ("ink", "soft", "fwd", "bwd", "paper"))


@dataclass(frozen=True)
class Stop:
    """A page or an exercise: its name in at most two lines, where it leads, and its minutes."""

    lines: tuple[str, ...]
    path: str
    minutes: int = 0


def read_parts(root: Path) -> Iterator[tuple[str, list[Stop], list[Stop]]]:
    """Yield each part with its pages and their exercises."""
    for part in yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))["parts"]:
        if part["caption"] in PARTS:
            pages = [_read_stop(root, chapter["file"]) for chapter in part["chapters"]]
            beside = [page["file"] for chapter in part["chapters"] for page in chapter.get("sections", [])]
            yield part["caption"], pages, [_read_stop(root, name) for name in beside]


def _read_stop(root: Path, name: str) -> Stop:
    path = root / f"{name}.md"
    if exercise := not path.is_file():
        path = root / Path(name).parent / "key" / "source.md"
    notebook = text_notebook(path)
    title = page_title(notebook).replace("`", "")
    short = title.partition(": ")[2 if exercise and ": " in title else 0]
    minutes = 0 if exercise else max(1, round(reading_minutes(notebook)))
    lines = textwrap.wrap(f"{short[0].upper() if exercise else short[0]}{short[1:]}", LETTERS)
    if len(lines) > 2:
        lines = [lines[0], f"{lines[1].rstrip(',')} …"]
    return Stop(tuple(lines), f"{name}.html", minutes)


def draw_broad(parts: list[tuple[str, list[Stop], list[Stop]]]) -> str:
    """Draw the map for a wide screen: parts side by side, their lines meet before the next one."""
    longest = max(len(pages) for _, pages, _ in parts)
    middle = 60 + STEP * longest / 2
    lane = middle + STEP * longest / 2 + 30
    drawn = []
    for number, (x, (name, pages, exercises)) in enumerate(zip(COLUMNS, parts, strict=True), start=1):
        top = middle - STEP * (len(pages) - 1) / 2
        drawn.append(_write(x + 8, top - 44, f"{number} {name}", size=20, weight=650, anchor="end"))
        drawn.append(_write(x + 8, top - 26, PARTS[name], colour=SOFT, size=13.5, anchor="end"))
        meet = LOSS - 19 if number == len(parts) else x + 44
        for i, page in enumerate(pages):
            y = top + STEP * i
            bend = 0.6 * (meet - x)
            curve = f"M{x + 8},{y}C{x + 8 + bend:.0f},{y} {meet - bend:.0f},{middle} {meet},{middle}"
            drawn.append(f'<path d="{curve}" fill="none" stroke="{FWD}" stroke-opacity=".5" stroke-width="1.4"/>')
            drawn.append(_draw_stop(page, x, y, first=i == 0))
        drawn.append(f'<path d="M{meet - 1},{middle - 5}l7,5l-7,5z" fill="{FWD}"/>')
        if exercises:
            drawn.append(f'<path d="M{x},{lane}v{STEP * len(exercises) - 8}" stroke="{BWD}" stroke-width="1.4"/>')
        drawn += [_draw_stop(e, x, lane + 34 + STEP * i, colour=BWD) for i, e in enumerate(exercises)]
    drawn.append(_draw_way_back(f"M{LOSS},{middle + 15}V{lane - 18}q0,18 -18,18H8m11,-8l-11,8l11,8"))
    drawn.append(f'<circle cx="{LOSS}" cy="{middle}" r="15" fill="{PAPER}" stroke="{BWD}" stroke-width="2.6"/>')
    drawn.append(_write(LOSS, middle + 5, "L", colour=BWD, size=16, weight=650, anchor="middle"))
    drawn.append(_write(LOSS, middle - 26, "loss", colour=BWD, anchor="middle"))
    height = lane + 20 + STEP * max(len(exercises) for *_, exercises in parts)
    return _frame("bp-broad", WIDTH, height, drawn)


def draw_tall(parts: list[tuple[str, list[Stop], list[Stop]]]) -> str:
    """Draw the map for a phone: pages from top to bottom, exercises on the right, on the way back."""
    y, drawn = 30.0, []
    for number, (name, pages, exercises) in enumerate(parts, start=1):
        drawn.append(_write(30, y, f"{number} {name}", size=20, weight=650))
        drawn.append(_write(30, y + 20, PARTS[name], colour=SOFT))
        y += 52
        for i, page in enumerate(pages):
            drawn.append(_draw_stop(page, 12, y, first=i == 0, anchor="start"))
            y += 34 if len(page.lines) == 1 else 46
        for exercise in exercises:
            drawn.append(_draw_stop(exercise, 330, y, colour=BWD))
            y += 34 if len(exercise.lines) == 1 else 46
        y += 34
    drawn.insert(0, f'<path d="M12,20V{y - 20}" stroke="{FWD}" stroke-width="2"/>')
    drawn.insert(1, _draw_way_back(f"M12,{y - 20}H312q18,0 18,-18V20m-8,11l8,-11l8,11"))
    return _frame("bp-tall", 342, y, drawn)


def _draw_stop(stop: Stop, x: float, y: float, *, first: bool = False, colour: str = FWD, anchor: str = "end") -> str:
    """Draw a node with its name beside it; filled, if a part begins there. A square is an exercise."""
    fill = colour if first else PAPER
    shape = (
        f'<circle cx="{x}" cy="{y}" r="7"'
        if colour == FWD
        else f'<rect x="{x - 6.5}" y="{y - 6.5}" width="13" height="13"'
    )
    at = x - 17 if anchor == "end" else x + 17
    above = y + 5 - LINE * (len(stop.lines) - 1) / 2
    lines = [html.escape(line) for line in stop.lines]
    if stop.minutes and len(stop.lines[-1]) <= LETTERS - 4:
        lines[-1] += f'<tspan font-size="12.5" fill="{SOFT}" font-weight="400">&#8194;{stop.minutes}&#8201;min</tspan>'
    words = "".join(
        _write(
            at,
            above + LINE * i,
            line,
            colour=INK if colour == FWD else colour,
            weight=600 if first else 400,
            anchor=anchor,
        )
        for i, line in enumerate(lines)
    )
    return (
        f'<a href="{stop.path}">{shape} class="bp-stop" fill="{fill}" stroke="{colour}" stroke-width="2.4"/>{words}</a>'
    )


def _draw_way_back(path: str) -> str:
    style = 'stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round"'
    return f'<path d="{path}" fill="none" stroke="{BWD}" {style}/>'


def _write(
    x: float, y: float, words: str, *, colour: str = INK, size: float = 14.5, weight: int = 400, anchor: str = "start"
) -> str:
    style = f'fill="{colour}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}"'
    return f'<text x="{x:g}" y="{y:g}" {style}>{words}</text>'


def _frame(name: str, width: float, height: float, drawn: list[str]) -> str:
    size = f'viewBox="0 0 {width} {height:.0f}" role="group" aria-label="Map of the course"'
    return f'<svg class="{name}" {size}>{"".join(drawn)}</svg>'


class CourseMap(Directive):
    """``course-map``: both drawings; the style sheet shows the one that fits."""

    def run(self) -> list[nodes.Node]:
        """Draw."""
        environment = self.state.document.settings.env
        parts = list(read_parts(Path(environment.srcdir)))
        environment.note_reread()  # titles and minutes are those of other files
        drawn = re.sub(r"\.0(?=[\"h,V ])", "", draw_broad(parts) + draw_tall(parts))
        return [nodes.raw("", f'<div class="bp-map">{drawn}</div>', format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("course-map", CourseMap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
