"""What a chart is made of besides its marks: ids and coordinates, the same on every processor."""

import re

import pytest

from course_lib.figures import lines

ID, REFERENCE = re.compile(r'\sid="([^"]*)"'), re.compile(r'url\(#([^)]*)\)|href="#([^"]*)"')


def chart(factor: float = 1.0, title: str = "A chart"):
    return lines({"a": [1.0 * factor, 2.5, 4.0], "b": [3.0]}, x_label="x", y_label="y", title=title)


def ids(markup: str) -> list[str]:
    return ID.findall(markup)


def references(markup: str) -> set[str]:
    return {first or second for first, second in REFERENCE.findall(markup)}


@pytest.mark.parametrize("factor", [1 + 1e-12, 1.5, -40.0])
def test_ids_do_not_depend_on_what_is_drawn(factor):
    """Neither on its last digit, which is the processor's, nor on its first: on their order alone."""
    assert ids(chart().svg) == ids(chart(factor).svg) != []


def test_every_reference_is_to_a_part_of_the_same_figure():
    """As drawn, and as displayed under ids of its own."""
    drawn = chart()
    for markup in (drawn.svg, drawn._repr_html_()):
        assert references(markup) == set(ids(markup))


def test_two_figures_on_a_page_share_no_id():
    """Not even two of one title, or one that is displayed twice."""
    one, like_it, another = chart(title="One"), chart(2.0, title="One"), chart(title="Another")
    shown = [ids(figure._repr_html_()) for figure in (one, one, like_it, another)]
    assert len(set().union(*shown)) == sum(map(len, shown))


def test_coordinates_are_rounded_and_words_are_not():
    """A hundredth of a point is too small to see; 0.001 on an axis is a value."""
    svg = lines({"a": [0.0015, 0.0035]}, x_label="x", y_label="y", title="t").svg
    assert "0.0015" in re.findall(r">([^<]+)</text>", svg)
    places = re.findall(r'(?<= )(?:d|transform|x|y)="([^"]*)"', svg)
    assert places
    assert not [place for place in places if re.search(r"\.\d{3}|-0(?!\.)(?! )|\.\d?0(?!\d)", place)]
