"""One build of the book for all the tests that look at it, and a way to open its pages."""

import functools
import http.server
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.book.play_parts import PAGES

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


@pytest.fixture(scope="session")
def address(build):
    """Serve the book on this machine, and return its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=build.html)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(params=["served", "opened from a disk"])
def book(request, browser, build):
    """A page of the book, served and from a disk; ``page.root`` is where pages are, ``page.troubles`` as above."""
    root = request.getfixturevalue("address") if request.param == "served" else build.html.as_uri() + "/"
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.root, page.troubles = root, []
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    page.on("console", lambda m: page.troubles.append(m.text) if m.type in ("warning", "error") else None)
    near = (root, "data:", "blob:")
    page.on("request", lambda r: page.troubles.append(r.url) if not r.url.startswith(near) else None)
    page.goto(f"{root}chapters/mechanics/what_backward_does.html")
    yield page
    context.close()


@pytest.fixture
def machine(visit):
    """Open the machine's page with a state in its address."""

    def open_page(address="", **settings):
        page = visit("machine", **settings)
        if address:
            page.goto(f"{page.url.split('#')[0]}#{address}")
            page.reload()
        page.wait_for_selector(".bp-machine.ready")
        page.evaluate("document.querySelector('[data-part=stage]').focus()")
        return page

    return open_page


@pytest.fixture
def figure(visit):
    """Open the page of a figure; ``figure(name).root`` is its element."""

    def open_page(name, **settings):
        page = visit(PAGES[name], **settings)
        page.wait_for_selector(f"#{name}.ready")
        page.root = page.locator(f"#{name}")
        return page

    return open_page
