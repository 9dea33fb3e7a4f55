"""The timeline of calls."""

import re

import pytest

from course_lib.figures import timeline
from course_lib.figures.timeline import depths

SPANS = [("step", 0.0, 100.0), ("linear", 0.0, 60.0), ("addmm", 20.0, 30.0), ("relu", 70.0, 20.0)]


def test_a_call_within_a_call_stands_below_it():
    """Whatever the order they come in; what begins where another ends is beside it."""
    assert depths(SPANS) == [0, 1, 2, 1]
    assert depths([("a", 0, 5), ("b", 5, 5)]) == [0, 0]


def test_it_says_total_and_own_time():
    """The time of a call less that of the calls that it made itself."""
    said = repr(timeline(list(reversed(SPANS)), title="A step", unit="µs"))
    assert said == (
        "A step. step: 100 µs, of which 20 its own. linear: 60 µs, of which 30 its own. "
        "addmm: 30 µs, of which 30 its own. relu: 20 µs, of which 20 its own."
    )


@pytest.mark.parametrize(("length", "shown"), [(30.0, True), (1.0, False)])
def test_a_name_is_written_where_it_fits(length, shown):
    """A call too short for its name has it in the words alone."""
    figure = timeline([("step", 0.0, 100.0), ("addmm", 20.0, length)], title="t", unit="µs")
    drawn = re.sub(r'aria-label="[^"]*"', "", figure.svg)
    assert ("addmm" in drawn) is shown
    assert "addmm" in repr(figure)


def test_the_drawing_follows_the_page_and_repeats():
    """No black of its own, and the same file each time."""
    svg = timeline(SPANS, title="t", unit="µs").svg
    assert not re.search(r"#000\b|#000000|black", svg)
    assert svg == timeline(SPANS, title="t", unit="µs").svg
