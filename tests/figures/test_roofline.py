"""The roofline."""

import math
import re
from xml.etree import ElementTree

import pytest

from course_lib.errors import InputError
from course_lib.figures import roofline

POINTS = {"product": [(100.0, 90.0), (200.0, 80.0)], "sum": [(0.1, 3.0)]}


def chart(points=POINTS, title="Two operations", peak_gflops=100.0, peak_gbytes=40.0, **options):
    return roofline(points, peak_gflops=peak_gflops, peak_gbytes=peak_gbytes, title=title, **options)


def corners(drawn):
    """Return where the line of the roof goes, in the units of the drawing: its first path of three points."""
    paths = (re.findall(r"[ML] ([\d.]+) ([\d.]+)", path) for path in re.findall(r'<path d="([^"]+)"', drawn.svg))
    return next([(float(x), float(y)) for x, y in path] for path in paths if len(path) == 3)


def test_the_chart_is_told_in_words():
    """Both roofs and the ridge, then each operation; and that is its accessible name."""
    said = (
        "Two operations. The roof rises by 40 GB/s up to 2.5 FLOPs per byte, then is flat at 100 GFLOP/s. "
        "product: forward 100 FLOPs per byte, 90 GFLOP/s, backward 200 FLOPs per byte, 80 GFLOP/s. "
        "sum: forward 0.1 FLOPs per byte, 3 GFLOP/s."
    )
    assert repr(chart()) == said
    assert f'aria-label="{said}"' in chart()._repr_html_()
    assert ">Two operations. The roof rises by 40 GB/s up to 2.5 FLOPs per byte, then is flat at 100 GFLOP/s.</fig" in (
        chart()._repr_html_()
    )


def test_the_roof_rises_and_then_is_flat():
    """It bends once, and is level from there."""
    (x0, y0), (x1, y1), (x2, y2) = corners(chart())
    assert x0 < x1 < x2
    assert y0 > y1 == y2  # a drawing counts downwards


def test_the_ridge_is_where_the_two_roofs_meet():
    """Twice the bandwidth halves the FLOPs per byte at which the roof bends: it moves left."""
    assert corners(chart(peak_gbytes=80.0))[1][0] < corners(chart())[1][0]


def test_the_second_kind_is_hollow():
    """Two passes are told apart without colour: one mark in the chart, and one in the legend, have no fill."""
    hollow = re.compile(r'<use [^>]*style="fill-opacity: 0')
    assert len(hollow.findall(chart().svg)) == 2
    assert not hollow.search(chart({"sum": [(0.1, 3.0)]}).svg)


def test_a_kind_that_nobody_has_is_not_in_the_legend():
    """With forward passes alone, nothing is said of backward ones."""
    words = re.findall(r"<text[^>]*>([^<]+)</text>", chart({"sum": [(0.1, 3.0)]}).svg)
    assert "forward" in words
    assert "backward" not in words


def test_marks_are_told_apart_by_shape_and_colour():
    """Six operations have six of each."""
    six = chart({name: [(1.0 + i, 2.0)] for i, name in enumerate("abcdef")}).svg
    assert len(set(re.findall(r"fill: (var[^;]+|#[0-9a-f]{6})", six))) == 6


@pytest.mark.parametrize(
    ("wrong", "came"),
    [
        ({"peak_gbytes": 0.0}, "but got 0"),
        ({"peak_gflops": math.inf}, "but got inf"),
        ({"points": {"sum": [(0.1, -3.0)]}}, "but got -3"),
        ({"points": {"sum": [(math.nan, 3.0)]}}, "but got nan"),
        ({"points": {}}, "but got 0 operations"),
        ({"points": {key: [(1.0, 2.0)] for key in "abcdefg"}}, "but got 7 operations"),
        ({"points": {"sum": []}}, "but 'sum' has 0 points"),
        ({"points": {"sum": [(1.0, 2.0)] * 3}}, "but 'sum' has 3 points"),
        ({"kinds": ("forward",)}, "but 'product' has 2 points"),
    ],
)
def test_what_has_no_place_in_the_chart_is_refused(wrong, came):
    """The axes are logarithmic, and what is drawn is to be told apart, and said."""
    with pytest.raises(InputError, match=f"numbers above 0, {came}"):
        chart(**wrong)


def words(drawn):
    """Return what is written in a chart."""
    return re.findall(r"<text[^>]*>([^<]+)</text>", drawn.svg)


def test_axes_have_plain_numbers_also_on_a_short_way():
    """Where no power of ten is in sight, or a single one."""
    found = words(chart({"sum": [(2.5, 99.0)]}))
    assert {"2", "3", "4", "60", "100"} <= set(found)


@pytest.mark.parametrize(("letters", "rows"), [(22, 1), (23, 2)])
def test_long_names_stand_below_one_another(letters, rows):
    """Side by side they would not fit."""
    name = "n" * letters
    heights = re.findall(rf'y="([\d.]+)"[^>]*>(?:{name}|forward)<', chart({name: [(1.0, 2.0)]}).svg)
    assert (len(heights), len(set(heights))) == (2, rows)


def test_words_are_only_ever_words():
    """A name or a title adds no element."""
    hostile = '"><script>alert(1)</script>'
    tree = ElementTree.fromstring(chart({hostile: [(1.0, 2.0)]}, title=hostile).svg)
    assert not [element for element in tree.iter() if element.tag.endswith("script")]


def test_the_drawing_is_the_same_each_time():
    """It is committed, and compared."""
    assert chart().svg == chart().svg
