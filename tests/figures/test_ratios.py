"""The chart of ratios."""

import re
from xml.etree import ElementTree

from course_lib.figures import Ratio, ratios

ROWS = {
    "large": {"ours": Ratio(1.0, 1.1, 1.2), "theirs": Ratio(1.4, 1.5, 1.6)},
    "small": {"ours": Ratio(1.5, 1.75, 2.0)},
}


def chart(rows=ROWS, title="Two engines"):
    return ratios(rows, title=title, baseline="NumPy")


def test_the_chart_is_told_in_words():
    """Each row: who did it, and how many times the baseline; and that is its accessible name."""
    said = "Two engines. large: ours 1.1, theirs 1.5 times NumPy. small: ours 1.75 times NumPy."
    assert repr(chart()) == said
    assert f'aria-label="{said}"' in chart()._repr_html_()


def test_the_axis_names_the_baseline_and_the_rows():
    """A reader sees what the ratios are to, and of what."""
    words = re.findall(r"<text[^>]*>([^<]+)</text>", chart().svg)
    assert {"times NumPy", "large", "small", "ours", "theirs"} <= set(words)


def test_equal_ratios_are_equally_far_apart():
    """From 1 to 2 is as far as from 2 to 4: a logarithmic axis."""
    rows = {"row": {name: Ratio(r, r, r) for name, r in (("a", 1.0), ("b", 2.0), ("c", 4.0))}}
    marks = re.findall(r'<use [^>]*x="([\d.]+)"[^>]*style="fill: [^;]*?#(?:0072b2|d55e00|008f68)', chart(rows).svg)
    a, b, c = (float(x) for x in marks[:3])  # the legend's come after them
    assert abs((b - a) - (c - b)) < 0.01 * (b - a)


def test_marks_are_told_apart_by_shape_and_colour():
    """Six engines have six of each."""
    six = {"row": {name: Ratio(1.0, 2.0, 3.0) for name in "abcdef"}}
    colours = re.findall(r"fill: (var[^;]+|#[0-9a-f]{6})", chart(six).svg)
    assert len(set(colours)) == 6


def test_one_who_did_not_take_part_has_no_mark():
    """A row draws who is in it, and nobody else."""
    both = chart({"row": ROWS["large"]}).svg.count("#d55e00")
    one = chart({**ROWS}).svg.count("#d55e00")
    assert both == one


def test_words_are_only_ever_words():
    """A name or a title adds no element."""
    hostile = '"><script>alert(1)</script>'
    tree = ElementTree.fromstring(chart({hostile: {hostile: Ratio(1.0, 1.0, 1.0)}}, title=hostile).svg)
    assert not [element for element in tree.iter() if element.tag.endswith("script")]


def test_the_drawing_is_the_same_each_time():
    """It is committed, and compared."""
    assert chart().svg == chart().svg
