"""The way out of Jupyter Book: `docs/why.md` says that plain Sphinx builds the same book."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = "chapters/mechanics/what_backward_does.html"
WITHOUT_JUPYTER_BOOK = """
import sys
sys.modules["jupyter_book"] = None  # whoever imports it fails
extensions = [name for name in extensions if name not in ("jupyter_book", "sphinx_jupyterbook_latex")]
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> Path:
    """Build a copy with Sphinx alone, by the settings that Jupyter Book writes down once."""
    copy = tmp_path_factory.mktemp("plain")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes((ROOT / name).read_bytes())
    program = Path(sys.executable).with_name("jupyter-book")
    subprocess.run([program, "config", "sphinx", "."], cwd=copy, check=True, capture_output=True)
    (copy / "conf.py").write_text((copy / "conf.py").read_text("utf-8") + WITHOUT_JUPYTER_BOOK, "utf-8")
    paths = {**os.environ, "PYTHONPATH": f"{copy}{os.pathsep}{copy / 'book' / 'extensions'}"}
    sphinx = [sys.executable, "-m", "sphinx", "-W", "-n", "--keep-going", "-q", ".", "out"]
    done = subprocess.run(sphinx, cwd=copy, env=paths, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return copy / "out"


@pytest.mark.more
def test_plain_sphinx_builds_the_same_book(plain, build):
    """Each page is the same, to the last letter."""
    pages = {path.relative_to(build.html) for path in build.html.rglob("*.html")}
    assert len(pages) > 50
    assert {path.relative_to(plain) for path in plain.rglob("*.html")} == pages
    assert [page for page in sorted(pages) if (plain / page).read_bytes() != (build.html / page).read_bytes()] == []


@pytest.mark.more
def test_its_figures_tabs_and_answers_work(plain, open_file):
    """In a browser, from the disk."""
    page = open_file(plain / PAGE, alone=False)
    page.locator(".sd-tab-label", has_text="JAX").first.click()
    assert set(page.locator(".sd-tab-set > input:checked + label").all_inner_texts()) == {"JAX"}
    assert page.locator(".bp-figure svg").count() >= 2
    page.locator("details.bp-answer summary").first.click()
    assert page.locator("details.bp-answer .cell_output").first.is_visible()
    assert page.troubles == []
