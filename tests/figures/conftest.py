"""Both engines that the figures read, and a browser to look at them in."""

import importlib
import math
from types import SimpleNamespace

import pytest

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


@pytest.fixture
def see(open_file, tmp_path):
    """Return a function that shows figures on one page from a file, and what a function of the page returns."""

    def look(figures, at, width=800, **settings):
        (file := tmp_path / "page.html").write_text(
            PAGE + "".join(figure._repr_html_() for figure in figures) + "</body></html>", "utf-8"
        )
        return at(open_file(file, width=width, height=844, **settings))

    return look


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
