"""One build of the book and one browser for all the tests that look at it."""

import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[2]
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="session")
def build(tmp_path_factory) -> subprocess.CompletedProcess[str]:
    """Build the book as ``make book`` does, into a folder of its own."""
    out = tmp_path_factory.mktemp("book")
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ".", "-W", "-n", "--keep-going"]
    done = subprocess.run([*command, "--path-output", out], cwd=ROOT, capture_output=True, text=True)
    done.html = out / "_build" / "html"
    return done


@pytest.fixture(scope="session")
def browser(chromium):
    """Chromium without a window."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        yield started
        started.close()


@pytest.fixture
def visit(browser, build):
    """Open a page of the book at a width and colour scheme; what went wrong on it is in ``page.troubles``."""
    contexts = []

    def open_page(name: str, *, width: int = 1280, scheme: str = "light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.troubles = []
        page.on("pageerror", lambda error: page.troubles.append(str(error)))
        page.on("console", lambda m: page.troubles.append(m.text) if m.type in ("error", "warning") else None)
        page.on("request", lambda r: page.troubles.append(r.url) if not r.url.startswith(("file:", "data:")) else None)
        page.goto((build.html / f"{name}.html").as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
