"""What an answer uses is seen in its text, under whatever name."""

import ast
import random
from types import SimpleNamespace

import pytest

from course_grader.grading.authoring.expect import by_hand
from course_grader.grading.authoring.points import Mistake
from course_grader.grading.exercises import name_analysis
from course_grader.grading.exercises.name_analysis import (
    MAX_CHARS,
    CellNames,
    strip_comments_and_strings,
    strip_magics,
)

AUTOGRAD = {r"^torch\.autograd\b|^jax\.grad$|\.(backward|requires_grad_?)$": "by hand"}


def judge(cells, names=("walk",)):
    learner = SimpleNamespace(source=lambda cell: cells.get(cell, ""))
    by_hand(learner, names, among=("helper", "walk", "other"), instead_of=AUTOGRAD)


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("def walk(x):\n    loss(x).backward()", ".backward"),
        ("def walk(x):\n    h = loss(x)\n    h.backward()", "h.backward"),
        ("import torch as t\ndef walk(x):\n    return t.autograd.grad(x, x)", "torch.autograd"),
        ("def walk(x):\n    from torch import autograd as a\n    return a.grad(x, x)", "torch.autograd"),
        ("from jax import grad as d\nwalk = d(abs)", "jax.grad"),
        ("import jax\nj = jax\nk = j\nwalk = k.grad(abs)", "jax.grad"),
        ("from jax import *\nwalk = grad(abs)", "jax.grad"),
        ("walk = __import__('jax').grad(abs)", "jax.grad"),
        ("import importlib\nwalk = importlib.import_module('torch.autograd').grad", "torch.autograd.grad"),
        ("def walk(x):\n    getattr(loss(x), 'backward')()", ".backward"),
        ("def walk(x):\n    return tensor(x, requires_grad=True)", ".requires_grad"),
        ("def walk(x):\n    x.requires_grad = True", "x.requires_grad"),
        ("%%time\ndef walk(x):\n    x.backward()", "x.backward"),
        ("%load_ext one two\n!ls\n%time walk = lambda x: x.backward()", "x.backward"),
        ("walk = %timeit -o x.backward()", "x.backward"),
    ],
)
def test_what_is_used_is_seen_under_whatever_name(source, named):
    """Aliases, star imports, imports by a function, attributes by name, and cells that IPython alone can read."""
    with pytest.raises(Mistake) as caught:
        judge({"walk": source})
    assert str(caught.value) == f"`walk` uses `{named}`: by hand"


@pytest.mark.parametrize(
    "source",
    [
        "def walk(x):\n    '''Not x.backward().'''  # torch.autograd.grad",
        "def grad(x): return x\ndef backward(x): return grad(x)\nwalk = backward",
        "class Layer:\n    def backward(self, g): return g\ndef walk(x): return Layer().backward(x)",
        "import torch, jax\ndef walk(x): return torch.relu(jax.numpy.tanh(x))",
        "from collections import namedtuple\nLayer = namedtuple('Layer', 'forward, backward')\nwalk = relu.backward",
        "class Layer:\n    backward: object\ndef walk(relu): return relu.backward(2)",
        "class Layer:\n    def __init__(self): self.backward = abs\ndef walk(relu): return relu.backward(2)",
        *(f"{line}\n# as x.backward() does\ndef walk(x): return x" for line in ("np.exp?", "?np.exp", "found = !ls")),
        "%timeit -n 1 \\\n  walk\n  # as x.backward() does\ndef walk(x): return x",
        "walk = (2 *",
        "x" + ".x" * 5000,
        "(" * 5000,
        "\0",
        "",
    ],
)
def test_what_is_only_called_alike_is_not_taken_for_it(source):
    """Comments, texts, functions and methods of their own, other parts of a library; and what nobody can read.

    Comments stay comments beside what only IPython reads: a question, a command, a magic.
    """
    judge({"walk": source})


def test_a_method_of_their_own_hides_no_librarys():
    """The name of a module that was imported says whose it is."""
    own = "class Layer:\n    def backward(self, g): return g\n"
    with pytest.raises(Mistake, match=r"torch\.Tensor\.backward"):
        judge({"walk": own + "import torch\ndef walk(x): torch.Tensor.backward(x)"})


@pytest.mark.parametrize("helper", ["from jax import grad as d", "import jax\ndef d(x): return jax.grad(x)"])
def test_another_cell_counts_where_its_names_are_used(helper):
    """Its import or its function; where neither is used, it is another answer's business."""
    with pytest.raises(Mistake, match=r"`walk` uses `jax\.grad`"):
        judge({"helper": helper, "walk": "def walk(x): return d(x)"})
    judge({"helper": helper, "walk": "def walk(x): return x"})
    judge({"helper": helper, "walk": "def walk(d): return d(x)"})


def test_another_answer_is_looked_at_only_by_its_own_test():
    """One that rests on it keeps its points, but not where it is defined in the other's cell."""
    helper = "import jax\ndef helper(x): return jax.grad(x)"
    judge({"helper": helper, "walk": "def walk(x): return helper(x)"})
    with pytest.raises(Mistake):
        judge({"helper": helper + "\ndef walk(x): return x"})
    with pytest.raises(Mistake):
        judge({"helper": helper, "walk": "def walk(x): return x"}, names=("walk", "helper"))


