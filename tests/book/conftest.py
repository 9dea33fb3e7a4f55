"""One build of the book for all the tests that look at it, and a way to open its pages."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def build(tmp_path_factory) -> subprocess.CompletedProcess[str]:
    """Build the book as ``make book`` does, into a folder of its own."""
    out = tmp_path_factory.mktemp("book")
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ".", "-W", "-n", "--keep-going"]
    done = subprocess.run([*command, "--path-output", out], cwd=ROOT, capture_output=True, text=True)
    done.html = out / "_build" / "html"
    return done


@pytest.fixture
def visit(open_file, build):
    """Open a page of the book at a width and colour scheme; what went wrong on it is in ``page.troubles``."""

    def open_page(name: str, *, width: int = 1280, scheme: str = "light"):
        return open_file(build.html / f"{name}.html", width=width, color_scheme=scheme, alone=False)

    return open_page
