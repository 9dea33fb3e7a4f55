"""Both engines that the figures read, and a browser to look at them in."""

import importlib
import math
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>t</title>
<meta name="viewport" content="width=device-width"><style>
body { margin: 16px; font-family: sans-serif } p { margin: 0 }
@media (prefers-color-scheme: dark) { body { background: #121212; color: #ced6dd } }
</style></head><body>"""


@pytest.fixture(params=["torch", "course_lib.autograd"])
def engine(request):
    """torch, and the course's own."""
    return importlib.import_module(request.param)


@pytest.fixture
def waits(engine):
    """c = a + 5a with a = x**2 at x = 3: a node that waits for two contributions, 1 and 5."""
    x = engine.tensor(3.0, requires_grad=True)
    a = x**2
    b = a * 5.0
    c = a + b
    return SimpleNamespace(x=x, a=a, b=b, c=c, names={"x": x, "a": a, "b": b, "c": c})


@pytest.fixture(scope="session")
def see(chromium, tmp_path_factory):
    """Return a function that shows figures on one page from a file, and what a function of the page returns."""
    from playwright.sync_api import sync_playwright

    folder = tmp_path_factory.mktemp("figures")
    # A thread of its own, because Playwright can be started once in each, and the book's tests start it, too.
    with ThreadPoolExecutor(1) as thread:
        playwright = thread.submit(lambda: sync_playwright().start()).result()
        launch = playwright.chromium.launch
        browser = thread.submit(lambda: launch(executable_path=chromium, args=QUIET)).result()

        def look(figures, at, width=800, **settings):
            file = folder / "page.html"
            file.write_text(PAGE + "".join(figure._repr_html_() for figure in figures) + "</body></html>", "utf-8")
            context = browser.new_context(viewport={"width": width, "height": 844}, **settings)
            page = context.new_page()
            page.troubles = []
            page.on("pageerror", lambda error: page.troubles.append(str(error)))
            page.on("console", lambda message: page.troubles.append(message.text))
            page.on("request", lambda r: page.troubles.append(r.url) if r.url != file.as_uri() else None)
            page.goto(file.as_uri())
            try:
                return at(page)
            finally:
                context.close()

        yield lambda figures, at, **settings: thread.submit(look, figures, at, **settings).result()
        thread.submit(browser.close).result()
        thread.submit(playwright.stop).result()


@pytest.fixture(scope="session")
def contrast():
    """Return a function of two colours as browsers write them: their contrast by WCAG 2.2."""

    def luminance(colour):
        red, green, blue = (float(part) / 255 for part in colour.split("(")[1].rstrip(")").split(",")[:3])
        parts = [c / 12.92 if c <= 0.04045 else math.pow((c + 0.055) / 1.055, 2.4) for c in (red, green, blue)]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    def between(a, b):
        low, high = sorted((luminance(a), luminance(b)))
        return (high + 0.05) / (low + 0.05)

    return between
