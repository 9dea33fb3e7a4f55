"""The heat map of sizes."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from course_lib.errors import InputError
from course_lib.figures import heat_map

SIZES = {"small": [[1e-6, 1e-5], [1e-3, 1e-2]], "large": [[0.5, 5.0], [50.0, 0.0]]}
OPTIONS = {"rows": ["first", "last"], "columns": [10, 20], "title": "Two runs", "value": "rms gradient"}


def drawn(maps=SIZES, **changed):
    return heat_map(maps, **OPTIONS | changed)


def trees(figure):
    """Return each SVG, parsed."""
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", figure._repr_html_(), re.DOTALL)]


def maps(figure):
    return [tree for tree in trees(figure) if tree.get("role") == "img"]


def paths(tree):
    return [element for element in tree.iter() if element.tag == "path"]


def test_it_is_told_in_words():
    """The range of each map, and its ends; and each map says so to a screen reader."""
    assert repr(drawn()) == (
        "Two runs. rms gradient, by row and column. small: between 1e-06 and 0.01; first from 1e-06 to 1e-05; last "
        "from 0.001 to 0.01. large: between 0 and 50; first from 0.5 to 5; last from 50 to 0."
    )
    assert [tree.get("aria-label").split(":")[0] for tree in maps(drawn())] == ["Two runs. small", "Two runs. large"]


def test_larger_is_stronger_on_one_scale_for_all_maps():
    """The shades rise with the power of ten, from map to map."""
    small, large = maps(drawn())
    shades = [
        float(path.get("fill-opacity")) for tree in (small, large) for path in paths(tree) if path.get("fill-opacity")
    ]
    assert shades == sorted(shades)
    assert len(set(shades)) == len(shades)


def swatches(figure):
    """Return what the legend says, and the shade beside it."""
    found = re.findall(r'h14v10h-14z" ([^/]*)/></svg> ([^<]*)', figure._repr_html_())
    return {name: float(re.search(r'fill-opacity="([\d.]+)"', paint)[1]) for paint, name in found if "opac" in paint}


@pytest.mark.parametrize("low", [-300, -30, -3, 0])
def test_neighbouring_shades_of_the_legend_can_be_told_apart(low):
    """At most eight, at powers of ten, whatever the range."""
    values = {"": [10.0 ** np.linspace(low, 5, 200)]}
    shades = list(swatches(heat_map(values, rows=["w"], columns=range(200), title="t", value="v")).values())
    assert 1 < len(shades) <= 8
    assert min(np.diff(shades)) >= 0.09


def test_a_value_near_a_power_of_ten_keeps_its_shade():
    """One that wobbles about 0.01 is no barcode."""
    values = {"": [[1e-4, 1.0, *([0.0095, 0.0105] * 20)]]}
    (tree,) = maps(heat_map(values, rows=["w"], columns=range(42), title="t", value="v"))
    _, *near, _ = sorted(float(path.get("fill-opacity")) for path in paths(tree))
    assert near[-1] - near[0] < 0.04


def test_figures_can_share_a_scale():
    """The same value has the same shade in both; what lies beyond has that of the end, and the legend says so."""
    shades = []
    for other in (1e-9, 1e6):
        figure = drawn({"": [[0.1, 0.1], [other, other]]}, span=(1e-3, 10.0))
        shades.append([float(path.get("fill-opacity")) for path in paths(maps(figure)[0])])
        assert list(swatches(figure)) == ["1e-3 or less", "1e-2", "1e-1", "1", "1e+1 or more"]
    assert shades[0][1] == shades[1][0]
    assert shades[0][0] == 0.06
    assert shades[1][1] == 0.95


def test_both_ends_of_a_row_are_numbers():
    """The first value before it, the last after it."""
    small, _ = maps(drawn())
    texts = [element.text for element in small.iter() if element.tag == "text"]
    assert texts[1:7] == ["first", "1e-6", "1e-5", "last", "1e-3", "1e-2"]


def test_what_is_too_large_is_hatched():
    """In its map, in the legend and nowhere else; values that are not finite have a look already."""
    figure = drawn(SIZES | {"broken": [[np.inf, np.inf], [1.0, 1.0]]}, hatch_above=4.0)
    strokes = [[path.get("d").count("M") for path in paths(tree) if path.get("style")] for tree in maps(figure)]
    assert [len(found) for found in strokes] == [0, 1, 0]
    assert strokes[1][0] > 10
    assert "above 4" in figure._repr_html_()
    assert "above" not in drawn(hatch_above=1e3)._repr_html_()


def test_zero_and_what_is_not_finite_have_a_look_of_their_own():
    """An outline, and a colour with words in the legend; neither is a shade."""
    figure = drawn({"": [[0.0, np.nan], [np.inf, 1.0]]})
    kinds = {(path.get("fill"), path.get("stroke-dasharray")) for path in paths(maps(figure)[0])}
    assert ("none", "2 2") in kinds
    assert any(fill and fill.startswith("#") for fill, _ in kinds)
    assert "exactly 0" in figure._repr_html_()
    assert "not finite" in figure._repr_html_()
    assert "2 of 4 not finite" in repr(figure)


def test_a_value_that_is_not_there_is_left_blank():
    """A layer without a gradient has none that is not finite."""
    figure = drawn({"": [[None, 2.0], [1.0, None]]})
    assert "between 1 and 2, 2 of 4 without a value; first from none to 2; last from 1 to none." in repr(figure)
    assert "not finite" not in figure._repr_html_()
    blank = [path for path in paths(maps(figure)[0]) if path.get("fill") == "none"]
    assert len(blank) == 1
    assert blank[0].get("stroke") is None


def test_everything_not_finite_is_still_drawn():
    """There is no scale then."""
    assert "nothing finite" in repr(drawn({"": np.full((2, 2), np.nan)}))
    assert len(maps(drawn({"": np.full((2, 2), np.nan)}))) == 1


def test_every_cell_is_covered_once():
    """The areas of all paths add up to the map's."""
    rng = np.random.default_rng(0)
    (tree,) = maps(drawn({"": 10 ** rng.uniform(-6, 2, size=(5, 30))}, rows=list("abcde"), columns=range(30)))
    lengths = [float(h) for path in paths(tree) for h in re.findall(r"M[^h]*h([\d.e+-]+)v", path.get("d"))]
    starts = [float(x) for path in paths(tree) for x in re.findall(r"M([\d.e+-]+),", path.get("d"))]
    assert sum(lengths) == pytest.approx(5 * max(x + h for x, h in zip(starts, lengths, strict=True)), rel=1e-2)


