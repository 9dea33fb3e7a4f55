"""The search finds the page that answers, both where the book is served and where it is opened from a disk."""

import re

from tests.book.queries import ENTRIES, QUERIES

BUTTONS = re.compile("Open in Colab|Show the code|Hide the code|Back to top|Download|Suggest edit|Contents")


def _type(page, query: str) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type(query)
    page.wait_for_function("q => document.querySelector('dialog form').dataset.shown === q", arg=query)


def test_readers_queries_lead_to_the_right_page(book):
    """Nine of ten lead to it at once, and all show it among the first three."""
    assert len(QUERIES) >= 40
    found = {query: book.evaluate("q => searchBook(q)", query) for query in QUERIES}
    places = {
        query: next((i for i, one in enumerate(found[query], 1) if one["page"] == page), 99)
        for query, page in QUERIES.items()
    }
    assert {query: place for query, place in places.items() if place > 3} == {}
    assert sum(place == 1 for place in places.values()) >= 0.9 * len(QUERIES), places
    assert book.troubles == []


def test_a_name_of_the_library_leads_to_its_entry(book):
    """Nine of ten at once, and all as the first or the second."""
    found = {query: [one["anchor"] for one in book.evaluate("q => searchBook(q)", query)] for query in ENTRIES}
    places = {query: (*found[query], entry).index(entry) for query, entry in ENTRIES.items()}
    assert {query: place for query, place in places.items() if place > 1} == {}
    assert sum(place == 0 for place in places.values()) >= 0.9 * len(ENTRIES), places


def test_a_result_leads_to_a_section_that_exists(book, build):
    """Its page is there, with that id, and its excerpt is words of the text, not of buttons."""
    seen = 0
    for query in QUERIES:
        for one in book.evaluate("q => searchBook(q)", query):
            text = (build.html / f"{one['page']}.html").read_text("utf-8")
            assert not one["anchor"] or f'id="{one["anchor"]}"' in text, one
            assert one["title"]
            assert 20 < len(one["excerpt"]) < 400, one
            assert not BUTTONS.search(one["excerpt"]), one
            seen += 1
    assert seen > 200


def test_results_come_as_one_types_and_the_keyboard_suffices(book):
    """Ctrl-K opens the box, arrows choose, Enter goes there, and what was searched for is marked and in sight."""
    _type(book, "retain_graph")
    options = book.locator("dialog [role=option]")
    assert options.count() >= 3
    assert options.nth(0).get_attribute("aria-selected") == "true"
    assert options.nth(0).locator(".bp-found-text mark").first.inner_text() == "retain_graph"
    book.keyboard.press("ArrowDown")
    assert options.nth(1).get_attribute("aria-selected") == "true"
    chosen = book.locator("dialog input").get_attribute("aria-activedescendant")
    assert chosen == options.nth(1).get_attribute("id")
    where = options.nth(1).locator("a").get_attribute("href")
    book.keyboard.press("Enter")
    book.wait_for_url(re.compile("search=retain_graph"))
    assert book.url.split("?")[0] == where.split("?")[0]
    book.wait_for_function("CSS.highlights.has('bp-searched')")
    places = "[...CSS.highlights.get('bp-searched')].map(r => [r.toString(), r.getBoundingClientRect().top])"
    book.wait_for_timeout(300)
    marked = book.evaluate(places)
    assert {text for text, _ in marked} == {"retain_graph"}
    assert any(0 < top < 900 for _, top in marked), marked
    book.keyboard.press("Escape")
    assert not book.evaluate("CSS.highlights.has('bp-searched')")
    assert book.troubles == []


def test_a_phrase_is_marked_as_one(book):
    """Not each "is" of the page."""
    book.goto(f"{book.root}chapters/mechanics/error_messages.html?search=a+second+time")
    book.wait_for_function("CSS.highlights.has('bp-searched')")
    marked = book.evaluate("[...CSS.highlights.get('bp-searched')].map(r => r.toString().replace(/\\s+/g, ' '))")
    assert {text.lower() for text in marked} == {"a second time"}


def test_where_nothing_is_found_it_says_so(book):
    """And an empty box says nothing."""
    _type(book, "zzqxv")
    assert "Nothing found" in book.locator("dialog [role=status]").inner_text()
    assert book.locator("dialog [role=option]").count() == 0
    book.locator("dialog input").fill("")
    book.wait_for_function("document.querySelector('dialog form').dataset.shown === ''")
    assert book.locator("dialog [role=status]").inner_text() == ""


def test_the_page_of_the_search_is_the_same_box(book):
    """A link with a query shows its results."""
    book.goto(f"{book.root}search.html?q=mixed+precision")
    first = book.locator("main [role=option] a").first
    first.wait_for()
    assert "half_the_bits.html" in first.get_attribute("href")


def test_nothing_of_the_search_is_loaded_before_it_is_used(book):
    """A page that is only read pays for neither index."""
    book.reload()
    loaded = book.evaluate("[...document.querySelectorAll('script[src], link[href]')].map(e => e.src || e.href)")
    loaded += book.evaluate("performance.getEntriesByType('resource').map(e => e.name)")
    assert any("search.js" in name for name in loaded)
    assert [name for name in loaded if re.search("pagefind|searchindex|searchtools|search-text", name)] == []
