"""The line chart."""

import re
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from course_lib.errors import InputError
from course_lib.figures import lines

SERIES = {"with reset": [0.0, 2.0, 3.0], "without": [0.0, 5.0, 1.0]}
AXES = {"x_label": "step", "y_label": "w"}


def chart(series=SERIES, title="Two descents", **options):
    return lines(series, **AXES, title=title, **options)


def test_the_chart_is_told_in_words():
    """Each series: its ends and its range; and that is its accessible name."""
    said = "Two descents. with reset: from 0 to 3, between 0 and 3. without: from 0 to 1, between 0 and 5."
    assert repr(chart()) == said
    assert f'role="img" aria-label="{said}"' in chart()._repr_html_()


def test_the_drawing_is_the_same_each_time():
    """It is committed, and compared: no date, no random id."""
    assert chart().svg == chart().svg
    assert "<metadata" not in chart().svg


def test_words_are_only_ever_words():
    """A name or a title adds no element."""
    hostile = '"><script>alert(1)</script>'
    tree = ElementTree.fromstring(chart({hostile: [1.0, 2.0]}, title=hostile).svg)
    assert not [element for element in tree.iter() if element.tag.endswith("script")]
    assert tree.get("aria-label").startswith(hostile)


def test_series_are_told_apart_by_dashes():
    """Four of them; one is solid."""
    svg = chart({name: [0.0, 1.0 + i] for i, name in enumerate("abcd")}).svg
    assert len(set(re.findall(r"stroke-dasharray: ([\d., ]+)", svg))) == 3


def test_black_is_the_colour_of_the_page():
    """Axes, words and the target line."""
    svg = chart(target=("the minimum", 3.0)).svg
    assert "the minimum" in svg
    assert not re.search(r"#000|black", svg)
    assert "currentColor" in svg


@pytest.mark.parametrize("id_", ["figure_1", "axes_1"])
def test_no_group_has_an_id(id_):
    """Several charts share a page."""
    assert f'<g id="{id_}"' not in chart().svg


def test_a_logarithmic_axis_spaces_by_ratio():
    """Powers of ten are evenly spaced, which they are not on a linear one."""
    powers = {"norm": [1.0, 10.0, 100.0]}
    heights = {}
    for scale in ("linear", "log"):
        path = re.search(r'<path d="([^"]+)"[^>]*stroke: [^;]*?#0072b2', chart(powers, y_scale=scale).svg).group(1)
        heights[scale] = [float(y) for y in re.findall(r"[ML] [\d.]+ ([\d.]+)", path)]
    first, middle, last = heights["log"]
    assert first - middle == pytest.approx(middle - last, rel=1e-3)
    first, middle, last = heights["linear"]
    assert first - middle == pytest.approx((middle - last) / 10, rel=1e-3)


def test_what_is_not_finite_is_told():
    """A loss that became NaN is a gap in the line, and a number in the words."""
    assert "loss: from 2 to 1, between 1 and 2, 1 not finite." in repr(chart({"loss": [2.0, 1.0, float("nan")]}))
    assert "loss: nothing finite." in repr(chart({"loss": [float("inf")]}))


def test_what_was_measured_is_marks_beside_the_line():
    """The same colour, a mark for each value, and in words after the lines."""
    drawn = chart(marks={"without": [0.1, 4.0, 1.5]})
    assert drawn.description.endswith("between 0 and 5. without, measured: from 0.1 to 1.5, between 0.1 and 4.")
    assert drawn.svg.count("<use ") - chart().svg.count("<use ") == 4  # three values, and the mark in the legend


def test_a_line_with_marks_has_none_of_its_own():
    """At given points, where a line would be marked, the marks are those of what was measured."""
    one = {"a": [1.0, 2.0]}
    plain, measured = (chart(one, x=[1, 2], marks=marks).svg for marks in (None, one))
    assert plain.count("<use ") == measured.count("<use ")


def test_marks_need_the_line_they_are_measured_against():
    """Marks without one would have no name in the legend."""
    with pytest.raises(InputError, match=r"a series of the same name.*'else' has none.*without"):
        chart(marks={"else": [1.0]})


def test_where_there_is_no_value_there_is_a_gap_and_no_word():
    """A mean over ten steps has none before the tenth; that is no fault, as a NaN is."""
    assert repr(chart({"mean": [None, 2.0, 1.0]})).endswith("mean: from 2 to 1, between 1 and 2.")


def test_a_value_between_two_gaps_is_marked():
    """A line needs two."""
    marks = [chart({"loss": [1.0, 2.0, third, 3.0]}).svg.count("<use ") for third in (2.5, None)]
    assert marks[1] - marks[0] == 1


def places(drawn):
    """Return where along the axis the first series has its points."""
    path = re.search(r'<path d="([^"]+)"[^>]*stroke: [^;]*?#0072b2', drawn.svg).group(1)
    return [float(x) for x in re.findall(r"[ML] ([\d.]+) ", path)]


@pytest.mark.parametrize(
    ("x", "scale", "shares"),
    [([1, 2, 4], "linear", [0, 1 / 3, 1]), ([1, 2, 4], "log", [0, 1 / 2, 1]), ([3, 2, 0], "linear", [0, 1 / 3, 1])],
)
def test_points_lie_where_they_belong(x, scale, shares):
    """A point twice as far is drawn twice as far; if they descend, the axis does, too."""
    first, middle, last = places(chart({"a": [1.0, 2.0, 3.0]}, x=x, x_scale=scale))
    assert (middle - first) / (last - first) == pytest.approx(shares[1], abs=1e-3)


