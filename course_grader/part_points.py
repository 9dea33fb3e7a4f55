"""Read from an exercise's hidden tests which answer each belongs to, and its points, without running them."""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.errors import NotebookError

if TYPE_CHECKING:
    from nbformat import NotebookNode

__all__ = ["answers_by_test", "points_by_answer"]

SAID = ("Mistake", "reworded", "by_hand")  # a test only says this, or looks for it in the text of answers


def points_by_answer(tests: Path, source: "NotebookNode") -> dict[str, float]:
    """Return the points of each answer: those of the hidden tests that belong to it.

    Parameters
    ----------
    tests : Path
        The file of hidden tests, ``test_hidden.py``.
    source : NotebookNode
        The exercise's text.

    Raises
    ------
    NotebookError
        If a test with points calls no answer, or has cases that cannot be counted.
    """
    tags = [(cell, set(cell.metadata.get("tags", []))) for cell in source.cells if cell.cell_type == "code"]
    answers = {cell.id: cell.source for cell, said in tags if "answer" in said}
    given = [cell.source for cell, said in tags if not said & {"answer", "check", "solution", "picture", "payoff"}]
    text, points = tests.read_text(encoding="utf-8"), dict.fromkeys(answers, 0.0)
    tree = ast.parse(text)
    try:
        for name, answer in answers_by_test(text, answers, given).items():
            points[answer] += _points_of(_functions(tree)[name], tree)[0]
    except NotebookError as error:
        raise NotebookError(f"{tests}: {error}") from None
    return points


def answers_by_test(tests: str, answers: Mapping[str, str], given: Iterable[str]) -> dict[str, str]:
    r"""Return the answer that each hidden test with points belongs to, by the test's name.

    A test belongs to the answer whose function it calls by name, itself or, if it calls none, in the functions that it
    uses; or to the answer that a given function of the notebook uses, which it calls. Of several it belongs to the last
    one. Where that misleads, ``@points(2, part="backward")`` says which.

    Parameters
    ----------
    tests : str
        The text of the hidden tests.
    answers : mapping
        The text of each answer, or of its stub, by its name, in the notebook's order.
    given : iterable of str
        The text of each given cell.

    Raises
    ------
    NotebookError
        If a test with points calls no answer, or has cases that cannot be counted.

    Examples
    --------
    >>> test = "@points(2)\ndef test_it(learner):\n    learner.call('double', 1)"
    >>> answers_by_test(test, {"double": "def double(x): return 2 * x"}, given=[])
    {'test_it': 'double'}
    """
    tree, order, found = ast.parse(tests), list(answers), {}
    functions, owners = _functions(tree), _owners(answers, given)
    for name, node in functions.items():
        worth, part = _points_of(node, tree)
        if worth:
            asked = {part} if part else _nearest(name, functions, owners, _called)
            if not asked <= set(answers) or not asked:
                raise NotebookError(
                    f"the points of {name} must belong to an answer, one of {', '.join(answers)}, but it "
                    f"{f'names {part!r}' if part else 'calls none'}; write @points(..., part=ANSWER)"
                )
            found[name] = max(asked, key=order.index)
    return found


def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _owners(answers: Mapping[str, str], given: Iterable[str]) -> Mapping[str, set[str]]:
    """Return for each function of the notebook the answers that it belongs to, or uses."""
    own = {node.name: {answer} for answer, text in answers.items() for node in _definitions(text)}
    nodes = {node.name: node for text in (*answers.values(), *given) for node in _definitions(text)}
    return own | {name: _nearest(name, nodes, own, _used) for name in nodes if name not in own}


def _definitions(text: str) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    yield from (node for node in ast.parse(text).body if isinstance(node, (ast.FunctionDef, ast.ClassDef)))


def _nearest(
    name: str,
    functions: Mapping[str, ast.AST],
    owners: Mapping[str, set[str]],
    read: Callable[[ast.AST], Iterator[str]],
) -> set[str]:
    """Return the owners of what a function names or, if it names none, of what the functions do that it uses."""
    level, seen = {name}, {name}
    while level:
        if found := {owner for each in level for word in read(functions[each]) for owner in owners.get(word, ())}:
            return found
        level = {word for each in level for word in _words(functions[each]) if word in functions} - seen
        seen |= level
    return set()


def _words(node: ast.AST) -> Iterator[str]:
    """Yield the names and the strings in a function, but for what it only says."""
    for each in _walk(node):
        match each:
            case ast.Name(id=word) | ast.Constant(value=str(word)):
                yield word


def _used(node: ast.AST) -> Iterator[str]:
    """Yield the names in a given function, and what it calls by a name that is a default."""
    yield from (each.id for each in _walk(node) if isinstance(each, ast.Name))
    if isinstance(node, ast.FunctionDef):
        yield from (str(each.value) for each in node.args.defaults if isinstance(each, ast.Constant))


def _called(node: ast.AST) -> Iterator[str]:
    """Yield the strings that a test hands to a function: so it calls the learner's by their names."""
    for each in _walk(node):
        match each:
            case ast.Call(args=args):
                yield from (arg.value for arg in args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in SAID:
            return
        case ast.FunctionDef(body=body, args=args):  # not its decorators
            yield from (each for part in (args, *body) for each in _walk(part))
            return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _walk(child)


def _points_of(test: ast.FunctionDef, tree: ast.Module) -> tuple[float, str]:
    """Return what a test is worth, all of its cases together, and the part that it says it belongs to."""
    worth, cases, part = 0.0, 1, ""
    for decorator in test.decorator_list:
        match decorator:
            case ast.Call(func=ast.Name(id="points"), args=[ast.Constant(value=int() | float() as number)]):
                worth = float(number)
                part = "".join(str(ast.literal_eval(word.value)) for word in decorator.keywords if word.arg == "part")
            case ast.Call(func=ast.Attribute(attr="parametrize"), args=[_, given, *_]):
                cases *= _count(given, tree, test.name)
    return worth * cases, part


def _count(cases: ast.expr, tree: ast.Module, test: str) -> int:
    match cases:
        case ast.List(elts=each) | ast.Tuple(elts=each) if not any(isinstance(one, ast.Starred) for one in each):
            return len(each)
        case ast.Name(id=name):
            for node in tree.body:
                if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                    return _count(node.value, tree, test)
    raise NotebookError(
        f"the cases of {test} must be a list, so that they can be counted without running it, but they are "
        f"{ast.unparse(cases)}; write them out"
    )
