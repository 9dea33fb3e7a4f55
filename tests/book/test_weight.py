"""What a page loads, and that nothing on it moves while it comes: on a slow phone, and without a clock."""

import re

import pytest

from tests.book.slow_phone import PAGES, serve, visit

LARGEST = "chapters/monitoring/eight_broken_runs"


@pytest.fixture(scope="module")
def slow_address(build):
    """Serve the book as its host does."""
    with serve(build.html) as address:
        yield address


@pytest.mark.parametrize("name", [*PAGES, LARGEST])
def test_a_first_visit_is_light_and_nothing_moves(browser, slow_address, name):
    """All of it, figures too, comes to less than what is allowed beside them."""
    seen = visit(browser, f"{slow_address}{name}.html")
    assert seen["paint"] > 0
    assert seen["figure"] > 0
    assert seen["weight"] < 500, seen
    assert seen["shift"] < 0.05, seen


def test_formulas_need_no_script_and_are_no_stops_for_the_keyboard(browser, build):
    """They are there before any script, with their structure for a screen reader."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((build.html / "chapters/mechanics/gradients_by_hand.html").as_uri())
    assert page.locator("article math").count() > 50
    assert page.locator("math msub").first.bounding_box()["width"] > 5
    assert page.locator("math[tabindex], math [tabindex], math a").count() == 0
    context.close()


def test_every_letter_of_every_formula_is_in_the_books_font(browser, build):
    """A letter of another font is of another size; book/subset_fonts.py says which letters there are."""
    page = browser.new_page()
    leaves: dict[str, str] = {}  # the markup of each, with a page that has it
    read = "[...document.querySelectorAll('math :is(mi, mn, mo, mtext)')].map(e => e.outerHTML)"
    for path in sorted(build.html.rglob("*.html")):
        if "<math" in path.read_text("utf-8"):
            page.goto(path.as_uri())
            leaves |= dict.fromkeys(page.evaluate(read), path.stem)
    assert len(leaves) > 100
    page.goto((build.html / "glossary.html").as_uri())
    page.evaluate("html => { document.body.innerHTML = html }", "".join(f"<math>{leaf}</math>" for leaf in leaves))
    page.evaluate("document.fonts.ready.then(() => {})")
    wire = page.context.new_cdp_session(page)
    wire.send("DOM.enable")
    wire.send("CSS.enable")
    root = wire.send("DOM.getDocument")["root"]["nodeId"]
    nodes = wire.send("DOM.querySelectorAll", {"nodeId": root, "selector": "math > *"})["nodeIds"]
    strange = {}
    for leaf, node in zip(leaves, nodes, strict=True):
        fonts = wire.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
        if [font for font in fonts if not font["isCustomFont"]]:
            strange[leaf] = leaves[leaf], [font["familyName"] for font in fonts]
    page.close()
    assert strange == {}


def test_every_icon_is_drawn(visit):
    """By the style sheet, at a size that can be seen."""
    page = visit("chapters/mechanics/fit_a_line")
    drawn = page.evaluate("""() => [...document.querySelectorAll('[class*="fa-"]')].map(e => {
      const style = getComputedStyle(e, '::before');
      return [e.className, style.content, style.maskImage.startsWith('url("data:image/svg')];
    })""")
    assert len(drawn) > 8
    assert [icon for icon in drawn if icon[1:] != ['""', True]] == []


def test_the_head_of_a_page_asks_for_its_style_alone(build):
    """Whatever the theme and the extensions add: one sheet of all, those that this page has alone, and no script."""
    head = (build.html / "chapters/mechanics/fit_a_line.html").read_text("utf-8").partition("</head>")[0]
    sheets = re.findall(r'<link rel="stylesheet"[^>]* href="([^"?]+)', head)
    assert sheets[0].endswith("_static/book.css")
    assert [name for name in sheets if "/styles/" in name or "mystnb" in name] == []
    assert re.findall(r"<script[^>]* src=[^>]*>", head) == []
