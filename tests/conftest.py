"""What every test may use: the machine's tools, or a skip that says which one is missing."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="session")
def tool() -> Callable[..., str]:
    """Return a finder of commands: the first of the names that is installed, else a skip, and in CI a failure."""

    def find(*names: str, package: str) -> str:
        for name in names:
            if path := shutil.which(name):
                return path
        missing = f"{names[0]} is not installed; run: sudo apt-get install {package}"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)

    return find


@pytest.fixture(scope="session")
def chromium(tool: Callable[..., str]) -> str:
    """Return the path of Chrome or Chromium: Chrome first, because Ubuntu's Chromium is a snap, which sees no /tmp."""
    return tool("google-chrome", "chromium", "chromium-browser", package="chromium")


@pytest.fixture(scope="module")
def browser(chromium):
    """Chromium without a window, for one module: Playwright starts once in a thread, and two would not go together."""
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        yield started
        started.close()


@pytest.fixture
def open_file(browser):
    """Open a file in the browser; ``page.troubles`` is what went wrong: all that it says, and asks for besides itself.

    A page that is not ``alone`` has files of its own beside it, and may log what is no warning.
    """
    contexts = []

    def open_page(file: Path, *, width: int = 1280, height: int = 900, alone: bool = True, **settings):
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, **settings))
        page = contexts[-1].new_page()
        page.troubles = []
        page.on("pageerror", lambda error: page.troubles.append(str(error)))
        own, (silent, near) = file.as_uri(), ((), ()) if alone else (("log", "info", "debug"), ("file:", "data:"))
        page.on("console", lambda m: page.troubles.append(m.text) if m.type not in silent else None)
        page.on(
            "request", lambda r: page.troubles.append(r.url) if r.url != own and not r.url.startswith(near) else None
        )
        page.goto(own)
        return page

    yield open_page
    for context in contexts:
        context.close()
