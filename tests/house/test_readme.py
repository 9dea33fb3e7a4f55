"""What the README shows is what happens."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


def test_the_python_in_it_runs_as_printed():
    """Each prompt gives the output below it."""
    failed, tried = doctest.testfile(str(README), module_relative=False)
    assert (failed, tried > 0) == (0, True)


def graded(text: str) -> dict[str, tuple[str, str]]:
    """Read a table of grades: the points and the status of each submission."""
    rows = re.findall(r"^│ (\S.*?) +│ +(\S+ / \S+) │ (\w+) ", text, flags=re.MULTILINE)
    return {name: (points, status) for name, points, status in rows}


def test_the_class_is_graded_as_printed():
    """``make demo`` finds as many submissions, with the points that the guide prints; ten of them are the README's."""
    done = subprocess.run([sys.executable, "-m", "course_grader.cli", "demo"], cwd=ROOT, capture_output=True, text=True)
    guide, readme = ((ROOT / name).read_text(encoding="utf-8") for name in ("docs/grading.md", "README.md"))
    for printed in (guide, readme):
        assert done.stdout.startswith(re.search(r"^.+: \d+ submissions$", printed, re.MULTILINE)[0]), done.stderr
    assert graded(guide) == graded(done.stdout)
    shown = graded(readme)
    assert {"(reference)", "(untouched)", "(cut off)"} <= set(shown)
    assert len(shown) == 10
    assert shown.items() <= graded(done.stdout).items()


def test_the_files_it_links_to_are_there():
    """No link inside the repository is broken; the same for the other pages of documentation."""
    for page in [README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")]:
        links = re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8"))
        assert [link for link in links if not (page.parent / link).exists()] == [], page


def test_the_modules_it_names_are_there():
    """A module that was renamed is renamed where contributors are sent to it; ``<...>`` stands for a name of theirs."""
    there = [path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.py"), *ROOT.glob("*/**/*.py")]]
    for page in [README, ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        named = re.findall(r"`([\w/]+\.py)`", page.read_text(encoding="utf-8"))
        assert [name for name in named if not any(f"/{path}".endswith(f"/{name}") for path in there)] == [], page
