"""The built book, as people meet it."""

import json
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CONTENTS = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
CHAPTERS = [page for part in CONTENTS["parts"] for page in part["chapters"]]
BESIDE = [page for chapter in CHAPTERS for page in chapter.get("sections", [])]  # exercises stand below their pages
PAGES = [CONTENTS["root"], *(page["file"] for page in CHAPTERS + BESIDE)]
PHONE = 390


def test_the_book_builds_without_a_warning(build):
    """The build is strict, and every page is there."""
    assert build.returncode == 0, build.stdout + build.stderr
    assert [name for name in PAGES if not (build.html / f"{name}.html").is_file()] == []


def test_the_first_page_leads_to_every_other_by_its_title():
    """With a line of its own for each chapter, so that nobody has to guess what is behind a name."""
    contents = (ROOT / "intro.md").read_text("utf-8").partition("\n## Contents")[2]
    for name in PAGES[1:]:
        own_line = "" if name.startswith("api/") else "^- "  # packages of the reference share one
        end = "" if name.startswith("api/") else ": ."
        [text] = re.findall(rf"{own_line}\[([^\]]+)\]\({name}\.(?:ipynb|md)\){end}", contents, re.MULTILINE)
        if name.startswith("chapters/"):
            title = re.search(r"^# (.+)$", (ROOT / f"{name}.md").read_text(), re.MULTILINE)[1]
            assert text == title


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_without_trouble_and_fits_a_phone(visit, name):
    """No script throws, nothing is logged, nothing comes from the network; nothing makes the page scroll sideways."""
    page = visit(name, width=PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    page.set_viewport_size({"width": 1280, "height": 900})
    page.evaluate("() => new Promise(done => requestIdleCallback(done, {timeout: 1000}))")
    assert page.troubles == []


def _open_all(page) -> None:
    """Show what is folded away, and every tab."""
    page.add_style_tag(content=".sd-tab-content { display: block !important }")
    page.evaluate("document.querySelectorAll('article details').forEach(each => { each.open = true })")


def test_the_words_of_drawings_are_legible_on_a_phone(visit, build):
    """No label below nine and a half pixels; an exponent or index may be a little smaller, as in the text."""
    page = visit(PAGES[0], width=PHONE)
    read = """() => [...document.querySelectorAll(".bp-figure text")].map(text => {
      const { a, b } = text.getScreenCTM();
      const parts = text.children.length ? [...text.children] : [text];
      const sizes = parts.map(each => parseFloat(getComputedStyle(each).fontSize) * Math.hypot(a, b));
      return [text.textContent, Math.max(...sizes), Math.min(...sizes)];
    })"""
    seen = {}
    for name in (each for each in PAGES if each.startswith(("chapters/", "exercises/"))):
        page.goto((build.html / f"{name}.html").as_uri())
        _open_all(page)
        seen[name] = page.evaluate(read)
    assert sum(map(len, seen.values())) > 1000
    small = [(name, *text) for name, texts in seen.items() for text in texts if text[1] < 9.5 or text[2] < 7.5]
    assert small == []


def test_code_is_seen_whole_on_a_laptop(visit, build):
    """No line of it stands outside of its box, folded code and every tab's included."""
    page = visit(PAGES[0], width=1200)
    read = """() => [...document.querySelectorAll("article pre")].filter(each => !each.closest(".cell_output"))
      .filter(each => each.scrollWidth > each.clientWidth).map(each => each.textContent.slice(0, 80))"""
    cut_off = {}
    for name in PAGES:
        page.goto((build.html / f"{name}.html").as_uri())
        _open_all(page)
        if found := page.evaluate(read):
            cut_off[name] = found
    assert cut_off == {}


def test_the_list_of_contents_opens_where_the_code_has_its_room(visit):
    """On a laptop by its button, on a larger screen it stands beside the text."""
    page = visit("chapters/clipping/clip_the_gradient", width=1280)
    contents = page.locator("nav.page-toc")
    assert not contents.is_visible()
    page.locator("button.secondary-toggle").click()
    assert contents.is_visible()
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 1440, "height": 900})
    assert contents.is_visible()


