"""The core of the engine is as long as the README says, and its files are listed in one order everywhere."""

import re
from pathlib import Path

import course_lib.autograd as ag

ROOT = Path(__file__).parents[2]


def test_the_core_has_the_lines_that_are_promised():
    """Within a tenth, in the package's docstring, in the README and in the introduction."""
    files = re.findall(r"^\d+\. ``([\w/]+\.py)``", ag.__doc__, re.MULTILINE)
    assert len(files) == 12
    lines = sum(len((ROOT / "course_lib/autograd" / file).read_text().splitlines()) for file in files)
    for text in (ag.__doc__, (ROOT / "README.md").read_text(), (ROOT / "intro.md").read_text()):
        (said,) = re.findall(r"about (\d,\d{3})\s+lines", text)
        assert abs(int(said.replace(",", "")) / lines - 1) < 0.1
    listed = re.findall(
        r"`([\w/]+\.py)`", (ROOT / "README.md").read_text().split("take its core")[1].split("What is left")[0]
    )
    assert listed == files
