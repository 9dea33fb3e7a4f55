"""Fold answers: ``:::{answer} 1`` holds the words, and cells tagged ``in-answer`` that follow it go inside."""

import html
import re

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

TAG = "in-answer"


class Answer(nodes.General, nodes.Element):
    """An answer that a reader opens."""


class AnswerDirective(Directive):
    """``answer``: its argument is the number of the question, or the question."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Parse the words."""
        asked = self.arguments[0]
        answer = Answer(label=f"Answer {asked}" if asked[:1].isdigit() else asked)
        self.state.nested_parse(self.content, self.content_offset, answer)
        return [answer]


def take_in_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Move the tagged cells that follow an answer into it."""
    for answer in list(doctree.findall(Answer)):
        siblings = answer.parent.children
        after = answer.parent.index(answer) + 1
        while after < len(siblings) and _is_inside(siblings[after]):
            cell = siblings[after]
            answer.parent.remove(cell)
            answer += cell


def _is_inside(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and TAG in node.get("cell_metadata", {}).get("tags", [])


def open_details(translator: HTML5Translator, node: Answer) -> None:
    """Write a ``details`` element with the answer's name."""
    label = re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(node["label"]))
    translator.body.append(f'<details class="bp-answer"><summary>{label}</summary>')


def close_details(translator: HTML5Translator, node: Answer) -> None:
    """Close it."""
    translator.body.append("</details>")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_node(Answer, html=(open_details, close_details))
    app.add_directive("answer", AnswerDirective)
    app.connect("doctree-read", take_in_cells, priority=400)  # before tabs are made of neighbours
    return {"parallel_read_safe": True, "parallel_write_safe": True}
