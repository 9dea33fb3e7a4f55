"""Text from outside is cut where it is too long, and only there."""

import pytest

from course_grader.grading.text import excerpt, join_names, one_line


@pytest.mark.parametrize(
    ("text", "shown"), [("abcde", "abcde"), ("abcdef", "abcd…"), (" a  b\tc\n", "a b c"), ("", "")]
)
def test_a_line_of_just_the_length_is_whole(text, shown):
    """Blanks count once; what is cut says so within the length."""
    assert one_line(text, chars=5) == shown


def test_tabs_are_blanks_and_not_marks_of_something_unprintable():
    """In a traceback, lines keep their indent."""
    assert excerpt("if x:\n\treturn\tNone\n") == "if x:\n        return  None"


def test_an_excerpt_of_just_the_length_is_whole():
    """A character more, and the middle is left out."""
    assert excerpt("abcd", chars=4) == "abcd"
    assert excerpt("abcde", chars=4) == "ab\n[1 characters are left out here]\nde"


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["ada"], "ada"),
        (["ada", "bob"], "ada and bob"),
        (["ada", "bob", "cem"], "ada, bob and cem"),
        (["ada", "bob", "cem", "dan"], "ada, bob, cem and 1 more"),
    ],
)
def test_names_are_listed_as_far_as_there_is_room(names, said):
    """As many as fit are all named."""
    assert join_names(names, most=3) == said
