"""Set formulas when the book is built: LaTeX becomes MathML Core, which browsers draw and screen readers read."""

import html

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

CONVERTER = LatexToMathML(fancy_error=False)
LOGGER = logging.getLogger(__name__)


def set_formula(node: nodes.Element, *, display: bool) -> str:
    """Return a formula as MathML; one that cannot be set fails the strict build, with its place."""
    latex = node.astext()
    if display and r"\\" in latex and not node["nowrap"]:  # several lines, which Sphinx's own renderer aligns too
        latex = rf"\begin{{aligned}}{latex}\end{{aligned}}"
    try:
        return CONVERTER.convert_with_local_state(latex, displaystyle=display)
    except LatexError as error:
        LOGGER.warning("a formula cannot be set: %s in %s", error, latex, location=node)
        return f"<code>{html.escape(latex)}</code>"


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula among words."""
    translator.body.append(set_formula(node, display=False))
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own, with its number if it has one."""
    translator.body.append(translator.starttag(node, "div", "", CLASS="math"))
    if node["number"]:
        translator.body.append(f'<span class="eqno">({get_node_equation_number(translator, node)})</span>')
    translator.body.append(f"{set_formula(node, display=True)}</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
