"""Questions that take an answer: ``:::{answer} 1`` holds what may be answered, and folds the words that explain it.

Cells tagged ``in-answer`` that follow it go inside. Fields are those of ``course_grader.notebooks.typed_answers``:
without JavaScript their choices are a list above the fold, and their diagnoses one inside it.
"""

import html
import json
import re
from collections.abc import Sequence
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from course_grader.notebooks.typed_answers import Field, split_answer
from course_lib.errors import NotebookError

TAG = "in-answer"


class Answer(nodes.General, nodes.Element):
    """An answer that a reader opens; ``fields`` is what ``questions.js`` holds the reader's own against."""


class AnswerDirective(Directive):
    """``answer``: its argument is the number of the question, or the question."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Parse the fields and the words."""
        try:
            fields, words = split_answer("\n".join(self.content))
        except NotebookError as error:
            raise self.error(str(error)) from error
        asked = self.arguments[0]
        label = f"Answer {asked}" if asked[:1].isdigit() else asked
        answer = self._fold(label, fields, words, "**Other answers**", [field.as_diagnoses() for field in fields])
        return [*self._fields(fields), answer]

    def _fields(self, fields: Sequence[Field]) -> list[nodes.container]:
        return [self._box(field.as_question(), "bp-field", f"bp-{field.kind}") for field in fields]

    def _fold(self, label: str, fields: Sequence[Field], words: str, head: str, diagnoses: list[str]) -> Answer:
        fold = Answer(label=label, fields=[_settings(field) for field in fields])
        self._parse(words, fold)
        if fields:
            fold += self._box(head, "bp-mistakes")
            fold[-1] += [self._box(diagnosis) for diagnosis in diagnoses]
        return fold

    def _box(self, text: str, *classes: str) -> nodes.container:
        box = nodes.container(classes=list(classes), is_div=True)
        self._parse(text, box)
        return box

    def _parse(self, text: str, node: nodes.Element) -> None:
        self.state.nested_parse(StringList(text.splitlines(), ""), self.content_offset, node)


def _settings(field: Field) -> dict[str, Any]:
    if field.kind == "number":
        return {"spans": [option.span for option in field.options], "unit": field.unit}
    tones = [option.tone for option in field.options]
    return {"order": field.shown, "tones": tones} if field.kind == "order" else {"right": field.right, "tones": tones}


def take_in_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Move the tagged cells that follow an answer into it, below its words."""
    for answer in list(doctree.findall(Answer)):
        block = answer.parent if "bp-warm" in answer.parent["classes"] else answer
        siblings = block.parent.children
        after = block.parent.index(block) + 1
        at = len(answer) - bool(answer["fields"])  # what else may be answered stays last
        while after < len(siblings) and _is_inside(siblings[after]):
            cell = siblings[after]
            block.parent.remove(cell)
            answer.insert(at, cell)
            at += 1


def _is_inside(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and TAG in node.get("cell_metadata", {}).get("tags", [])


def open_details(translator: HTML5Translator, node: Answer) -> None:
    """Write a ``details`` element with the answer's name."""
    fields, kind = html.escape(json.dumps(node["fields"])), node.get("kind", "bp-answer")
    label = re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(node["label"]))
    translator.body.append(f'<details class="{kind}" data-fields="{fields}"><summary>{label}</summary>')


def close_details(translator: HTML5Translator, node: Answer) -> None:
    """Close it."""
    translator.body.append("</details>")


def load_assets(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Have a page with a question load what it needs, after its text."""
    if doctree is not None and any(answer["fields"] for answer in doctree.findall(Answer)):
        app.add_css_file("questions.css")
        app.add_js_file("questions.js", loading_method="defer", priority=900)  # after progress.js, which keeps answers


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_node(Answer, html=(open_details, close_details))
    app.add_directive("answer", AnswerDirective)
    app.connect("doctree-read", take_in_cells, priority=400)  # before tabs are made of neighbours
    app.connect("html-page-context", load_assets)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
