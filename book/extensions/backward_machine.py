"""The ``backward()`` machine: ``:::{backward-machine} z = x*y + sin(x)`` puts a graph to play with on a page.

A machine is an element with its expression in attributes, and a picture for those without JavaScript. Pages with a
machine, and only these, load its script and its style; both are joined from ``book/machine`` at each build.
"""

import html
from pathlib import Path
from typing import Any, ClassVar

from bundle_modules import bundle
from docutils import nodes
from docutils.parsers.rst import directives
from machine_still import complete_inputs, draw_still
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

SOURCES = Path(__file__).parents[1] / "machine"
STYLES = ("frame.css", "below.css", "graph.css", "dock.css")
SWITCHES = ("predict", "depth-first", "keep", "compact")


class MachineNode(nodes.General, nodes.Element):
    """A machine, with ``settings`` for its attributes and ``still`` for its picture."""


def read_inputs(text: str) -> dict[str, float]:
    """Read ``x=2, y=3``."""
    pairs = (pair.split("=") for pair in text.split(",") if pair.strip())
    return {name.strip(): float(value) for name, value in pairs}


class MachineDirective(SphinxDirective):
    """``backward-machine``: its argument is an expression, or lines with names, parted by semicolons.

    Options: ``inputs`` such as ``x=2, y=3``; ``try``, one line that says what to try first; ``name``, by which a link
    finds it; and the switches ``predict``, ``depth-first``, ``keep`` and ``compact``.
    """

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {
        "inputs": read_inputs,
        "try": directives.unchanged_required,
        "name": directives.unchanged_required,
        **dict.fromkeys(SWITCHES, directives.flag),
    }

    def run(self) -> list[nodes.Node]:
        """Compute the picture: an expression that cannot be run fails the build."""
        lines = "\n".join(line.strip() for line in self.arguments[0].split(";"))
        try:
            inputs = complete_inputs(lines, self.options.get("inputs", {}))
            still = draw_still(lines, inputs)
        except Exception as error:
            raise self.error(f"this machine cannot be run: {error}") from error
        settings = {
            "id": self.options.get("name") or f"machine-{self.env.new_serialno('machine') + 1}",
            "data-expression": lines,
            "data-inputs": ",".join(f"{name}:{value:g}" for name, value in inputs.items()),
            **({"data-try": self.options["try"]} if "try" in self.options else {}),
            **{f"data-{switch}": "" for switch in SWITCHES if switch in self.options},
        }
        if "predict" in self.options:
            still = f"<details><summary>Run backward()</summary>{still}</details>"
        return [MachineNode(settings=settings, still=still)]


def visit_html(translator: HTML5Translator, node: MachineNode) -> None:
    """Write the element."""
    attributes = " ".join(f'{name}="{html.escape(value)}"' for name, value in node["settings"].items())
    attributes += ' class="bp-machine" role="region" aria-label="The backward() machine"'
    expression = html.escape(node["settings"]["data-expression"])
    question = f'<p class="try">{node["settings"]["data-try"]}</p>' if "data-try" in node["settings"] else ""
    translator.body.append(f'<div {attributes}>{question}<pre class="still">{expression}</pre>{node["still"]}</div>')
    raise nodes.SkipNode


def skip(translator: nodes.NodeVisitor, node: MachineNode) -> None:
    """Leave it out where there is nothing to play with."""
    raise nodes.SkipNode


def write_assets(app: Sphinx) -> None:
    """Join the modules, and the style sheets, into one file each."""
    if app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    static.mkdir(parents=True, exist_ok=True)
    (static / "machine.js").write_text(bundle(SOURCES / "main.js", public="backwardMachine"), "utf-8")
    (static / "machine.css").write_text("".join((SOURCES / name).read_text("utf-8") for name in STYLES), "utf-8")


def load_assets(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Have a page with a machine load what it needs, after its text."""
    if doctree is not None and next(doctree.findall(MachineNode), None) is not None:
        app.add_css_file("machine.css")
        app.add_js_file("machine.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_node(MachineNode, html=(visit_html, None), latex=(skip, None), text=(skip, None))
    app.add_directive("backward-machine", MachineDirective)
    app.connect("builder-inited", write_assets)
    app.connect("html-page-context", load_assets)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
