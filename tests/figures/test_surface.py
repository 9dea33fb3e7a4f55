"""The map of a loss."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from course_lib.errors import InputError
from course_lib.figures.charts.surface import surface

X, Y = np.linspace(-2, 2, 9), np.linspace(-1, 1, 5)
BOWL = X**2 + Y[:, None] ** 2
PATHS = {"clipped": [(2.0, 1.0), (0.5, 0.5)], "not clipped": [(2.0, 1.0), (-9.0, 0.0)]}


def chart(**options):
    return surface(BOWL, x=X, y=Y, x_label="w", y_label="b", **{"title": "A bowl", "paths": PATHS} | options)


def test_the_map_is_told_in_words():
    """Its range, and where each path starts and ends, also if that is off the map."""
    said = (
        "A bowl. Between 0 and 5. clipped: from (2, 1) to (0.5, 0.5). "
        "not clipped: from (2, 1) to (-9, 0), which is off the map."
    )
    assert repr(chart()) == said
    assert f'role="img" aria-label="{said}"' in chart()._repr_html_()


def test_level_lines_lie_at_equal_steps():
    """Each level line of a bowl is a ring about the lowest point; between nine shades there are eight."""
    svg = chart(paths=None).svg
    assert len(set(re.findall(r"fill-opacity: ([\d.]+)", svg))) == 9 - 1 + (svg.count("fill-opacity: 0;") > 0)
    assert svg.count("stroke-width: 0.6") == 8


def test_the_map_follows_the_page():
    """Levels, words and rings are in the page's colour; paths are told apart by dashes."""
    svg = chart().svg
    assert not re.search(r"#000|: black", svg)
    assert "currentColor" in svg
    assert "stroke-dasharray" in svg


def test_the_map_ends_where_its_points_end():
    """A path that leaves does not stretch it: it is cut off at the frame."""
    assert (
        len(
            {
                re.search(r'viewBox="[^"]*"', chart(paths=paths).svg).group()
                for paths in (PATHS, dict([*PATHS.items()][:1]))
            }
        )
        == 1
    )
    assert "clip-path" in chart().svg


def test_words_are_only_ever_words():
    """A name or a title adds no element."""
    hostile = '"><script>alert(1)</script>'
    tree = ElementTree.fromstring(chart(title=hostile, paths={hostile: PATHS["clipped"]}).svg)
    assert not [element for element in tree.iter() if element.tag.endswith("script")]
    assert tree.get("aria-label").startswith(hostile)


def test_the_drawing_is_the_same_each_time():
    """It is committed, and compared."""
    assert chart().svg == chart().svg


def test_refuses_values_that_lie_the_other_way_round():
    """Rows are y."""
    with pytest.raises(InputError, match=r"\(5, 9\), but have \(9, 5\)\. Transpose"):
        surface(BOWL.T, x=X, y=Y, x_label="w", y_label="b", title="A bowl")
