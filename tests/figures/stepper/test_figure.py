"""The figure as it is stored in a notebook."""

import re
import zipfile
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from course_lib.errors import AutogradError
from course_lib.figures import backward_stepper
from course_lib.figures.stepper import figure as module

HOSTILE = "</script><img src=x onerror=alert(1)>\"'`&"
VOID = {"br", "img"}


class Elements(HTMLParser):
    """What a browser would see as elements."""

    def __init__(self):
        super().__init__()
        self.seen, self.open = [], []

    def handle_starttag(self, tag, attrs):  # noqa: D102
        self.seen.append((tag, dict(attrs)))
        self.open += [tag] * (tag not in VOID)

    def handle_endtag(self, tag):  # noqa: D102
        assert self.open.pop() == tag


def elements(html):
    """Parse the figure; every element must be closed."""
    parser = Elements()
    parser.feed(html)
    parser.close()
    assert not parser.open
    return parser.seen


def test_it_prints_as_a_list_of_steps(waits):
    """In a terminal, and where a page shows plain text."""
    lines = repr(backward_stepper(waits.c, names=waits.names, title="Twice")).splitlines()
    assert lines[0] == "Twice"
    assert [line.split(" ")[0] for line in lines[1:]] == ["1.", "2.", "3.", "4.", "5."]


def test_the_list_of_steps_is_in_the_page(waits):
    """Whoever has no script reads there what a terminal prints."""
    html = backward_stepper(waits.c, names=waits.names)._repr_html_()
    items = re.findall(r"<li\b[^>]*>(.*?)</li>", html)
    assert len(items) == 5
    assert "6 * 2 * 3 = 36" in items[3]


def test_hostile_words_are_only_ever_words(waits, engine):
    """Names and titles add no element and no attribute, and end no script."""
    figure = backward_stepper(waits.c, names={HOSTILE: waits.x, f"a{HOSTILE}": waits.a}, title=HOSTILE)
    plain = backward_stepper(waits.c, names={"x": waits.x, "a": waits.a})
    tags = [tag for tag, _ in elements(figure._repr_html_())]
    assert "img" not in tags
    assert set(tags) == {tag for tag, _ in elements(plain._repr_html_())}
    assert not [name for _, attrs in elements(figure._repr_html_()) for name in attrs if name.startswith("on")]


def test_code_in_a_title_is_set_as_code(waits):
    """In the caption; the accessible name and a terminal have the words alone."""
    figure = backward_stepper(waits.c, names=waits.names, title="`a` waits")
    assert '<p class="bp-title"><code class="bp-whole">a</code> waits</p>' in figure._repr_html_()
    assert "<title>a waits</title>" in figure._repr_html_()
    assert repr(figure).startswith("a waits\n")


def test_the_same_graph_gives_the_same_page(waits):
    """It is committed, and compared."""
    one, two = (backward_stepper(waits.c, names=waits.names)._repr_html_() for _ in range(2))
    assert one == two
    assert " id=" not in one


def test_script_and_style_are_small_and_name_no_other_place():
    """About 7 KB and 4 KB; nothing is fetched."""
    script, style = module._read_asset("stepper.js"), module._read_asset("stepper.css")
    assert len(script) < 7000
    assert len(style) < 4000
    assert not re.search(r"https?:|//[a-z]|\bimport\b|fetch|url\(|eval|innerHTML", re.sub(r"// .*", "", script) + style)
    assert "</" not in script + style


def test_drawing_costs_the_page_little(engine):
    """A graph of 25 nodes and 48 edges is under 80 KB, script and all."""
    w = s = engine.tensor(0.9, requires_grad=True)
    for _ in range(12):
        s = s * w + w
    figure = backward_stepper(s, names={"w": w})
    assert len(figure.drawing.boxes) == 25
    assert len(figure._repr_html_()) < 80_000


def test_script_and_style_are_part_of_the_package(tmp_path):
    """The wheel holds them."""
    from hatchling.builders.wheel import WheelBuilder

    root = files("course_lib").joinpath("..")
    (wheel,) = WheelBuilder(str(root)).build(directory=str(tmp_path), versions=["standard"])
    names = zipfile.ZipFile(wheel).namelist()
    assert {"course_lib/figures/stepper/stepper.js", "course_lib/figures/stepper/stepper.css"} <= set(names)


def test_a_leaf_has_nothing_to_step_through(engine):
    """The message says what to do."""
    with pytest.raises(AutogradError, match="compute something"):
        backward_stepper(engine.tensor(1.0, requires_grad=True))


def test_a_constant_has_no_graph(engine):
    """The message says what to do."""
    with pytest.raises(AutogradError, match="requires_grad=True"):
        backward_stepper(engine.tensor(1.0))


def test_the_description_holds_every_gradient(waits):
    """The accessible name of the drawing is the last state."""
    html = backward_stepper(waits.c, names=waits.names)._repr_html_()
    label = next(attrs["aria-label"] for tag, attrs in elements(html) if tag == "svg")
    assert "a = x ** 2 = 9 (v = 1 + 5 = 6). " in label
    assert "x = 3 (grad = 36)." in label