def test_the_tables_of_pitfalls_need_no_scrolling_sideways_on_a_phone(visit):
    """Each row is a paragraph there."""
    page = visit("chapters/reference/pitfalls", width=PHONE)
    boxes = page.locator("article .pst-scrollable-table-container:has(table)")
    assert boxes.count() == 6
    assert not any(boxes.evaluate_all("boxes => boxes.map(each => each.scrollWidth > each.clientWidth)"))
    first = page.locator("article tbody tr").first.locator("td, th")
    assert first.nth(0).bounding_box()["width"] == first.nth(1).bounding_box()["width"] > 300


def test_choosing_a_framework_once_chooses_it_everywhere(visit):
    """The tabs of a page are synced, and the choice outlives the page."""
    page = visit("chapters/mechanics/what_backward_does")
    sets = page.locator(".sd-tab-set")
    assert sets.count() >= 4
    sets.first.get_by_text("PyTorch", exact=True).click()
    for _ in range(2):
        chosen = page.locator(".sd-tab-set > input:checked + label").all_inner_texts()
        assert set(chosen) == {"PyTorch"}
        assert len(chosen) == sets.count()
        page.reload()


def test_the_rocket_opens_the_pages_own_notebook(visit):
    """The Colab button names the page's .ipynb."""
    page = visit("chapters/mechanics/what_backward_does")
    link = page.locator("a[href*='colab.research.google.com']").first.get_attribute("href")
    assert link.endswith("/blob/main/chapters/mechanics/what_backward_does.ipynb")


def test_a_figure_follows_the_colour_scheme(visit):
    """On a dark page a graph is drawn in a light colour on the page's own background, and so is its caption."""
    page = visit("chapters/mechanics/what_backward_does", scheme="dark")

    def styles(elements, name):
        return {element.evaluate(f"e => getComputedStyle(e).{name}") for element in page.locator(elements).all()}

    seen = styles(".bp-figure svg", "fill") | styles(".bp-figure figcaption", "color")
    assert all(min(map(int, re.findall(r"\d+", colour))) > 150 for colour in seen), seen
    assert styles(".text_html:has(.bp-figure)", "backgroundColor") == {"rgba(0, 0, 0, 0)"}


def test_whatever_has_the_focus_shows_it(visit):
    """A ring around it, around the name of a tab whose own button is not seen, too."""
    page = visit("chapters/mechanics/what_backward_does")
    ring = """() => {
      const at = document.activeElement, shown = at.matches(".sd-tab-set > input") ? at.nextElementSibling : at;
      if (at === document.body) return null;
      const style = getComputedStyle(shown);
      return [at.outerHTML.slice(0, 80), style.outlineStyle !== "none" || style.boxShadow !== "none"];
    }"""
    stops = []
    page.keyboard.press("Tab")
    while stop := page.evaluate(ring):
        stops.append(stop)
        page.keyboard.press("Tab")
    assert len(stops) > 100
    assert [what for what, seen in stops if not seen] == []


def test_every_figure_says_what_it_shows(visit):
    """A drawing is an image with a name for those who cannot see it."""
    page = visit("chapters/mechanics/what_backward_does")
    figures = page.locator(".bp-figure svg")
    assert figures.count() >= 2
    for figure in figures.all():
        assert figure.get_attribute("role") == "img"
        assert len(figure.get_attribute("aria-label")) > 20


def test_an_answer_is_called_what_it_says(visit):
    """To a screen reader, too: each button to open something has a name of its own."""
    page = visit("chapters/mechanics/what_backward_does")
    answer = page.locator("summary", has_text="Answer 1")
    assert "Answer 1" in answer.aria_snapshot()
    assert "Toggle hidden content" not in page.content()


