"""Definitions where the pointer rests, and markup that a screen reader can use."""

import json

import pytest

TERM = "article a[href*='glossary.html#term-']"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_term_shows_its_definition_to_the_pointer(visit, scheme):
    """In the colours of the page; it stays while pointed at, and Escape hides it."""
    page = visit("chapters/mechanics/what_backward_does", scheme=scheme)
    tip = page.locator("#bp-tip")
    assert not tip.is_visible()
    term = page.locator(TERM, has_text="gradient").first
    term.hover()
    tip.wait_for()
    assert term.get_attribute("aria-describedby") == "bp-tip"
    assert tip.inner_text().lower().startswith("gradient")
    assert len(tip.inner_text()) > 40
    ink, paper = (
        tip.evaluate(f"e => getComputedStyle(e).{name}.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0)")
        for name in ("color", "backgroundColor")
    )
    assert (ink < paper) == (scheme == "light")
    tip.hover()
    page.wait_for_timeout(400)
    assert tip.is_visible()
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    assert page.troubles == []


def test_a_term_shows_its_definition_to_the_keyboard(visit):
    """And hides it when the focus goes on; nothing is loaded before."""
    page = visit("chapters/mechanics/what_backward_does", width=390)
    assert page.locator("script[src*='terms-text']").count() == 0
    page.keyboard.press("Tab")
    page.locator(TERM).first.focus()
    tip = page.locator("#bp-tip")
    tip.wait_for()
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    page.locator("footer summary").first.focus()
    assert not tip.is_visible()


def test_a_name_of_the_library_shows_its_signature(visit):
    """And what it does, in text and in code; a formula is set."""
    page = visit("chapters/monitoring/watching_gradients")
    tip = page.locator("#bp-tip")
    for place, begins in {
        "p": "GradientMonitor(model, every=1, *,",
        "pre": "log_gradient_stats(model) Measure",
    }.items():
        name = begins.partition("(")[0]
        page.locator(f"article {place} a.bp-api >> visible=true").filter(has_text=name).first.hover()
        tip.get_by_text(name).wait_for()
        assert tip.inner_text().startswith(begins)
        assert len(tip.inner_text()) > len(begins) + 20
        page.keyboard.press("Escape")
    page = visit("api/autograd")
    page.locator("a.bp-api[href='#course_lib.autograd.div']").first.hover()
    page.locator("#bp-tip math").wait_for()
    assert page.troubles == []


def test_each_term_has_a_definition(visit, build):
    """Short enough to read at a glance, and under the id that links have."""
    page = visit("glossary")
    ids = page.evaluate("[...document.querySelectorAll('dt[id^=term-]')].map(e => e.id)")
    text = (build.html / "_static" / "terms-text.js").read_text("utf-8")
    terms = json.loads(text.removeprefix("const bookTerms = ").rstrip(";\n"))
    assert set(ids) == {term for term in terms if term.startswith("term-")}
    assert len(ids) > 50
    assert [terms[term] for term in ids if not 30 < len(terms[term]) < 600] == []


def test_code_can_be_copied_and_outputs_have_no_button(visit):
    """One does not run what was printed."""
    page = visit("chapters/mechanics/fit_a_line")
    page.wait_for_selector(".cell_input button.copybtn", state="attached")
    assert page.locator(".cell_output button.copybtn").count() == 0


@pytest.mark.parametrize("name", ["exercises/walk_the_graph/walk_the_graph", "references", "search"])
def test_names_and_roles_are_what_one_sees(visit, name):
    """No empty heading of a column, no list without items, no button that is called less than it says."""
    page = visit(name)
    page.wait_for_timeout(500)  # until icons are drawn, which brought names of their own
    assert page.evaluate("[...document.querySelectorAll('th')].filter(e => !e.textContent.trim()).length") == 0
    assert page.locator("[role=list].citation-list, [role=doc-biblioentry]").count() == 0
    unlike = """[...document.querySelectorAll('button[aria-label]')].filter(e => {
      const words = [...e.querySelectorAll('title'), e].map(x => x.textContent.trim()).join(' ').trim().toLowerCase();
      return words && !e.ariaLabel.toLowerCase().includes(words);
    }).map(e => e.outerHTML)"""
    assert page.evaluate(unlike) == []
