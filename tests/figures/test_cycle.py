"""The loop and what its calls touch."""

from xml.etree import ElementTree

import pytest

from course_lib.errors import InputError
from course_lib.figures import cycle

CALLS = {"zero_grad()": {".grad": "clears"}, "forward": {"w": "reads", "graph": "builds"}}
THINGS = ["w", "graph", ".grad"]


def test_the_loop_is_told_in_words():
    """Each call with what it does, and that it goes round; that is the accessible name too."""
    figure = cycle(CALLS, things=THINGS, title="A step")
    said = "A step. zero_grad() clears .grad; forward reads w, builds graph; and round again."
    assert repr(figure) == said
    assert f'role="img" aria-label="{said}"' in figure._repr_html_()


def test_what_changes_a_thing_is_outlined():
    """Two calls and two changes have an outline; a look has none. Nothing depends on colour."""
    tree = ElementTree.fromstring(cycle(CALLS, things=THINGS, title="A step")._repr_html_())
    strokes = [e.get("stroke") for e in tree.iter("rect")]
    assert sorted(strokes) == ["currentColor"] * 4 + ["none"]


def test_words_are_only_ever_words():
    """A name adds no element."""
    hostile = "<script>alert(1)</script>"
    tree = ElementTree.fromstring(cycle({hostile: {hostile: hostile}}, things=[hostile], title=hostile)._repr_html_())
    assert not [e for e in tree.iter() if e.tag.endswith("script")]


def test_a_thing_that_is_not_named_is_refused():
    """It has no column."""
    with pytest.raises(InputError, match="must include all that the calls touch, but w is not there"):
        cycle({"forward": {"w": "reads"}}, things=["graph"], title="A step")
