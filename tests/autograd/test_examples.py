"""The reference shows what each function does: examples of those that a rule makes run, as all others do."""

import doctest

import pytest

import course_lib.autograd as ag
from course_lib.autograd.ops.examples import find_example

FUNCTIONS = {name: value for name in ag.__all__ if callable(value := getattr(ag, name)) and not isinstance(value, type)}


def test_each_function_has_an_example():
    """Whatever it was made by."""
    assert len(FUNCTIONS) > 100
    assert [name for name, value in FUNCTIONS.items() if ">>> " not in (value.__doc__ or "")] == []


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if find_example(name)])
def test_what_an_example_shows_is_what_comes_out(name):
    """Such a function belongs to no module that doctest looks through."""
    (found,) = doctest.DocTestFinder(recurse=False).find(FUNCTIONS[name], name, module=False)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    said = []
    runner.run(found, out=said.append)
    assert runner.tries >= 2
    assert not said, "".join(said)
