"""The API reference: all public names, and links from the pages to it and back."""

import ast
import importlib
import re
from pathlib import Path

import pytest

from tests.house.test_user_program import PACKAGES

ROOT = Path(__file__).parents[2]
APART = ("course_grader.cli", "course_grader.notebooks", "course_lib.exercises")  # their users read other texts
PUBLIC = [name for name in PACKAGES if name not in APART]


@pytest.fixture(scope="module")
def pages(build) -> dict[str, str]:
    """Read the built book, page by page."""
    return {path.relative_to(build.html).as_posix(): path.read_text("utf-8") for path in build.html.rglob("*.html")}


@pytest.mark.parametrize("package", PUBLIC)
def test_the_reference_has_every_public_name(package, pages):
    """On the page of its package; a name that is exported twice has one entry, and a link to it."""
    [page] = [text for name, text in pages.items() if name.startswith("api/") and f'id="module-{package}"' in text]
    entries, names = page.partition("<article")[2], importlib.import_module(package).__all__
    assert [name for name in names if f'id="{package}.{name}"' not in entries and f">{name}<" not in entries] == []


def test_every_link_on_a_name_leads_to_its_entry(pages):
    """In text, in code, and in the reference itself."""
    ids = {name: set(re.findall(r'id="([^"]+)"', text)) for name, text in pages.items()}
    seen = set()
    for name, text in pages.items():
        for link in re.findall(r'<a [^>]*class="[^"]*\bbp-api\b[^>]*>', text):
            path, _, anchor = re.search(r'href="([^"]*)"', link)[1].partition("#")
            target = (ROOT / name).parent / path if path else ROOT / name
            assert anchor in ids[target.resolve().relative_to(ROOT).as_posix()], (name, link)
            seen.add((name.startswith("api/"), anchor))
    assert len(seen) > 300


def test_a_page_that_uses_a_name_and_its_entry_lead_to_each_other(visit):
    """From inline code and from cells; and back to the very section."""
    page = visit("chapters/monitoring/watching_gradients")
    entry = "course_lib.monitoring.GradientMonitor"
    links = page.locator(f"article a.bp-api[href$='monitoring.html#{entry}']")
    assert set(links.all_text_contents()) == {"GradientMonitor"}
    assert links.and_(page.locator("p a")).count() > 0
    assert links.and_(page.locator("pre a")).count() > 0
    assert page.locator("pre a.bp-api", has_text="monitor.step").count() > 0
    links.and_(page.locator("p a")).first.click()
    back = page.locator(f"dt[id='{entry}'] + dd > .bp-used a[href*='watching_gradients']")
    section = back.get_attribute("href").partition("#")[2]
    back.click()
    page.locator(f"section#{section}").wait_for()
    assert page.url.endswith(f"watching_gradients.html#{section}")


def test_a_name_is_what_the_page_imports(monkeypatch):
    """In one tab ``nn`` is torch's and in the next the engine's; a name that a page defines is its own."""
    monkeypatch.syspath_prepend(ROOT / "book" / "extensions")
    names, scope = importlib.import_module("api_names"), importlib.import_module("api_scope")
    library = names.read_library(ROOT)

    def read(*cells):
        known, found = {}, {}
        for cell in cells:
            tree = ast.parse(cell)
            scope.bind(tree, known, library)
            found = dict(scope.written(tree, known, library))
        return found

    engine = "course_lib.autograd"
    assert read(f"from {engine} import nn", "nn.Linear(2, 1)") == {
        "nn": f"{engine}.nn",
        "nn.Linear": f"{engine}.nn.Linear",
    }
    assert read(f"from {engine} import nn", "from torch import nn", "nn.Linear(2, 1)") == {}
    assert read("from course_lib.training import train_epoch", "def train_epoch(): pass", "train_epoch()") == {}
    monitored = read("from course_lib import monitoring", "m = monitoring.GradientMonitor(net)", "m.step(); m")
    assert monitored == {"m.step": "course_lib.monitoring.GradientMonitor.step"}


def test_a_signature_and_a_table_of_parameters_fit_a_phone(visit):
    """Nothing of an entry is wider than its page but code, which scrolls."""
    page = visit("api/training", width=390)
    wide = "e => [...e.querySelectorAll('dt, dd, p')].filter(x => x.getBoundingClientRect().right > 390).length"
    assert page.locator("article").evaluate(wide) == 0
    assert page.locator("dl.field-list dt strong").count() > 20
