"""What search engines, previews of links, and lost readers see."""

import html
import http.server
import re
import threading
import tomllib
from xml.etree import ElementTree

import pytest
import yaml
from PIL import Image

from course_grader.notebooks.repository import Repository
from tests.book.test_pages import PAGES, ROOT

SITE = Repository.read(ROOT).site
CARDS = ROOT / "book" / "assets" / "cards"


def _tags(build, name: str) -> dict[str, str]:
    text = (build.html / f"{name}.html").read_text("utf-8")
    found = re.findall(r'<meta (?:name|property)="([\w:]+)" content="([^"]*)"', text)
    return {key: html.unescape(value) for key, value in found}


def test_each_page_says_what_it_is_for(build):
    """In a sentence of its own, not longer than a list of results shows."""
    about = {name: _tags(build, name)["description"] for name in PAGES}
    assert len(set(about.values())) == len(PAGES)
    assert {name: text for name, text in about.items() if not 30 <= len(text) <= 200} == {}
    assert not [text for text in about.values() if re.search(r"Open in Colab|minutes|\\[a-z]", text)]
    goals = "After this page you can predict what backward() leaves in .grad"
    assert about["chapters/mechanics/what_backward_does"].startswith(goals)


@pytest.mark.parametrize("name", ["index", "intro", "chapters/training/half_the_bits"])
def test_a_shared_link_shows_a_card(build, name):
    """A picture in a format that every service takes, of the size that it is said to have."""
    tags = _tags(build, name)
    assert {"og:title", "og:description", "og:type", "og:url", "og:site_name", "og:image:alt"} <= set(tags)
    card = build.html / tags["og:image"].removeprefix(SITE)
    width, height = (int.from_bytes(card.read_bytes()[at : at + 4]) for at in (16, 20))
    assert card.read_bytes().startswith(b"\x89PNG")
    assert (str(width), str(height)) == (tags["og:image:width"], tags["og:image:height"])
    assert card.stat().st_size < 100_000


def test_the_cards_of_pages_have_their_titles(build):
    """Each chapter has one; ``make cards`` draws them anew."""
    cards = {path.relative_to(CARDS).with_suffix("").as_posix(): path for path in CARDS.rglob("*.png")}
    chapters = {name for name in PAGES if name.startswith("chapters/") and not name.endswith("error_messages")}
    assert chapters <= cards.keys() <= set(PAGES)
    drawn, now = {}, {}
    for name, path in cards.items():
        with Image.open(path) as card:
            drawn[name], now[name] = card.text["Title"], _tags(build, name)["og:title"]
    assert drawn == now
    assert all(_tags(build, name)["og:image"] == f"{SITE}_static/cards/{name}.png" for name in cards)


def test_the_sitemap_lists_every_page_once(build):
    """By its address on the site."""
    names = [place.text for place in ElementTree.parse(build.html / "sitemap.xml").iter() if place.tag.endswith("loc")]
    assert sorted(names) == sorted(f"{SITE}{name}.html" for name in PAGES)


def test_the_front_door_has_a_name_and_leads_on(visit):
    """Also without a script."""
    page = visit("index")
    page.wait_for_url("**/intro.html")
    text = page.evaluate("document.title")
    assert "The Backward Pass" in text


def test_a_lost_reader_finds_style_and_search(build):
    """The page is served below any address, so its files are named from the site's root."""
    text = (build.html / "404.html").read_text("utf-8")
    root = "/" + SITE.split("/", 3)[3]
    local = re.findall(r'(?:src|href)="([^":#]*\.(?:css|js|html)[^"]*)"', text)
    assert len(local) > 20
    assert [link for link in local if not link.startswith(root)] == []
    assert "Page not found" in text


@pytest.fixture(params=["/" + SITE.split("/", 3)[3], "/", "/courses/2027/"])
def hosted(request, build):
    """Serve the book below an address, with its page for lost readers in place of what is not there."""

    class Host(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path):
            inside = path.partition("?")[0].removeprefix(request.param)
            return str(build.html / ("missing" if inside.startswith("/") else inside))

        def send_error(self, code, *_):
            page = (build.html / "404.html").read_bytes()
            self.send_response(code)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page if self.command == "GET" else b"")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Host) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}{request.param}"
        server.shutdown()


@pytest.mark.parametrize("missing", ["gone.html", "chapters/no/such/page.html"])
def test_a_lost_reader_is_helped_wherever_the_book_stands(browser, hosted, missing):
    """At its own address and at others, at every depth: with its look, its links, and its search."""
    page = browser.new_page()
    page.goto(hosted + missing)
    page.wait_for_function("getComputedStyle(document.querySelector('h1')).fontFamily.includes('Source Serif')")
    page.wait_for_load_state("networkidle")
    link = page.locator("nav.bd-links a[href*=what_backward_does]")
    assert link.evaluate("each => each.href") == f"{hosted}chapters/mechanics/what_backward_does.html"
    page.keyboard.press("Control+k")
    page.locator("dialog input[type=search]").fill("no_grad")
    page.locator("[role=option]").first.wait_for()
    page.close()


def test_how_to_cite_is_at_the_foot_and_in_a_file(visit):
    """With the version and the authors that stand elsewhere, and the address from the one setting."""
    facts = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    settings = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert facts["version"] == project["version"]
    assert facts["title"] == settings["title"]
    assert facts["authors"] == [{"name": settings["author"]}]
    assert " AND ".join(facts["license"]) == project["license"]
    page = visit("chapters/mechanics/fit_a_line")
    page.locator("footer summary", has_text="Cite this book").click()
    entry = page.locator("footer pre").inner_text()
    assert f"version = {{{facts['version']}}}" in entry
    assert f"url = {{{SITE}}}" in entry
    assert page.locator("footer a[rel=license]").count() == 1
