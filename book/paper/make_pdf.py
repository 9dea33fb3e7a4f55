"""Print the built book: ``_build/pdf/the-backward-pass.pdf``, and the cheat sheet beside it.

``make pdf`` runs this after ``make book``. Code is printed in one framework; ``make pdf FRAMEWORK=JAX`` takes another.
"""

import argparse
from pathlib import Path

import yaml
from front_matter import BookFacts, Entry, write_front_matter
from join_pages import Document
from playwright.sync_api import BrowserContext
from print_pages import PrintedPage, open_chromium, print_file, print_page, read_links

from course_grader.notebooks.portable import TAB_LABELS

ROOT = Path(__file__).parents[2]
CHEAT_SHEET = "cheat_sheet"
Contents = dict[str, list[tuple[str, int]]]  # the pages of each part, and how deep they stand


def read_contents(root: Path) -> Contents:
    """Read them from ``_toc.yml``; the book's first page is in no part."""
    toc = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    first = {"": [(toc["root"], 0)]}
    return first | {
        part["caption"]: [
            (page["file"], depth)
            for chapter in part["chapters"]
            for depth, page in [(0, chapter), *((1, section) for section in chapter.get("sections", []))]
        ]
        for part in toc["parts"]
    }


def print_parts(chromium: BrowserContext, html: Path, contents: Contents) -> dict[str, list[Entry]]:
    """Print each page, numbered after the one before."""
    wanted, sheets = read_links(html), 0
    parts: dict[str, list[Entry]] = {part: [] for part in contents}
    for part, pages in contents.items():
        for name, depth in pages:
            file = html / f"{name}.html"
            printed = print_page(chromium, file, before=sheets, wanted=wanted.get(file.as_uri(), set()))
            parts[part].append(Entry(printed, depth, sheets + 1))
            sheets += printed.sheets
    return parts


def join_book(opening: PrintedPage, parts: dict[str, list[Entry]]) -> Document:
    """Join the title, the contents and the pages, with bookmarks for parts, pages and sections."""
    document = Document()
    for printed in [opening, *(entry.printed for entries in parts.values() for entry in entries)]:
        document.append(printed)
    for part, entries in parts.items():
        above = document.bookmark(part, entries[0].printed.address) if part else None
        for printed in (entry.printed for entry in entries):
            own = document.bookmark(printed.title, printed.address, above)
            for name, title in printed.sections:
                document.bookmark(title, f"{printed.address}#{name}", own)
    return document


def make_book(html: Path, target: Path, contents: Contents, *, framework: str) -> int:
    """Print the book, and return how many sheets it takes."""
    facts, front = BookFacts.read(ROOT), target.with_suffix(".html")
    with open_chromium(framework) as chromium:
        parts = print_parts(chromium, html, contents)
        text = write_front_matter(facts, parts, framework=TAB_LABELS[framework], static=html / "_static")
        front.write_text(text, "utf-8")
        opening = print_file(chromium, front)
    front.unlink()
    document = join_book(opening, parts)
    document.link(html, facts.site)
    document.write(target, roman=opening.sheets, facts={"/Title": facts.title, "/Author": facts.author})
    return len(document.writer.pages)


def make_cheat_sheet(html: Path, target: Path) -> None:
    """Print the cheat sheet; its links lead to the site."""
    facts = BookFacts.read(ROOT)
    with open_chromium("PyTorch") as chromium:
        sheet = print_file(chromium, html / f"{CHEAT_SHEET}.html", left=facts.say(), right=facts.site)
    document = Document()
    document.append(sheet)
    document.link(html, facts.site)
    document.write(target, facts={"/Title": sheet.title, "/Author": facts.author})


def main() -> None:
    """Print both, and say where they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", choices=list(TAB_LABELS), default="PyTorch")
    framework = parser.parse_args().framework
    html, pdf = ROOT / "_build" / "html", ROOT / "_build" / "pdf"
    pdf.mkdir(parents=True, exist_ok=True)
    sheets = make_book(html, pdf / "the-backward-pass.pdf", read_contents(ROOT), framework=framework)
    make_cheat_sheet(html, pdf / "cheat-sheet.pdf")
    print(f"Printed _build/pdf/the-backward-pass.pdf, {sheets} pages, and _build/pdf/cheat-sheet.pdf.")


if __name__ == "__main__":
    main()