def test_a_cell_as_long_as_a_book_is_not_parsed():
    """It would take the grader's memory; its names are seen all the same."""
    long = "def walk(x):\n    loss(x).h.backward()\n" + f"numbers = [{'1,' * 200_000}]"
    with pytest.raises(Mistake, match=r"`walk` uses `h\.backward`|uses `.*backward`"):
        judge({"walk": long})
    assert not CellNames.of(long).bound


@pytest.mark.timeout(60)  # it would take hours
def test_a_word_as_long_as_a_book_is_read_once():
    """Where a cell cannot be parsed: not again from each of its letters."""
    assert CellNames.of("(" + "a" * 1_000_000) == CellNames()


def test_a_text_is_parsed_once_and_beyond_the_limit_never(monkeypatch):
    """Neither as a whole nor, after that, line by line: each failing call asks for its names again."""
    parsed, parse = [], ast.parse
    monkeypatch.setattr(name_analysis.ast, "parse", lambda source: parsed.append(source) or parse(source))
    short, bomb = f"x = {random.random()}", ("!" + "a=b;" * 300 + "\n") * 20
    assert len(bomb) > MAX_CHARS
    for _ in range(5):
        CellNames.of(short), CellNames.of(bomb), strip_magics(bomb), strip_comments_and_strings(bomb)
    assert parsed == [short]


def test_the_uses_of_an_answer_are_looked_for_once(monkeypatch):
    """However many of its calls a hidden test looks at."""
    searched, find = [], name_analysis.used_names
    monkeypatch.setattr(name_analysis, "used_names", lambda cells: searched.append(1) or find(cells))
    answer = f"def walk(x): return x + {random.random()}"
    for _ in range(5):
        judge({"walk": answer})
    assert searched == [1]


def test_what_is_imported_from_everywhere_is_not_looked_for_name_by_name():
    """A thousand modules with a thousand names each would be a million names."""
    stars = "".join(f"from a{i} import *\n" for i in range(11))
    with pytest.raises(Mistake, match=r"`walk` uses `import \*`: from more than 10 modules; import what you use"):
        judge({"walk": stars + "def walk(x): return grad(x)"})


def test_a_cell_too_long_or_too_deep_to_be_parsed_is_bare_already():
    """It keeps its comments: to drop them would take the grader's memory."""
    for source in ("x" * 300_000 + "  # y", "(" * 300 + "1" + ")" * 300, "x = (  # y", "-" * 900 + "1"):
        assert strip_comments_and_strings(source) == source


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f(x):\n    y = 1\n\nasync def g():\n    pass\nclass H: ...", {"f", "g", "H"}),
        ("a = b = 2\nc, d = 1, 2\ne: int = 3\nf == 4\ng[0] = 5\nh.i = 6", {"a", "b", "c", "d", "e"}),
        ("import numpy as np, os.path\nfrom math import pi, tau as turn", {"np", "os", "pi", "turn"}),
        ("def (:\n%%time\n\x00", set()),
    ],
)
def test_names_are_read_off_the_text(source, names):
    """Also where it is no Python."""
    assert CellNames.of(source).bound == names


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("import jax\nj = jax\nk = j\nl = k\nwalk = l.grad(abs)", "jax.grad"),
        ("def walk(x):\n    setattr(x, 'requires_grad', True)", ".requires_grad"),
        ("import jax, math\nj = jax\nwalk = j.grad(abs)\nj = math", "jax.grad"),
        ("walk = importlib.import_module('jax').grad(abs)", "jax.grad"),
        ("import jax.numpy\nwalk = jax.grad(abs)", "jax.grad"),
        ("from jax import grad\nfrom torch.autograd import grad as g\nwalk = g(abs)", "jax.grad"),
    ],
)
def test_what_is_used_is_seen_by_longer_ways(source, named):
    """Over three names, by setting an attribute, by its full address."""
    with pytest.raises(Mistake) as caught:
        judge({"walk": source})
    assert str(caught.value) == f"`walk` uses `{named}`: by hand"


def test_a_name_that_a_function_makes_global_is_bound():
    """Another cell's function may import what the answer uses."""
    helper = "def set_up():\n    global d\n    from jax import grad as d\n"
    assert CellNames.of(helper).bound == {"d", "set_up"}
    with pytest.raises(Mistake, match=r"`walk` uses `jax\.grad`"):
        judge({"helper": helper, "walk": "def walk(x): return d(x)"})


def test_a_name_that_is_given_a_value_here_is_not_taken_from_elsewhere():
    """An argument, a variable and a function of its own."""
    read = CellNames.of("def f(a):\n    b = a + c\n    return g(b)\ndef g(x): return x")
    assert read.free == {"c"}


def test_a_long_name_is_shown_in_part():
    """The message is for people."""
    with pytest.raises(Mistake) as caught:
        judge({"walk": f"walk = {'x' * 100}.backward()"}, names=["walk"])
    assert str(caught.value) == f"`walk` uses `{'x' * 60}`: by hand"


def test_a_name_with_something_before_it_is_named_rather_than_one_without():
    """It says more."""
    with pytest.raises(Mistake) as caught:
        judge({"walk": "def walk(x):\n    loss(x).backward()\n    x.backward()"})
    assert str(caught.value) == "`walk` uses `x.backward`: by hand"
