"""The instructors' guide says what each page asks for: the table there is the one that the sources give."""

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from course_grader.notebooks import read_text
from course_grader.part_points import points_by_answer

ROOT = Path(__file__).parents[2]
HEAD = "| page | what you can do after it | warm-up | exercise, and points of its parts |\n|---|---|---|---|\n"


def front_matter(text: str) -> dict:
    """Return a text's settings of the course."""
    return yaml.safe_load(text.split("---\n")[1])["course"]


def exercises_below(page: dict) -> Iterator[str]:
    """Yield the exercises that stand below a page, each with its parts' points."""
    for section in page.get("sections", ()):
        key = ROOT / "exercises" / Path(section["file"]).name / "key"
        source = read_text(key / "source.md")
        points = points_by_answer(key / "test_hidden.py", source)
        yield f"{source.metadata['course']['title']}: {' + '.join(f'{p:g}' for p in points.values())}"


def table() -> str:
    """Return the table for the pages of the five parts."""
    rows = []
    for part in yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))["parts"]:
        for page in part["chapters"]:
            if not page["file"].startswith("chapters/"):
                continue
            text = (ROOT / f"{page['file']}.md").read_text(encoding="utf-8")
            title = re.search(r"^# (.+)$", text, re.MULTILINE)[1]
            goals = front_matter(text).get("goals", [""])
            warm_ups = re.findall(r"^:{3,}\{warm_up\} (.+)$", text, re.MULTILINE)
            rows.append([title, goals[0], "; ".join(warm_ups), "; ".join(exercises_below(page))])
    lines = (" | ".join(cell.replace("|", r"\|") for cell in row) for row in rows)
    return HEAD + "".join(f"| {line} |\n" for line in lines)


def test_the_guide_has_the_table():
    """After a change: ``python -m tests.house.test_guide`` prints it anew."""
    assert table() in (ROOT / "docs" / "grading.md").read_text(encoding="utf-8")


if __name__ == "__main__":
    print(table())
