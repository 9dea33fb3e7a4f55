"""Print pages of the built book with Chromium: each as a PDF, with a line at its foot and a place for every link."""

import io
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urljoin

from playwright.sync_api import BrowserContext, Page, sync_playwright
from pypdf import PdfReader

PROGRAMS = ("google-chrome", "chromium", "chromium-browser")  # Ubuntu's Chromium is a snap, which sees no /tmp
LINK = re.compile(r'href="([^"#]*)#([^"]+)"')
FOOT = """
@page {{
  @bottom-left {{ content: {left}; font: {size} "Source Sans"; color: #586273; }}
  @bottom-right {{ content: {right}; font: {size} "Source Sans"; color: #586273; }}
}}
"""
NUMBER = ":root {{ counter-reset: page {before}; }}"  # it goes on from the page before
# Chromium keeps the place of what the page itself has a link to; those that other pages have are added, unseen.
ADD_LINKS = """names => {
  const links = document.createElement("div");
  links.style.display = "none";
  for (const name of names) links.append(Object.assign(document.createElement("a"), { href: "#" + name }));
  document.body.append(links);
}"""
TITLES = """() => [...document.querySelectorAll(".bd-article h1, .bd-article section section > h2")].map(heading => {
  const copy = heading.cloneNode(true);
  copy.querySelector(".headerlink")?.remove();
  return [heading.parentElement.id, copy.textContent.trim()];
})"""


@dataclass(frozen=True)
class PrintedPage:
    """A page of the book on paper.

    Attributes
    ----------
    address : str
        Where the page lies on this disk, as its links name it.
    title : str
        Its heading.
    pdf : bytes
        The sheets.
    sections : list of (str, str)
        The ids and the headings of its sections.
    """

    address: str
    title: str
    pdf: bytes
    sections: list[tuple[str, str]] = field(default_factory=list)

    @property
    def sheets(self) -> int:
        """How many it takes."""
        return len(PdfReader(io.BytesIO(self.pdf)).pages)


@contextmanager
def open_chromium(framework: str) -> Iterator[BrowserContext]:
    """Start the system's Chromium; in each set of tabs it opens that of the framework, if there is one."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        raise SystemExit("The book is printed by Chromium, which is not installed; run: sudo apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
        chosen = json.dumps(framework.lower())
        context.add_init_script(f"localStorage.setItem('sphinx-design-tab-id-framework', {chosen})")
        yield context
        browser.close()


def print_page(chromium: BrowserContext, file: Path, *, before: int, wanted: set[str]) -> PrintedPage:
    """Print a page of the book, numbered from ``before`` + 1, with a destination for each id that is ``wanted``."""
    page = _open(chromium, file)
    (_, title), *sections = page.evaluate(TITLES)
    page.evaluate(ADD_LINKS, sorted(wanted | {name for name, _ in sections}))
    foot = FOOT.format(left=_quote(title), right="counter(page)", size="8pt")
    page.add_style_tag(content=foot + NUMBER.format(before=before))
    return PrintedPage(file.as_uri(), title, _print(page), [(name, heading) for name, heading in sections])


def print_file(chromium: BrowserContext, file: Path, *, left: str = "", right: str = "") -> PrintedPage:
    """Print a file by itself, with words at its foot."""
    page = _open(chromium, file)
    page.add_style_tag(content=FOOT.format(left=_quote(left), right=_quote(right), size="6pt"))
    return PrintedPage(file.as_uri(), page.title(), _print(page))


def _quote(words: str) -> str:
    return json.dumps(words, ensure_ascii=False)


def _open(chromium: BrowserContext, file: Path) -> Page:
    page = chromium.new_page()
    page.goto(file.as_uri())
    page.evaluate("() => document.fonts.ready.then(() => undefined)")
    return page


def _print(page: Page) -> bytes:
    pdf = page.pdf(format="A4", prefer_css_page_size=True, print_background=True)
    page.close()
    return pdf


def read_links(html: Path) -> dict[str, set[str]]:
    """Return, for each address that a page of the book links to, the ids that these links name."""
    wanted: dict[str, set[str]] = {}
    for file in sorted(html.rglob("*.html")):
        for target, name in LINK.findall(file.read_text("utf-8")):
            wanted.setdefault(urljoin(file.as_uri(), target), set()).add(unquote(name))
    return wanted
