"""What hidden tests say of what a learner gave."""

import tracemalloc

import numpy as np
import pytest

from course_grader.grading.authoring import expect
from course_grader.grading.authoring.points import LearnerError, Mistake, points, points_of


def test_a_number_may_be_asked_for_as_an_array_without_dimensions():
    """A vector of one element is none."""
    assert expect.array(2.5, name="loss", shape=()) == 2.5
    with pytest.raises(Mistake, match=r"`loss` has shape \(1,\); it must have shape \(\)"):
        expect.array([2.5], name="loss", shape=())


@pytest.mark.parametrize("value", [(1, 2), [1, 2]])
def test_two_things_may_come_in_a_tuple_or_a_list(value):
    """A learner need not know the difference."""
    assert expect.pair(value, "a and b", name="f") == value


@pytest.mark.parametrize(
    ("value", "came"),
    [((1, 2, 3), "a tuple of 3"), ([1], "a list of 1"), (None, "None, as happens"), ({"a": 1, "b": 2}, "a dict")],
)
def test_anything_but_two_things_is_named(value, came):
    """With how many there are."""
    with pytest.raises(Mistake, match=f"`f` must return two things, a and b; it returned {came}"):
        expect.pair(value, "a and b", name="f")


def test_a_function_that_returns_nothing_is_told_so_and_not_that_it_does_not_react():
    """Nothing twice is equal, too; nothing once is a reaction."""
    with pytest.raises(Mistake, match="`f` returns None, as happens when a `return` is missing"):
        expect.depends_on_input(None, None, name="f")
    expect.depends_on_input(None, np.ones(2), name="f")
    expect.depends_on_input(np.ones(2), np.ones(3), name="f")


@pytest.mark.parametrize(
    ("maybe", "how"), [(False, "`f` rests on it, so mend `g` first"), (True, "If `f` rests on it, mend `g` first")]
)
def test_what_a_function_rests_on_is_named_where_it_fails_and_the_other_is_wrong(maybe, how):
    """The first that is; where none is, or the function does not raise, its own mistake stands."""

    def wrong():
        raise Mistake("`g` returned None")

    def right():
        return None

    with (
        pytest.raises(Mistake) as caught,
        expect.blame_dependency("f", {"e": right, "g": wrong, "h": wrong}, maybe=maybe),
    ):
        raise LearnerError("`f` raised TypeError: no", function="f", raised="TypeError")
    assert str(caught.value) == f"`g` returned None. {how}"
    raised = LearnerError("`f` raised TypeError: no", function="f", raised="TypeError")
    for needed, error in (
        ({"g": right}, raised),
        ({"g": wrong}, Mistake("`f` raised no doubts")),
        ({"g": wrong}, LearnerError("`f` is not defined", function="f", missing=("f",))),
    ):
        with pytest.raises(Mistake) as caught, expect.blame_dependency("f", needed, maybe=maybe):
            raise error
        assert caught.value is error


def test_a_hidden_test_without_points_is_worth_none():
    """One with points is worth more than none."""
    assert points_of(print) == 0
    assert points_of(points(0.5)(lambda learner: None)) == 0.5
    for worth in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=rf"must be worth more than zero points, not {worth}"):
            points(worth)
    for strange in (print, "2", True):
        with pytest.raises(TypeError, match=rf"a number of points, not a {type(strange).__name__}: @points\(2\)"):
            points(strange)


@pytest.mark.parametrize("kind", [str, np.array, np.str_])
def test_text_among_numbers_is_refused_before_numpy_gives_each_as_much_room(kind):
    """One long text and many short ones take gigabytes as an array."""
    texts = list(map(kind, ["x" * 20_000, *[""] * 2_000]))
    tracemalloc.start()
    try:
        with pytest.raises(Mistake, match="`dw` is a list of 2; it must be an array of numbers"):
            expect.array([[0, 1], texts], name="dw")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_a_reworded_mistake_says_who_raised_what():
    """In the name of another function, if one is given; what is missing and read stays, too."""
    error = LearnerError(
        "`probe` raised KeyError: w", function="probe", raised="KeyError", missing=("w",), reads=("x",)
    )
    other = error.reworded("`clip` raised KeyError: w", function="clip")
    assert (str(other), vars(other)) == ("`clip` raised KeyError: w", vars(error) | {"function": "clip"})
    assert vars(error.reworded("no")) == vars(error)
    plain = Mistake("`clip` raised doubts").reworded("no", function="clip")
    assert (type(plain), str(plain), plain.function, plain.raised) == (Mistake, "no", "", "")
