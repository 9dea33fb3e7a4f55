"""What axe finds on the pages, the theme's own findings included: nothing."""

import pytest
from axe_playwright_python.sync_playwright import Axe

# All of axe's rules but those for the strictest grade, and one that is an experiment: it wants no keys on a drawing.
OPTIONS = {
    "resultTypes": ["violations"],
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice", "experimental"],
    "rules": {"focus-order-semantics": {"enabled": False}},
}
PAGES = [
    "intro",
    "machine",
    "references",
    "search",
    "chapters/mechanics/what_backward_does",
    "chapters/mechanics/gradients_by_hand",
    "chapters/mechanics/turning_tracking_off",
    "chapters/mechanics/what_a_backward_costs",
    "chapters/clipping/clip_the_gradient",
    "exercises/walk_the_graph/walk_the_graph",
]


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1440, "dark")])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(visit, name, width, scheme):
    """On a phone and on a desk, light and dark."""
    page = visit(name, width=width, scheme=scheme)
    # As where one has scrolled to it, and at rest: a colour that is on its way from one to another has no contrast yet.
    page.add_style_tag(content="section { content-visibility: visible !important } * { transition: none !important }")
    found = Axe().run(page, options=OPTIONS).response["violations"]
    assert {rule["id"]: [node["html"][:200] for node in rule["nodes"]] for rule in found} == {}
