"""The timeline of calls."""

import re

import pytest

from course_lib.figures import timeline
from course_lib.figures.charts.timeline import nesting_depths

SPANS = [("step", 0.0, 100.0), ("linear", 0.0, 60.0), ("addmm", 20.0, 30.0), ("relu", 70.0, 20.0)]


def test_a_call_within_a_call_stands_below_it():
    """Whatever the order they come in; what begins where another ends is beside it."""
    assert nesting_depths(SPANS) == [0, 1, 2, 1]
    assert nesting_depths([("a", 0, 5), ("b", 5, 5)]) == [0, 0]


def test_it_says_total_and_own_time():
    """The time of a call less that of the calls that it made itself."""
    said = repr(timeline(list(reversed(SPANS)), title="A step", unit="µs"))
    assert said == (
        "A step. step: 100 µs, of which 20 its own. linear: 60 µs, of which 30 its own. "
        "addmm: 30 µs, of which 30 its own. relu: 20 µs, of which 20 its own."
    )


@pytest.mark.parametrize(("length", "label"), [(30.0, "addmm"), (5.0, "1"), (1.0, None)])
def test_a_name_is_written_where_it_fits(length, label):
    """A call too short for its name has a number, where that fits; the caption explains the numbers that are drawn."""
    figure = timeline([("step", 0.0, 100.0), ("addmm", 20.5, length)], title="t", unit="µs")
    drawn = re.sub(r'aria-label="[^"]*"', "", figure.svg)
    written = {text for text in re.findall(r">([^<>]+)</text>", drawn) if text in ("addmm", "1")}
    assert written == ({label} if label else set())
    assert ("1: addmm.</figcaption>" in figure._repr_html_()) is (label == "1")
    assert "addmm" in repr(figure)


def test_calls_of_one_name_look_alike_and_others_do_not():
    """Where no name fits, waits and steps are still told apart."""
    spans = [(name, float(i), 1.0) for i, name in enumerate(["wait", "step"] * 40)]
    svg = timeline(spans, title="t", unit="ms").svg
    fills = re.findall(r"fill: [^;]*?(#[0-9a-f]{6})", svg)
    assert fills == fills[:2] * 40
    assert len(set(fills)) == 2


def test_the_drawing_follows_the_page_and_repeats():
    """No black of its own, and the same file each time."""
    svg = timeline(SPANS, title="t", unit="µs").svg
    assert not re.search(r"#000\b|#000000|black", svg)
    assert svg == timeline(SPANS, title="t", unit="µs").svg
