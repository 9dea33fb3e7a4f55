"""Warm-ups: ``:::{warm_up} TITLE`` is a puzzle early on a page, in the form of ``course_grader.notebooks.warm_ups``.

Its fields and its fold are those of an answer, and so are cells tagged ``in-answer`` that follow it; ``questions.js``
judges each field at once. Without JavaScript what may be chosen is listed above the fold, and what is right inside.
"""

from answers import AnswerDirective
from docutils import nodes
from sphinx.application import Sphinx

from course_grader.notebooks.warm_ups import split_warm_up
from course_lib.errors import NotebookError


class WarmUpDirective(AnswerDirective):
    """``warm_up``: its argument is the title."""

    def run(self) -> list[nodes.Node]:
        """Parse title, prompt and fields, and the fold with the words and what is right."""
        try:
            warm_up = split_warm_up("\n".join(self.content))
        except NotebookError as error:
            raise self.error(str(error)) from error
        minutes = f"{warm_up.minutes} minute{'s' if warm_up.minutes > 1 else ''}"
        card = nodes.container(classes=["bp-warm"], is_div=True)
        card += self._box(f"**{self.arguments[0]}**\n\nWarm-up, {minutes}", "bp-warm-head")
        card += self._box(warm_up.prompt, "bp-warm-prompt")
        card += self._fields(warm_up.fields)
        solved = [field.as_solution() for field in warm_up.fields]
        card += self._fold("Answers", warm_up.fields, warm_up.words, "**What is right, and why not another**", solved)
        card[-1]["kind"] = "bp-warm-answers"
        return [card]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("warm_up", WarmUpDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
