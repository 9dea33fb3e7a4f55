"""What others see of the book: descriptions and share cards, a sitemap, a front door, a citation, a page not found."""

import html
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from docutils import nodes
from search import TEXT
from sphinx.application import Sphinx
from sphinx.config import Config

from course_grader.notebooks.repository import Repository

SHORTEST, LONGEST = 40, 200  # letters of a description that a list of results or a share card shows
CARD = "card.png"  # of pages without a figure; book/cards draws the others
ASSETS = Path(__file__).parents[1] / "assets"
DOOR = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<meta http-equiv="refresh" content="0; url={first}">
<link rel="canonical" href="{site}{first}">
{tags}
</head>
<body><p><a href="{first}">{title}</a></p></body>
</html>
"""


def derive(app: Sphinx, config: Config) -> None:
    """Set what follows from the repository's address: where the page for lost readers finds its style sheets."""
    config.notfound_urls_prefix = urlsplit(Repository.read(Path(app.srcdir)).site).path


def add_tags(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Describe a page for lists of results (``description``) and for where a link is shared (``og:``)."""
    context["citation"] = bibtex(Path(app.srcdir), year=str(app.config.copyright))
    if doctree is not None:
        title = doctree.next_node(nodes.title).astext()
        context["metatags"] += tags(app, title, description(app, page), app.builder.get_target_uri(page))


def tags(app: Sphinx, title: str, about: str, where: str) -> str:
    """Return the tags of a page."""
    site, card = app.config.html_baseurl, f"cards/{where.removesuffix('.html')}.png"
    own = (ASSETS / card).is_file()
    named = {"description": about, "twitter:card": "summary_large_image"}
    shared = {
        "title": title,
        "description": about,
        "type": "article" if where.startswith("chapters/") else "website",
        "site_name": app.config.html_title,
        "url": site + where,
        "image": f"{site}_static/{card if own else CARD}",
        "image:width": "1200",
        "image:height": "630",
        "image:alt": f"{title}, with the page's first figure" if own else app.config.html_title,
    }
    lines = [f'<meta name="{key}" content="{html.escape(value)}">' for key, value in named.items()]
    lines += [f'<meta property="og:{key}" content="{html.escape(value)}">' for key, value in shared.items()]
    return "\n".join(["", *lines, ""])


def description(app: Sphinx, page: str) -> str:
    """Return what a page is good for, in a sentence: its goals, else how it begins."""
    first = app.env.book_text[page][0]  # kept by search.py
    text = f"After this page you can {first.goals}." if first.goals else ""
    for kind, words in first.pieces:
        if kind == TEXT and words.endswith((".", "?", ":")) and len(text) < SHORTEST:  # not a table's cells
            text = f"{text} {words}".strip()
    text = text or f"{first.heading}: a page of {app.config.html_title}."
    if len(text) <= LONGEST:
        return text
    cut = text[: LONGEST - 1]
    ends = [cut.rfind(mark) for mark in (". ", "; ", ", ")]
    at = max(ends[:2]) if max(ends[:2]) > LONGEST // 2 else cut.rfind(" ")
    return cut[:at].rstrip(",;.: ") + ("." if at in ends[:2] else " …")


def bibtex(root: Path, *, year: str) -> str:
    """Return ``CITATION.cff`` as an entry of BibTeX, with the address that the repository has now."""
    facts = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))
    authors = " and ".join(f"{{{author['name']}}}" for author in facts["authors"])  # braces: one name, not two
    return (
        f"@book{{the_backward_pass,\n  title = {{{facts['title']}}},\n  author = {{{authors}}},\n"
        f"  year = {{{year}}},\n  version = {{{facts['version']}}},\n"
        f"  url = {{{Repository.read(root).site}}}\n}}"
    )


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the sitemap and the front door, which Jupyter Book otherwise leaves without a title."""
    if exception is not None or app.builder.format != "html":
        return
    out, site = Path(app.outdir), app.config.html_baseurl
    pages = [app.builder.get_target_uri(page) for page in sorted(app.env.found_docs)]
    places = "".join(f"<url><loc>{html.escape(site + page)}</loc></url>\n" for page in pages)
    head = '<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    (out / "sitemap.xml").write_text(f"{head}{places}</urlset>\n", "utf-8")
    root = app.config.root_doc
    first = app.builder.get_target_uri(root)
    about = tags(app, app.config.html_title, description(app, root), first)
    door = DOOR.format(title=html.escape(app.config.html_title), first=first, site=site, tags=about)
    (out / "index.html").write_text(door, "utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.setup_extension("notfound.extension")
    app.connect("config-inited", derive, priority=400)
    app.connect("html-page-context", add_tags)
    app.connect("build-finished", write, priority=900)  # after the redirect without a title that Jupyter Book writes
    return {"parallel_read_safe": True, "parallel_write_safe": True}