def test_an_answer_holds_its_words_and_below_them_its_numbers(visit):
    """Both are folded, and opened together; the cell is not on the page a second time."""
    page = visit("chapters/mechanics/what_backward_does")
    answer = page.locator("details.bp-answer").first
    numbers = answer.locator(".cell_output")
    assert not numbers.is_visible()
    answer.locator("summary").click()
    assert numbers.is_visible()
    assert answer.locator("p").first.bounding_box()["y"] < numbers.bounding_box()["y"]
    assert page.locator(".tag_in-answer").count() == page.locator("details .tag_in-answer").count()


def test_the_box_below_the_title_says_what_a_page_takes(visit):
    """Time, what comes before, what can be done after, when it was run; PyTorch is the tab that is open."""
    page = visit("chapters/mechanics/fit_a_line")
    rows = ["Time", "Before this", "After it you can", "GPU", "Verified on"]
    assert page.locator(".bp-info dt").all_inner_texts() == rows
    committed = json.loads((ROOT / "chapters/mechanics/fit_a_line.ipynb").read_text("utf-8"))["metadata"]["verified"]
    assert all(what in page.locator(".bp-info dd").last.inner_text() for what in committed.values())
    links = page.locator(".bp-info a").all_inner_texts()
    assert links == [
        "Backpropagation: what backward() does",
        "Open in Colab",
        "Gradients of a network with two hidden layers",
    ]
    assert page.locator(".sd-tab-set > input:checked + label").first.inner_text() == "PyTorch"


def test_a_term_on_colab_leads_into_the_glossary(visit):
    """Each address that a notebook gives for a term is one that the glossary has."""
    there = set(re.findall(r'id="(term-[^"]+)"', visit("glossary").content()))
    for notebook in [*ROOT.glob("chapters/*/*.ipynb"), *ROOT.glob("exercises/*/*.ipynb")]:
        assert set(re.findall(r"glossary\.html#(term-[\w-]+)", notebook.read_text("utf-8"))) <= there, notebook


def test_the_references_are_labelled_and_sorted_as_the_text_cites_them(visit):
    """By who and when, organisations among people."""
    labels = [label.strip("[]") for label in visit("references").locator(".citation > .label").all_inner_texts()]
    assert {"Glorot and Bengio, 2010", "He et al., 2015", "PyTorch contributors, 2026a"} <= set(labels)
    first = [re.split(r" et al\.| and |, ", label)[0].casefold() for label in labels]
    assert first == sorted(first)


def test_a_page_that_was_read_to_its_end_is_marked_on_the_map_until_it_is_forgotten(visit):
    """In the browser's own memory, and nowhere else."""
    page = visit("chapters/mechanics/fit_a_line")
    marked = "document.querySelectorAll('.bp-map a.bp-read').length"
    start = page.url.replace("chapters/mechanics/fit_a_line", "intro")
    read = page.url
    page.goto(start)
    assert page.evaluate(marked) == 0
    page.goto(read)
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    page.wait_for_function("localStorage.getItem('bp-read')?.includes('fit_a_line')")
    page.goto(start)
    assert page.evaluate(marked) == 2  # one for each drawing of the map
    page.get_by_text("Forget what I have read").click()
    assert page.evaluate(marked) == 0


def test_the_map_leads_to_every_page_and_exercise(visit):
    """Broad and tall alike; none stands outside of its drawing."""
    page = visit("intro")
    wanted = {f"{name}.html" for name in PAGES if name.startswith(("chapters/", "exercises/"))}
    reference = {f"{chapter['file']}.html" for part in CONTENTS["parts"][5:] for chapter in part["chapters"]}
    for drawing in (".bp-broad", ".bp-tall"):
        found = page.eval_on_selector_all(f"{drawing} a", "links => links.map(link => link.getAttribute('href'))")
        assert set(found) == wanted - reference
