"""The drawing itself."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from course_lib.figures.graphs.svg import NARROWEST, Box, BoxDrawing, Edge, Line

HOSTILE = "</svg><script>alert(1)</script>\"'&"
LEAF, RESULT = Box(0, 0, "leaf", "x"), Box(0, 1, "result", "z", (Line("v = 1"),))


def drawn(boxes, edges=(), title="t"):
    """Parse the drawing, which must be XML."""
    text = BoxDrawing(tuple(boxes), tuple(edges), title=title, description="d").svg()
    return ElementTree.fromstring(text)


def rectangle(element):
    return tuple(float(element.get(key)) for key in ("x", "y", "width", "height"))


@pytest.mark.parametrize(
    "boxes",
    [[Box(0, 0, "leaf", HOSTILE)], [Box(0, 0, "op", "x", (Line(HOSTILE),))], [LEAF]],
)
def test_words_are_only_ever_words(boxes):
    """Whatever a label, a note, a gradient or a title says, it adds no element."""
    tree = drawn([*boxes, RESULT], [Edge(1, 0, carries=HOSTILE)], title=HOSTILE)
    assert {element.tag for element in tree.iter()} <= {"svg", "title", "g", "rect", "text", "path"}
    assert HOSTILE in [element.text for element in tree.iter()]


def test_kinds_are_told_apart_by_shape():
    """Leaves have round ends, and results a second border; colour says nothing that they do not."""
    leaf, result = drawn([LEAF, RESULT]).findall("g")
    assert [len(box.findall("rect")) for box in (leaf, result)] == [1, 2]
    assert float(leaf.find("rect").get("rx")) > 3 * float(result.find("rect").get("rx"))


def test_everything_is_inside_the_picture():
    """Boxes, what arrows carry, and the arrow that comes from outside."""
    tree = drawn([Box(0, 0, "leaf", "a long label for a leaf"), RESULT], [Edge(1, 0, carries="1"), Edge(None, 1)])
    _, _, width, height = map(float, tree.get("viewBox").split())
    assert all(x >= 0 and x + w <= width for x, _, w, _ in map(rectangle, tree.iter("rect")))
    ends = [float(y) for path in tree.iter("path") for y in re.findall(r",([\d.]+)", path.get("d"))]
    assert 0 <= min(ends) <= max(ends) <= height


def test_two_uses_of_one_node_stand_side_by_side():
    """What they carry does not overlap."""
    tree = drawn([LEAF, Box(0, 1, "result", "x * x")], [Edge(1, 0, carries="[1, 1]"), Edge(1, 0, carries="[1, 1]")])
    (x1, y1, width, _), (x2, y2, _, _) = sorted(rectangle(g.find("rect")) for g in tree.findall("g[@class='bp-pill']"))
    assert y1 == y2
    assert x1 + width < x2


@pytest.mark.parametrize(
    "words", [("x", "y"), ("x", "line = t1 + c"), ("t1 = w * constant", "c = 0", "z", "MulBackward0")]
)
def test_neighbours_keep_a_gap_and_no_more(words):
    """A long label makes its own row wider, and no other box."""
    boxes = [Box(i, 0, "leaf", word) for i, word in enumerate(words)]
    found = sorted(rectangle(g.find("rect")) for g in drawn([*boxes, RESULT]).findall("g")[:-1])
    gaps = [x - left - width for (left, _, width, _), (x, *_) in pairwise(found)]
    assert min(gaps) == pytest.approx(18, abs=0.01)
    assert all((width == NARROWEST) == (len(word) < 11) for (_, _, width, _), word in zip(found, words, strict=True))


def test_a_lane_at_the_side_is_inside_the_picture():
    """An arrow may pass where no box stands, left or right of all of them."""
    for x in (-0.7, 0.7):
        tree = drawn(
            [Box(0, 0, "leaf", "x"), Box(0, 1, "op", "y"), Box(0, 2, "result", "z")], [Edge(2, 0, ((x, 1.0),))]
        )
        ends = [float(x) for path in tree.iter("path") for x in re.findall(r"([-\d.]+),", path.get("d"))]
        assert 0 <= min(ends) <= max(ends) <= float(tree.get("viewBox").split()[2])


def test_arrows_leave_and_arrive_in_the_order_of_their_other_ends():
    """So that none cross at a box."""
    boxes = [Box(0, 0, "leaf", "x"), Box(1, 0, "leaf", "y"), Box(0.5, 1, "op", "z")]
    paths = drawn(boxes, [Edge(2, 1), Edge(2, 0)]).findall("path")
    to_right, to_left = (float(re.match(r"M([\d.]+)", path.get("d"))[1]) for path in paths)
    assert to_left < to_right


def test_what_gives_way_is_not_seen_unless_a_script_shows_it():
    """Without one, and on paper, the last state stands alone."""
    notes = (Line("grad = None", 0, 3), Line("grad = 4", 3))
    texts = {text.text: text for text in drawn([Box(0, 0, "leaf", "x", notes)]).iter("text")}
    assert texts["grad = None"].get("visibility") == "hidden"
    assert texts["grad = 4"].get("visibility") is None
    assert (texts["grad = None"].get("data-until"), texts["grad = 4"].get("data-since")) == ("3", "3")


def test_text_shrinks_to_eleven_pixels_at_most():
    """On a narrow screen the drawing scrolls inside itself before it gets smaller than that."""
    tree = drawn([Box(i, 0, "leaf", "x" * 20) for i in range(9)])
    least = float(re.search(r"min-width:(\d+)px", tree.get("style"))[1])
    natural = float(tree.get("viewBox").split()[2])
    sizes = [float(text.get("font-size", tree.get("font-size"))) for text in tree.iter("text")]
    assert min(sizes) * least / natural >= 11


def test_black_is_never_named():
    """Lines and words take the colour of the page's own text."""
    text = BoxDrawing((LEAF, RESULT), (Edge(1, 0),), title="t", description="d").svg()
    assert not re.search(r"black|#000|white", text)
    assert "currentColor" in text


def test_a_width_is_the_same_in_every_python():
    """Where its last digit is not, a page's figure differs; sum() of floats rounds otherwise from Python 3.12 on."""
    name = "NativeLayerNormBackward0"
    turned = [Box(0, 0, "op", name[i:] + name[:i]) for i in range(len(name))]
    assert len({BoxDrawing((box,), (), title="t", description="d")._widths[box] for box in turned}) == 1
