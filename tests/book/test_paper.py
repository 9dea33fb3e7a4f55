"""The book on paper: printed from the browser, as one PDF, and packed."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from pypdf import PdfReader

ROOT = Path(__file__).parents[2]
FIRST, ENGINE = "chapters/mechanics/what_backward_does", "chapters/mechanics/build_the_engine"
TITLES = {
    "intro": "The Backward Pass",
    FIRST: "Backpropagation: what backward() does",
    ENGINE: "Autograd from scratch: build the engine",
    "glossary": "Glossary",
}
PRINT = """
import json, sys
from pathlib import Path
sys.path.insert(0, "book/paper")
from make_pdf import make_book
html, target, contents = map(json.loads, sys.argv[1:])
make_book(Path(html), Path(target), contents, framework="JAX")
"""


def read_pdf(page) -> list[str]:
    """Print a page, and return the words of each sheet."""
    return [sheet.extract_text() for sheet in PdfReader(io.BytesIO(page.pdf(format="A4"))).pages]


def test_a_dark_page_is_printed_light(visit):
    """Else its figures are pale on white paper; afterwards it is dark again."""
    page = visit(FIRST, scheme="dark")
    fill = "[...document.querySelectorAll('.bp-figure svg')].map(e => getComputedStyle(e).fill)"
    page.evaluate(f"addEventListener('beforeprint', () => window.printed = {fill})")
    page.pdf()
    seen = page.evaluate("window.printed")
    assert len(seen) >= 2
    assert all(max(map(int, re.findall(r"\d+", colour))) < 80 for colour in seen), seen
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert all(min(map(int, re.findall(r"\d+", colour))) > 150 for colour in page.evaluate(fill))


def test_paper_has_the_code_of_the_framework_that_was_chosen(visit):
    """Under its name, and of no other."""
    page = visit(FIRST)
    for chosen, other in (("PyTorch", "jax.grad"), ("JAX", "loss.backward()\n")):
        page.locator(".sd-tab-label", has_text=chosen).first.click()
        page.emulate_media(media="print")
        labels = [label for label in page.locator(".sd-tab-label").all() if label.is_visible()]
        assert {label.inner_text() for label in labels} == {chosen}
        assert len(labels) == page.locator(".sd-tab-set").count()
        assert page.locator(".sd-tab-content pre", has_text=other).first.is_visible() is False
        page.emulate_media(media="screen")


def test_on_paper_folds_are_open_but_for_the_code_of_figures(visit):
    """Answers, and what code prints; afterwards they are as they were."""
    page = visit(FIRST)
    page.locator("details.bp-answer summary").nth(1).click()
    folds = "[...document.querySelectorAll('.bd-article details')].map(fold => fold.open)"
    before = page.evaluate(folds)
    words = "".join(read_pdf(page))
    assert "They double. The second walk is allowed" in words
    assert "a receives 6.0" in words
    assert not re.search(r"(Show|Hide) ", words)
    assert page.evaluate(folds) == before


@pytest.mark.parametrize("name", [ENGINE, "chapters/monitoring/eight_broken_runs", "machine"])
def test_no_sheet_is_blank_and_no_line_is_lost(visit, name):
    """Code longer than a sheet is broken, each line of it is printed, and none of the sheets is left empty."""
    page = visit(name)
    sheets = read_pdf(page)
    assert [number for number, words in enumerate(sheets) if len(words.split()) < 12] == []
    page.emulate_media(media="print")
    shown = page.evaluate(
        "[...document.querySelectorAll('pre')].filter(e => e.checkVisibility()).map(e => e.innerText)"
    )
    printed = re.sub(r"\s", "", "".join(sheets))
    lines = {re.sub(r"\s", "", line) for code in shown for line in code.splitlines()}
    assert [line for line in lines if line not in printed] == []


@pytest.fixture(scope="module")
def pdf(build, tmp_path_factory, chromium):
    """Four pages of the book, with title and contents, as `make pdf` prints them."""
    target = tmp_path_factory.mktemp("pdf") / "book.pdf"
    contents = {"": [("intro", 0)], "Mechanics": [(FIRST, 0), (ENGINE, 1)], "Back matter": [("glossary", 0)]}
    given = [json.dumps(each) for each in (str(build.html), str(target), contents)]
    done = subprocess.run([sys.executable, "-c", PRINT, *given], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return PdfReader(target)


def test_the_contents_give_the_number_at_the_foot_of_each_page(pdf):
    """And bookmarks lead there, parts above pages above sections."""
    sheets = [sheet.extract_text() for sheet in pdf.pages]
    for title in TITLES.values():
        number = re.search(rf"{re.escape(title)}\s*(\d+)\n", sheets[1] + "\n")[1]
        at = pdf.page_labels.index(number)
        assert sheets[at].count(title) >= 2  # as its heading, and at its foot
        assert number in re.findall(r"\d+", sheets[at].partition("\n")[0] + sheets[at].rpartition("\n")[2])
    flat = [item for item in pdf.outline if not isinstance(item, list)]
    assert [item.title for item in flat] == ["The Backward Pass", "Mechanics", "Back matter"]
    (pages,) = [below for below in pdf.outline if isinstance(below, list) and below[0].title == TITLES[FIRST]]
    assert [item.title for item in pages if not isinstance(item, list)] == [TITLES[FIRST], TITLES[ENGINE]]
    assert "The chain rule, with numbers" in {item.title for item in pages[1]}
    assert pdf.metadata.title == "The Backward Pass"


def test_a_link_between_pages_leads_within_the_pdf(pdf):
    """A term leads to its definition; what is not in the PDF is on the site, and nothing on this disk."""
    links = [(number, link.get_object()) for number, sheet in enumerate(pdf.pages) for link in sheet.annotations or []]
    addresses = [str(link["/A"]["/URI"]) for _, link in links if "/A" in link]
    assert addresses
    assert [address for address in addresses if address.startswith("file:") or ".." in address] == []
    first = next(number for number, words in enumerate(map(str, pdf.page_labels)) if words == "1")
    places = [(number, link["/Dest"]) for number, link in links if "/Dest" in link and number >= first]
    sheets = {sheet.indirect_reference.idnum: number for number, sheet in enumerate(pdf.pages)}
    across = [(here, sheets[place[0].idnum], place[3]) for here, place in places]
    glossary = pdf.page_labels.index(re.search(r"Glossary\s*(\d+)", pdf.pages[1].extract_text())[1])
    terms = [(there, top) for here, there, top in across if here < glossary <= there]
    assert len(set(terms)) > 10  # each has a place of its own


def test_the_pdf_has_the_code_of_the_framework_that_was_asked_for(pdf):
    """Here JAX's, as its title says."""
    words = "".join(sheet.extract_text() for sheet in pdf.pages)
    assert "with the code in JAX" in words
    assert "import jax" in words
    assert "a.register_hook" not in words.partition("Three errors")[0].rpartition("Backpropagation: what")[2]


