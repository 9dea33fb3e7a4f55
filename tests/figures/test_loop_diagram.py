"""The loop and what its calls touch."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from course_lib.errors import InputError
from course_lib.figures import loop_diagram

CALLS = {"zero_grad()": {".grad": "clears"}, "forward": {"w": "reads", "graph": "builds"}}
THINGS = ["w", "graph", ".grad"]


def test_the_loop_is_told_in_words():
    """Each call with what it does, and that it goes round; that is the accessible name too."""
    figure = loop_diagram(CALLS, things=THINGS, title="A step")
    said = "A step. zero_grad() clears .grad; forward reads w, builds graph; and round again."
    assert repr(figure) == said
    assert f'role="img" aria-label="{said}"' in figure._repr_html_()


def test_what_changes_a_thing_is_outlined():
    """Two calls and two changes have an outline; a look has none. Nothing depends on colour."""
    tree = ElementTree.fromstring(loop_diagram(CALLS, things=THINGS, title="A step")._repr_html_())
    strokes = [e.get("stroke") for e in tree.iter("rect")]
    assert sorted(strokes) == ["currentColor"] * 4 + ["none"]


def test_arrows_lead_from_the_foot_of_one_call_to_the_head_of_the_next():
    """None crosses a box, and the one that goes round ends at the first."""
    calls = {name: {"w": "reads"} for name in ("zero_grad()", "forward", "backward()")}
    tree = ElementTree.fromstring(loop_diagram(calls, things=["w"], title="A step")._repr_html_())
    boxes = [[float(e.get(key)) for key in ("x", "y", "height")] for e in tree.iter("rect")]
    column = sorted((y, y + height) for x, y, height in boxes if x == min(box[0] for box in boxes))
    path = next(e.get("d") for e in tree.iter("path") if re.search(r"H[\d.]+m-", e.get("d")))
    ends = [tuple(map(float, found)) for found in re.findall(r"M[^,]*,([\d.]+)V([\d.]+)m", path)]
    assert ends == [(above[1], below[0]) for above, below in pairwise(column)]
    last, first = re.findall(r",([\d.]+)H", path)
    assert (float(last), float(first)) == (sum(column[-1]) / 2, sum(column[0]) / 2)


def test_words_are_only_ever_words():
    """A name adds no element."""
    hostile = "<script>alert(1)</script>"
    tree = ElementTree.fromstring(
        loop_diagram({hostile: {hostile: hostile}}, things=[hostile], title=hostile)._repr_html_()
    )
    assert not [e for e in tree.iter() if e.tag.endswith("script")]


def test_a_thing_that_is_not_named_is_refused():
    """It has no column."""
    with pytest.raises(InputError, match="must include all that the calls touch, but w is not there"):
        loop_diagram({"forward": {"w": "reads"}}, things=["graph"], title="A step")
