"""Show neighbouring code cells tagged ``tab:PyTorch``, ``tab:JAX``, ``tab:engine`` as one synced set of tabs.

In the notebook they stay ordinary cells, one after the other, so that each runs in Jupyter, on Colab and under nbval.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx_design.shared import create_component

from course_grader.notebooks.page_facts import tab_of
from course_grader.notebooks.portable import TAB_LABELS


def group_tabs(app: Sphinx, doctree: nodes.document) -> None:
    """Replace each run of tagged cells by a tab set with one tab for each framework, the first one open."""
    for parent in list(doctree.findall(nodes.section)):
        kept: list[nodes.Node] = []
        run: list[tuple[str, nodes.container]] = []
        for child in parent.children:
            label = _label(child)
            if label is None:
                kept += _tab_set(run)
                run = []
                kept.append(child)
            else:
                run.append((label, child))
        parent.children = kept + _tab_set(run)
        for child in parent.children:
            child.parent = parent


def _label(node: nodes.Node) -> str | None:
    """Return the label in a cell's ``tab:`` tag."""
    if not isinstance(node, nodes.container):
        return None
    return tab_of(node.get("cell_metadata", {}).get("tags", []))


def _tab_set(run: list[tuple[str, nodes.container]]) -> list[nodes.Node]:
    if not run:
        return []
    tab_set = create_component("tab-set", classes=["sd-tab-set"])
    for label in dict.fromkeys(label for label, _ in run):
        item = create_component("tab-item", classes=["sd-tab-item"], selected=False)
        name = TAB_LABELS[label]
        title = nodes.rubric(name, "", nodes.Text(name), classes=["sd-tab-label"])
        title["sync_id"], title["sync_group"] = label.lower(), "framework"
        content = create_component("tab-content", classes=["sd-tab-content"])
        content += [cell for name, cell in run if name == label]
        item += [title, content]
        tab_set += item
    return [tab_set]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", group_tabs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
