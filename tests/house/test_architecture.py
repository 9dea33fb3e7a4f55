"""The house as docs/architecture.md draws it is the house that stands."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
FOLDERS = {
    path.parent.relative_to(ROOT).as_posix()
    for package in ("course_lib", "course_grader")
    for path in (ROOT / package).rglob("__init__.py")
}


def named(text: str) -> set[str]:
    """Return the files and folders that are named in code spans, without the slash at a folder's end."""
    return {path.rstrip("/") for path in re.findall(r"`([\w./-]+(?:/|\.\w+))`", text)}


def test_every_path_in_it_is_there():
    """A renamed file is renamed here, too."""
    assert [path for path in sorted(named(TEXT)) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("folder", sorted(FOLDERS))
def test_every_folder_has_a_line(folder):
    """A new room gets a sign."""
    assert folder in named(TEXT)
