"""Strips of spans over one axis."""

import re

import pytest

from course_lib.errors import InputError
from course_lib.figures import strips

ROWS = {"host": [("launch", 0.0, 2.0), ("wait", 2.0, 6.0)], "GPU": [("kernel 1", 1.0, 3.0), ("kernel 2", 4.0, 4.0)]}


def words(figure):
    return re.findall(r">([^<>]+)</text>", re.sub(r'aria-label="[^"]*"', "", figure.svg))


def test_it_says_every_span_and_every_mark():
    said = repr(strips(ROWS, title="The host waits", unit="ms", marks={"done": 8.0}))
    assert said == (
        "The host waits. host: launch 0 to 2, wait 2 to 8. GPU: kernel 1 1 to 4, kernel 2 4 to 8. ms. done at 8."
    )


def test_names_stand_in_their_spans_and_those_without_room_in_the_legend():
    """Each kind once in the legend, whatever its numbers."""
    assert {"launch", "wait", "kernel 1", "kernel 2"} <= set(words(strips(ROWS, title="t", unit="ms")))
    narrow = [(f"kernel {i}", i, 0.2) for i in range(1, 5)]
    found = words(strips(ROWS | {"GPU": [*narrow, ("copy", 5, 3)]}, title="t", unit="ms"))
    assert found.count("kernel") == 1
    assert not {"kernel 1", "kernel 2"} & set(found)
    assert set("1234") < set(words(strips({"GPU": narrow}, title="t", unit="s")))  # one kind: its number is enough


def test_a_mark_is_named_beside_its_line():
    assert "done" in words(strips(ROWS, title="t", unit="ms", marks={"done": 8.0}))
    assert "early" in words(strips(ROWS, title="t", unit="ms", marks={"early": 1.0}))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({}, "0 kinds"),
        ({"a": [(kind, 0, 1) for kind in "abcdefg"]}, "7 kinds"),
        ({"a": [("b", 0, -1)]}, "'b' of 'a' starts at 0 and lasts -1"),
        ({"a": [("b", float("nan"), 1)]}, "starts at nan"),
    ],
)
def test_what_cannot_be_drawn_is_refused(rows, said):
    with pytest.raises(InputError, match=said):
        strips(rows, title="t", unit="ms")


def test_the_drawing_follows_the_page_and_repeats():
    svg = strips(ROWS, title="t", unit="ms", marks={"done": 8.0}).svg
    assert not re.search(r"#000\b|#000000|black", svg)
    assert svg == strips(ROWS, title="t", unit="ms", marks={"done": 8.0}).svg