def test_points_too_close_together_are_not_all_named():
    """Their names would lie on each other."""
    words = re.findall(r">([\d.]+)</text>", chart({"a": [0.1] * 4}, x=[1, 1.5, 2, 64]).svg)
    assert [word for word in words if float(word) >= 1] == ["1", "64"]


def test_a_linear_axis_is_named_at_even_steps_however_short_it_is():
    """1, 2 and 5 times a power of ten would name nothing between 10.5 and 13.5."""
    words = re.findall(r">([\d.]+)</text>", chart({"a": [10.5, 13.5]}).svg)
    assert {"11.0", "12.0", "13.0"} <= set(words)


@pytest.mark.parametrize(("top", "named"), [(0.5, {"0.05", "0.1", "0.2", "0.5"}), (500.0, set())])
def test_a_short_logarithmic_axis_is_named_in_plain_digits(top, named):
    """Powers of ten alone would leave it with one name."""
    words = set(re.findall(r">([\d.]+)</text>", chart({"a": [0.04, top]}, y_scale="log").svg))
    assert named <= words
    assert bool(named) is ("0.1" in words)


def test_one_series_alone_needs_no_legend():
    """The axis and the title say what it is."""
    assert ">loss<" not in chart({"loss": [2.0, 1.0]}).svg
    assert ">loss<" in chart({"loss": [2.0, 1.0]}, target=("best", 0.5)).svg


def test_the_title_is_the_caption():
    """What a figure shows is not for screen readers alone."""
    assert ">Two &lt;descents&gt;.</figcaption>" in chart(title="Two <descents>")._repr_html_()


def test_the_axis_begins_where_it_is_told():
    """Sizes are compared by their height, from 0."""
    heights = {}
    for y_from in (None, 0.0):
        path = re.search(
            r'<path d="([^"]+)"[^>]*stroke: [^;]*?#0072b2', chart({"b": [9.0, 10.0]}, y_from=y_from).svg
        ).group(1)
        heights[y_from] = [float(y) for y in re.findall(r"[ML] [\d.]+ ([\d.]+)", path)]
    assert heights[None][0] - heights[None][1] > 5 * (heights[0.0][0] - heights[0.0][1])


def test_steps_are_whole_numbers():
    """There is no step 0.5."""
    assert "0.5" not in re.findall(r">([\d.]+)</text>", chart({"loss": [3.0, 2.0, 1.0]}).svg)


def test_long_names_are_not_cut_off():
    """Labels go on in a second line, and the legend has one column."""
    label, names = "the norm of the gradient as a share of the largest so far", ["a" * 40, "b" * 40]
    drawn = lines({name: [1.0, 2.0] for name in names}, x_label=label, y_label=label, title="t").svg
    words = re.findall(r">([^<>]+)</text>", drawn)
    assert label not in words
    assert max(len(word) for word in words if word not in names) <= 50
    assert [word for word in words if word in names] == names


@pytest.mark.parametrize(
    ("series", "x", "message"),
    [
        ({name: [1.0] for name in "abcde"}, None, r"at most 4 series, but there are 5"),
        ({"a": [1.0, 2.0, 3.0]}, [1, 2], r"'a' has 3 values for 2 points in x"),
    ],
)
def test_what_would_not_be_seen_is_refused(series, x, message):
    """A fifth series, and values beyond the last point."""
    with pytest.raises(InputError, match=message):
        chart(series, x=x)


@pytest.mark.parametrize(
    "values",
    [
        (n for n in (1, 2, 4)),
        np.array([1, 2, 4], np.float16),
        torch.tensor([1.0, 2.0, 4.0], requires_grad=True),
        torch.tensor([1, 2, 4], dtype=torch.bfloat16),
        [torch.tensor(1.0, requires_grad=True), np.float32(2), 4],
    ],
)
def test_numbers_of_any_library_are_drawn(values):
    """As the same numbers in a list are; even those that come once, or that have a graph behind them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = chart({"a": values})
    assert drawn.svg == chart({"a": [1.0, 2.0, 4.0]}).svg


@pytest.mark.parametrize(
    ("series", "options", "message"),
    [
        ([1.0, 2.0], {}, r"series must be a mapping of names to numbers, but got a list\. Pass"),
        ({"a": [1.0]}, {"marks": [1.0]}, "marks must be a mapping of names"),
        ({"a": "12"}, {}, "'a' must have one number for each point, but it is '12'"),
        ({"a": 1.0}, {}, "'a' must have one number for each point, but it is 1.0"),
        ({"a": ["1", "2"]}, {}, "'a' must have one real number .* '1'"),
        ({"a": np.array([1j, 2])}, {}, r"one real number .* 1j.*abs\(\) of what is complex"),
        ({"a": np.ones((3, 2))}, {}, r"among them is \[1.0, 1.0\]. Take one series for each column"),
        ({"a": [1.0]}, {"y_scale": "Log"}, 'y_scale must be "linear" or "log", but it is \'Log\''),
        ({"a": [1.0]}, {"x_scale": None}, 'x_scale must be "linear" or "log", but it is None'),
    ],
)
def test_what_is_no_number_is_refused(series, options, message):
    """By the name of its series; complex numbers would have been drawn by half."""
    with pytest.raises(InputError, match=message):
        chart(series, **options)


def test_what_a_logarithmic_scale_cannot_show_is_counted_and_not_told_as_if_it_were_seen():
    """A loss of exactly 0, say."""
    options = {"x_label": "step", "y_label": "loss", "title": "A loss", "y_scale": "log"}
    said = str(lines({"loss": [0.0, 2.0, -1.0, 0.5, float("inf")], "none": [0.0]}, **options))
    assert "loss: from 2 to 0.5, between 0.5 and 2, 3 not finite and above 0." in said
    assert "none: nothing finite and above 0." in said