def test_words_are_only_ever_words():
    """A name or a title adds no element."""
    hostile = '"><script>alert(1)</script>'
    figure = drawn({hostile: SIZES["small"]}, rows=[hostile, "b"], title=hostile, value=hostile)
    assert "<script" not in figure._repr_html_()
    assert maps(figure)[0].get("aria-label").startswith(hostile)


def test_it_takes_the_colour_of_the_page():
    """Nothing is black or white, so it serves a light and a dark one."""
    html = drawn()._repr_html_()
    assert "currentColor" in html
    assert not re.search(r"#000|#fff|black|white(?!-space)", html)


def test_the_end_of_a_long_name_is_kept():
    """It is what differs; all weights end in ".weight"."""
    text = drawn(rows=["encoder.layers.0.linear1.weight", "b"])._repr_html_()
    assert set(re.findall(r"…[\w.]+", text)) == {"…yers.0.linear1"}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "needs at least one map"),
        ({"a": [[1.0, 2.0]]}, r"\(2, 2\), but 'a' has shape \(1, 2\)"),
        ({"a": [[1.0, 2.0], [3.0, -1.0]]}, "must be at least 0.*'a' has -1"),
    ],
)
def test_what_cannot_be_drawn_is_refused(values, message):
    """No map, another shape, and a negative size."""
    with pytest.raises(InputError, match=message):
        drawn(values)


@pytest.mark.parametrize("span", [(1.0, 0.1), (0.0, 1.0), (1.0, 1.0)])
def test_a_scale_needs_two_ends(span):
    """The smaller first, and no 0, which a logarithm does not reach."""
    with pytest.raises(InputError, match="two positive numbers, the smaller first"):
        drawn(span=span)


def test_the_end_of_a_single_row_is_told_once():
    """Its first row is its last."""
    figure = heat_map({"": [[1.0, 2.0]]}, rows=["weight"], columns=[0, 1], title="One run", value="norm")
    assert "between 1 and 2; weight from 1 to 2." in repr(figure)