def test_the_packed_site_is_all_of_it(build, tmp_path):
    """In one folder, named after the book."""
    target = tmp_path / "book.zip"
    code = "import sys; sys.path.insert(0, 'book/paper'); from make_zip import pack; from pathlib import Path"
    subprocess.run(
        [sys.executable, "-c", f"{code}; pack(Path({str(build.html)!r}), Path({str(target)!r}))"], check=True
    )
    packed = {name for name in ZipFile(target).namelist() if not name.endswith("/")}
    wanted = {f"the-backward-pass/{path.relative_to(build.html)}" for path in build.html.rglob("*") if path.is_file()}
    assert packed == wanted
    assert "the-backward-pass/index.html" in packed


def test_what_was_made_is_offered_and_nothing_else(build, tmp_path):
    """Links come with the files, and go with them; `make book` alone makes neither."""
    assert "bp-downloads" not in (build.html / "cheat_sheet.html").read_text("utf-8")
    (tmp_path / "index.rst").write_text("Title\n=====\n\n.. downloads::\n")
    sphinx = [sys.executable, "-m", "sphinx", "-q", "-C", "-D", "extensions=downloads", ".", "out/html"]
    paths = {"PYTHONPATH": f"{ROOT / 'book' / 'extensions'}"}
    made, page = tmp_path / "out" / "pdf" / "cheat-sheet.pdf", tmp_path / "out" / "html" / "index.html"
    for there in (False, True, False):
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_bytes(b"%PDF") if there else made.unlink(missing_ok=True)
        subprocess.run(sphinx, cwd=tmp_path, env=paths, check=True)
        links = re.findall(r'href="([^"]*cheat-sheet.pdf)"', page.read_text("utf-8"))
        assert [(page.parent / link).is_file() for link in links] == ([True] if there else [])
        assert (page.parent / "downloads").exists() == there
