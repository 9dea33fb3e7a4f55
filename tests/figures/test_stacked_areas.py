"""The stacked areas."""

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from course_lib.errors import InputError
from course_lib.figures import stacked_areas

SERIES = {"own": [2.0, 2.0, 2.0, 2.0], "made": [0.0, 3.0, 1.0, 0.0]}


def chart(series=SERIES, title="One step", **options):
    return stacked_areas(series, x_label="operations", y_label="MB", title=title, **options)


def words(drawn):
    """Return what is written in a chart."""
    return re.findall(r"<text[^>]*>([^<]+)</text>", drawn.svg)


def area(drawn, fill):
    """Return the corners of the first area that is filled so, in the units of the drawing, which count downwards."""
    path = re.search(rf'<path d="([^"]+)"[^>]*style="fill: [^;"]*{fill}', drawn.svg).group(1)
    return [(float(x), float(y)) for x, y in re.findall(r"[ML] ([\d.]+) ([\d.]+)", path)]


def test_the_chart_is_told_in_words():
    """Where the sum is highest, and what it consists of there; and that is its accessible name."""
    said = "One step. The sum peaks at 5, at 1 of 3: own 2, made 3."
    assert repr(chart()) == said
    assert f'role="img" aria-label="{said}"' in chart()._repr_html_()
    assert ">One step.</figcaption>" in chart()._repr_html_()


def test_the_upper_area_stands_on_the_lower():
    """Its top is the sum, not its own value: 5 where the lower one has 2, over the same base."""
    lower, upper = area(chart(), "#0072b2"), area(chart(), "url")
    base = max(y for _, y in lower)
    heights = [base - min(y for _, y in corners) for corners in (lower, upper)]
    assert heights[1] / heights[0] == pytest.approx(5 / 2, abs=1e-2)


def test_a_value_holds_until_the_next():
    """Memory changes at an operation, and not on the way to it: no edge is oblique."""
    corners = area(chart(), "url")
    assert all(math.isclose(x0, x1) or math.isclose(y0, y1) for (x0, y0), (x1, y1) in pairwise(corners))


def test_areas_are_told_apart_without_colour():
    """Of six, five are hatched, each in its way."""
    six = chart({name: [1.0, 2.0] for name in "abcdef"}).svg
    assert len(set(re.findall(r"fill: url\(#[\w-]+\)", six))) == 5


def test_spans_and_the_peak_are_named():
    """At the top, and with an arrow."""
    assert {"forward", "backward", "peak"} <= set(words(chart(spans=[("forward", 0, 1), ("backward", 1, 3)])))


@pytest.mark.parametrize(("at", "anchor"), [(0, "start"), (3, "end")])
def test_the_name_of_the_peak_stays_in_the_chart(at, anchor):
    """It stands to the right of an early peak, and to the left of a late one."""
    values = [1.0] * 4
    values[at] = 9.0
    drawn = chart({"own": values}).svg
    style = re.search(r'<text style="([^"]*)"[^>]*>peak<', drawn).group(1)
    assert ("text-anchor: end" in style) is (anchor == "end")


def test_black_is_the_colour_of_the_page():
    """Words, axes and the arrow."""
    svg = chart(spans=[("forward", 0, 1)]).svg
    assert not re.search(r"#000|black", svg)
    assert "currentColor" in svg


@pytest.mark.parametrize(
    ("series", "came"),
    [
        ({}, "but got 0 series"),
        ({name: [1.0, 1.0] for name in "abcdefg"}, "but got 7 series"),
        ({"a": [1.0, 2.0], "b": [1.0]}, "but 'a' has 2, 'b' has 1"),
        ({"a": [1.0]}, "but 'a' has 1"),
        ({"a": [1.0, -1.0]}, "but 'a' has -1"),
        ({"a": [1.0, math.nan]}, "but 'a' has nan"),
    ],
)
def test_what_cannot_be_stacked_is_refused(series, came):
    """An area below zero would cover the one below it."""
    with pytest.raises(InputError, match=f"none negative, {came}"):
        chart(series)


def test_words_are_only_ever_words():
    """A name or a title adds no element."""
    hostile = '"><script>alert(1)</script>'
    tree = ElementTree.fromstring(chart({hostile: [1.0, 2.0]}, title=hostile, spans=[(hostile, 0, 1)]).svg)
    assert not [element for element in tree.iter() if element.tag.endswith("script")]


def test_the_drawing_is_the_same_each_time():
    """It is committed, and compared."""
    assert chart().svg == chart().svg
