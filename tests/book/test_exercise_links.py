"""The links from pages to exercises."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGES = sorted(ROOT.glob("chapters/*/*.md"))
LINK = re.compile(r"\[([^\]]+)\]\(\.\./\.\./exercises/(\w+)/\2\.ipynb\)")


def title(slug):
    """Return what an exercise calls itself."""
    front = (ROOT / "exercises" / slug / "key" / "source.md").read_text("utf-8").split("---\n")[1]
    return yaml.safe_load(front)["course"]["title"]


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_a_link_to_an_exercise_says_its_title(page):
    """So that a reader who follows it knows that they are there."""
    links = LINK.findall(" ".join(page.read_text("utf-8").split()))
    there = [(said, title(slug)) for said, slug in links if (ROOT / "exercises" / slug / "key").is_dir()]
    assert [(said, called) for said, called in there if said != called] == []
