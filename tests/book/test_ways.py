"""The first page, and the ways on from each page."""

import re

import nbformat
import pytest

from tests.book.machine_parts import part
from tests.book.test_pages import PAGES, ROOT


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 640), (390, 844)])
def test_the_machine_is_seen_before_anything_is_scrolled(visit, width, height):
    """Its graph begins on the first screen, and the button that runs it is there."""
    page = visit("intro", width=width)
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_selector("#puzzle.ready")
    seen = part(page, "next", of="puzzle").bounding_box()
    assert seen["y"] + seen["height"] <= height
    leaf = page.locator("#puzzle .leaf rect").bounding_box()
    assert leaf["y"] + leaf["height"] <= part(page, "dock", of="puzzle").bounding_box()["y"]


def test_the_puzzle_is_solved_where_it_is_asked(visit):
    """By predicting; the page keeps its height between the steps, so that nothing jumps."""
    page = visit("intro", width=1440)
    machine = page.locator("#puzzle")
    heights = set()
    while "48" not in part(page, "end", of="puzzle").inner_text():
        part(page, "next", of="puzzle").click()
        heights.add(round(machine.bounding_box()["height"], -1))
    assert "1 + 5 = 6" in machine.locator("svg").text_content()
    assert len(heights) == 1


def test_the_hooks_answer_is_what_the_first_page_printed(visit):
    """Folded; it is taken from that page's notebook, so the two cannot differ."""
    page = visit("intro")
    fold = page.locator("details.bp-answer")
    assert not fold.locator(".cell_output").is_visible()
    fold.locator("summary").click()
    cells = nbformat.read(ROOT / f"{PAGES[1]}.ipynb", as_version=4).cells
    printed = next(cell.outputs[0].text for cell in cells if cell.get("outputs"))
    assert fold.locator(".cell_output").inner_text().split() == printed.split()


def test_without_javascript_the_puzzle_is_asked_before_it_is_answered(build, open_file):
    """The numbers stand behind a fold."""
    page = open_file(build.html / "intro.html", alone=False, java_script_enabled=False)
    answer = page.locator("#puzzle").get_by_text("grad = 48").first
    assert page.locator("#puzzle .try").is_visible()
    assert not answer.is_visible()
    page.locator("#puzzle summary").click()
    assert answer.is_visible()


def test_each_page_says_why_to_read_the_next(build):
    """In the words of the contents on the first page."""
    contents = _words((build.html / "intro.html").read_text("utf-8").partition('id="contents"')[2])
    for name in PAGES:
        onward = re.search(
            r'<a rel="next".*?</b>(.*?)</a>', (build.html / f"{name}.html").read_text("utf-8"), re.DOTALL
        )
        assert onward if name != "changelog" else not onward
        if not name.startswith("api/"):  # packages of the reference are in the order of their names
            assert not onward or f": {_words(onward[1])} " in contents, name


def _words(markup):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", markup)).strip()


@pytest.mark.parametrize("width", [390, 1280])
def test_pages_to_look_things_up_in_are_at_hand(visit, width):
    """In the header; on a phone, in the sidebar that its button opens. The page that one is on is marked."""
    page = visit("chapters/reference/pitfalls", width=width)
    if width == 390:
        page.locator("button.primary-toggle").click()
    page.locator("nav[aria-label='Look up'] >> visible=true").get_by_text("Error messages").click()
    page.wait_for_url("**/error_messages.html*")
    marked = page.locator("nav[aria-label='Look up'] [aria-current=page]").first
    assert marked.text_content() == "Error messages"


def test_an_output_has_no_copy_button_and_a_formula_no_tab_stop(visit):
    """Code has one each."""
    page = visit(PAGES[1])
    page.wait_for_selector("button.copybtn", state="attached")
    assert page.locator("button.copybtn").count() > 5
    assert page.locator(".cell_output button.copybtn").count() == 0
    assert page.evaluate("[...document.querySelectorAll('math, math *')].every(e => e.tabIndex < 0)")
