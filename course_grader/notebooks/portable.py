"""Make a notebook readable where MyST is not known: Colab, Jupyter, GitHub.

The book reads the text itself; what is written here is for those who open the notebook.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode, v4

from course_grader.notebooks.page_facts import tab_of
from course_grader.notebooks.typed_answers import split_answer
from course_grader.notebooks.warm_ups import split_warm_up
from course_lib.errors import NotebookError

__all__ = ["TAB_LABELS", "PlainMarkdown", "fold_code", "name_tabs", "read_terms"]

# The frameworks in their order, and how readers know them.
TAB_LABELS = {"PyTorch": "PyTorch", "JAX": "JAX", "engine": "This course's engine"}
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
ROLE = re.compile(r"\{(term|cite:p|cite:t)\}`([^`]+)`")
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)\s]+)\.(?:ipynb|md)(#[^)\s]*)?\)")
BOX = re.compile(r"^(:{3,})\{(\w+)\} ?([^\n]*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)

OPTIONS = re.compile(r"\A(?::[a-z-]+:[^\n]*\n)+")  # how a box looks in the book


@dataclass(frozen=True)
class PlainMarkdown:
    """Turns the MyST of a page into plain Markdown.

    Attributes
    ----------
    site : str
        Address of the published book, with a slash at its end.
    page : str
        The page's path from the book's root, without suffix.
    citations : dict
        Authors and year of each source, by key.
    terms : dict
        The glossary's spelling of each term, by the term in lower case.

    Examples
    --------
    >>> cited, terms = {"he2016": ("He et al.", "2016")}, {"leaf": "leaf"}
    >>> plain = PlainMarkdown("https://host.example/", "chapters/part/page", cited, terms)
    >>> plain("A {term}`leaf` {cite:p}`he2016`, see [there](../a/b.ipynb).")
    'A [leaf](https://host.example/glossary.html#term-leaf) (He et al., 2016), see [there](https://host.example/chapters/a/b.html).'
    """

    site: str
    page: str
    citations: dict[str, tuple[str, str]]
    terms: dict[str, str]

    def __call__(self, text: str) -> str:
        """Return ``text`` without roles, directives and links between files; blocks of code stay as they are."""
        text = BOX.sub(lambda found: self._convert_box(found[2], found[3].strip(), found[4].strip()), text)
        outside = FENCE.split(text)[::2]  # split also returns the fences' own marks
        inside = [found.group() for found in FENCE.finditer(text)]
        pieces = [self._convert(piece) for piece in outside]
        return "".join(a + b for a, b in zip(pieces, [*inside, ""], strict=True))

    def _convert(self, text: str) -> str:
        text = LINK.sub(lambda found: f"]({self._address(found[1])}{found[2] or ''})", text)
        return ROLE.sub(lambda found: self._convert_role(found[1], found[2]), text)

    def _address(self, path: str) -> str:
        return f"{self.site}{posixpath.normpath(posixpath.join(posixpath.dirname(self.page), path))}.html"

    def _convert_box(self, kind: str, title: str, body: str) -> str:
        """Fold an answer or a dropdown, link to a figure to play with; quote any other box, under its name."""
        if kind == "answer":
            return self._convert_answer(title, body)
        if kind == "warm_up":
            return self._convert_warm_up(title, body)
        if kind == "dropdown":
            body = OPTIONS.sub("", body).strip()
            return f"<details>\n<summary><b>{title}</b></summary>\n\n{body}\n\n</details>"
        if kind == "play":
            tried = body.removeprefix(":try:").strip()
            return f"> **[A figure to play with]({self.site}{self.page}.html#{title})**, in the book. {tried}"
        title = title if kind == "admonition" else kind.capitalize()
        return "\n".join(f"> {line}".rstrip() for line in [f"**{title}.**", "", *body.splitlines()])

    def _convert_answer(self, asked_for: str, body: str) -> str:
        """List the choices above the fold; the words stand in it, and what each mistake was."""
        fields, words = split_answer(body)
        asked = [text for field in fields if field.kind == "choice" and (text := field.as_question())]
        title = f"Answer {asked_for}" if asked_for[:1].isdigit() else asked_for
        mistakes = ["**Other answers**", *(field.as_diagnoses() for field in fields)] if fields else []
        folded = self._convert_box("dropdown", title, "\n\n".join([words, *mistakes]))
        return "\n\n".join([*asked, folded])

    def _convert_warm_up(self, title: str, body: str) -> str:
        """List what can be chosen above the fold; what is right stands in it."""
        warm_up = split_warm_up(body)
        asked = [field.as_question() for field in warm_up.fields]
        solved = [warm_up.words, *(field.as_solution() for field in warm_up.fields)]
        folded = self._convert_box("dropdown", "Answers", "\n\n".join(solved))
        return "\n\n".join(part for part in [f"**Warm-up: {title}**", warm_up.prompt, *asked, folded] if part)

    def _convert_role(self, role: str, content: str) -> str:
        if role == "term":
            shown, _, term = content.removesuffix(">").rpartition(" <")
            term = " ".join(term.split())  # a line may end inside of it
            spelled = self.terms.get(term.lower(), term)
            return f"[{shown or term}]({self.site}glossary.html#term-{spelled.replace(' ', '-')})"
        cited = [self.citations[key.strip()] for key in content.split(",")]
        if role == "cite:p":
            return f"({'; '.join(f'{names}, {year}' for names, year in cited)})"
        return ", ".join(f"{names} ({year})" for names, year in cited)


def read_terms(glossary: Path) -> dict[str, str]:
    """Return the terms that the glossary defines, as it spells them, by the term in lower case."""
    text = glossary.read_text(encoding="utf-8") if glossary.is_file() else ""
    return {term.lower(): term for term in re.findall(r"^(?![#`])(\S.*)$", text, re.MULTILINE)}


def fold_code(cells: Iterable[NotebookNode]) -> None:
    """Fold what the book folds, by the metadata of Colab and of Jupyter: code, outputs, or both."""
    for cell in cells:
        tags = set(cell.metadata.get("tags", []))
        if tags & {"hide-input", "hide-cell", "in-answer"}:
            cell.metadata.cellView = "form"
            cell.metadata.setdefault("jupyter", NotebookNode()).source_hidden = True
        if tags & {"hide-output", "hide-cell", "in-answer"}:
            cell.metadata.collapsed = True
            cell.metadata.setdefault("jupyter", NotebookNode()).outputs_hidden = True


def name_tabs(cells: Iterable[NotebookNode]) -> Iterator[NotebookNode]:
    """Yield the cells, and before each run of cells of one framework its name."""
    before: str | None = None
    for cell in cells:
        tab = tab_of(cell.metadata.get("tags", []))
        if tab and tab not in TAB_LABELS:
            raise NotebookError(f"a tab is tab:{', tab:'.join(TAB_LABELS)}, but a cell is tagged tab:{tab}; rename it")
        if tab and tab != before:
            yield v4.new_markdown_cell(f"**{TAB_LABELS[tab]}**", id=f"tab-{cell.id}"[:64])
        before = tab
        yield cell
