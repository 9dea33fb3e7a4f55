"""Run a hidden test on right versions of what the learner's function rests on: one mistake costs its own points."""

import ast
import copy
import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any

from course_grader.grading.authoring.points import Mistake
from course_grader.grading.exercises.name_analysis import MAX_CHARS, CellNames, strip_magics

__all__ = ["remove_definitions", "rests_on"]

Test = Callable[..., None]
IMPORTS = "import ", "from "


def rests_on(source: str, /) -> Callable[[Test], Test]:
    """Let a hidden test pass if it passes with these functions in place of the learner's own.

    The test is run on the learner's functions first, so an answer that shares more than the exercise asks for passes,
    too. If it fails, it is run again while each name that ``source`` defines is replaced by the right version. If that
    fails as well, the learner is told the first mistake.

    The second run takes the right version of these functions wherever it is called, so put their own tests elsewhere;
    and above this one, since the source is sent to the learner's process, where their code could keep it.

    Parameters
    ----------
    source : str
        Python text that defines the right versions, with its own imports.

    Examples
    --------
    >>> @rests_on("def double(x): return 2 * x")
    ... def test_quadruple(learner):
    ...     if learner.call("quadruple", 3) != 12:
    ...         raise Mistake("`quadruple` is wrong")
    """

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(learner: Any, **fixtures: Any) -> None:
            again = copy.deepcopy(fixtures)  # the generator's state, too
            try:
                test(learner=learner, **fixtures)
            except Mistake as first:
                try:
                    test(learner=learner.resting_on(source), **again)
                except Mistake:
                    raise first from None

        return run

    return decorate


def remove_definitions(answers: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    r"""Return the text of answers without those of these names, but with what others use of their cells.

    A helper stays, and runs, when the function beside it is replaced: it may do what is to be done by hand.

    Examples
    --------
    >>> text = "from jax import grad\nslope = grad(abs)\ndef double(x): return grad(abs)(x) + x"
    >>> remove_definitions({"double": text, "steep": "def steep(x): return slope(x)"}, {"double"})["double"]
    'from jax import grad\nslope = grad(abs)'
    """
    kept = {cell: text for cell, text in answers.items() if cell not in names}
    parts = [(cell, part) for cell in answers if cell in names for part in _statements(answers[cell])]
    reads = [CellNames.of(part) for _, part in parts]
    binding: dict[str, list[int]] = {}
    for i, read in enumerate(reads):
        if parts[i][1].startswith(IMPORTS) or not read.bound & set(names):
            for name in read.bound:
                binding.setdefault(name, []).append(i)
    todo = ["*", *(name for text in kept.values() for name in CellNames.of(text).free)]
    taken: set[int] = set()
    for name in todo:  # grows while it is iterated over
        new = binding.pop(name, [])
        taken.update(new)
        todo += [other for i in new for other in reads[i].free]
    left = {cell: "\n".join(parts[i][1] for i in sorted(taken) if parts[i][0] == cell) for cell in answers}
    return left | kept


def _statements(source: str) -> list[str]:
    """Return the statements of a cell, one by one; of one that is not read, none."""
    if len(source) > MAX_CHARS:
        return []
    try:
        return [ast.unparse(node) for node in ast.parse(strip_magics(source)).body]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
