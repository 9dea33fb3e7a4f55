"""Copies are listed however they are dressed up; honest answers are not, however alike the task makes them."""

import json

import nbformat
import pytest

from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_class.similarity import MOST_IN_FULL, find_similar, find_similar_answers, fingerprint
from tests.grading.conftest import SOURCE

BASE = """
def halve(x):
    total = np.zeros_like(x)
    for i in range(len(x)):
        # half of each
        part = x[i] * 0.5
        if part > 0:
            total[i] = total[i] + part
        else:
            total[i] = total[i] - abs(part)
    return total
"""
RENAMED = """
def halve(values):
    "Halves."
    result = np.zeros_like( values )
    for index in range(len(values)):
        piece = values[index] * .50

        if piece > 0:  # above zero
            result[index] = result[index] + piece
        else:
            result[index] = result[index] - abs(piece)
    # done
    return result
"""
HONEST = [
    "def halve(x):\n    return np.asarray(x) / 2\n",
    "def halve(x):\n    x = np.array(x, dtype=float)\n    x *= 0.5\n    return x\n",
    "def halve(x):\n    out = []\n    for value in np.atleast_1d(x):\n        out.append(value / 2.0)\n"
    "    return np.array(out).reshape(np.shape(x))\n",
    "def halve(x):\n    if np.ndim(x) == 0:\n        return x / 2\n    return np.stack([halve(part) for part in x])\n",
    "def halve(x):\n    half = lambda v: np.true_divide(v, 2)\n    return np.vectorize(half)(x)\n",
]


def test_a_copy_with_other_names_and_comments_is_listed(exercise):
    """Names, numbers, spacing, comments and docstrings changed: all of its own is the same."""
    [pair] = find_similar_answers(
        {"ada": {"halve": BASE}, "bob": {"halve": RENAMED}, "cem": {"halve": HONEST[2]}}, exercise
    )
    assert (pair.first, pair.second, pair.alike, pair.cells) == ("ada", "bob", 1.0, ("halve",))


def test_a_copy_with_a_line_of_its_own_is_still_listed(exercise):
    """Less alike, and above the threshold; with a threshold of one it is not listed."""
    edited = RENAMED.replace("    return result", "    result = result.astype(float)\n    return result")
    answers = {"ada": {"halve": BASE}, "bob": {"halve": edited}}
    [pair] = find_similar_answers(answers, exercise)
    assert 0.6 < pair.alike < 1
    assert find_similar_answers(answers, exercise, at_least=1) == []


def test_honest_answers_are_not_listed(exercise):
    """Five people who solve the same small task each in their way."""
    answers = {f"learner{number}": {"halve": code} for number, code in enumerate(HONEST)}
    assert find_similar_answers(answers, exercise, at_least=0.4) == []


def test_what_everyone_writes_is_discounted(exercise, make_exercise):
    """The stub, the reference's own words, and what more than half the class has, are nobody's copy."""
    stubs = {name: {"halve": exercise.pristine().cells[-1].source} for name in ("ada", "bob")}
    references = {name: {"halve": "def halve(y):\n    return y / 2\n"} for name in ("cem", "dan")}
    assert find_similar_answers(stubs | references, exercise) == []
    crowd = {f"learner{number}": {"halve": BASE} for number in range(5)}
    assert find_similar_answers(crowd, exercise) == []
    assert len(find_similar_answers(dict(list(crowd.items())[:3]), exercise)) == 3


def own_way(number):
    """Return an answer that is like no other: every attribute in it is its own."""
    lines = "\n".join(f"    y = np.{name}{number}(y, x.{name}{number})" for name in ("add", "dot", "power", "outer"))
    return {"halve": f"def halve(x):\n{lines}\n    return y\n"}


def test_in_a_large_class_the_same_pairs_are_found(exercise):
    """MinHash proposes them, and their likeness is counted in full."""
    answers = {f"learner{number:03}": own_way(number) for number in range(MOST_IN_FULL + 5)}
    found = find_similar_answers(answers | {"ada": {"halve": BASE}, "zoe": {"halve": RENAMED}}, exercise)
    assert [(pair.first, pair.second, pair.alike) for pair in found] == [("ada", "zoe", 1.0)]


@pytest.mark.parametrize("code", ["", "def f(", "'''open", "\x00", "x = (" * 300, "if 1:\n  a\n b\n"])
def test_code_that_is_none_does_not_stop_it(code):
    """A fingerprint of what can be read."""
    assert isinstance(fingerprint(code), frozenset)


def test_order_of_reading_does_not_matter(exercise):
    """The same pairs, in the same order, however the class is listed."""
    answers = {"cem": {"halve": RENAMED}, "ada": {"halve": BASE}, "bob": {"halve": BASE + "    # mine\n"}}
    assert find_similar_answers(answers, exercise) == find_similar_answers(dict(sorted(answers.items())), exercise)


def test_files_that_cannot_be_read_are_left_to_grading(exercise, tmp_path):
    """Broken notebooks and missing ones are passed over."""
    for name, code in {"ada": BASE, "bob": RENAMED}.items():
        notebook = exercise.reference()
        next(cell for cell in notebook.cells if cell.id == "halve").source = code
        nbformat.write(notebook, tmp_path / f"{name}.ipynb")
    (tmp_path / "cem.ipynb").write_text(json.dumps({"nbformat": 4}))
    tasks = [Task(path.stem, exercise, path) for path in sorted(tmp_path.iterdir())]
    [pair] = find_similar([*tasks, Task("dan", None, None)])
    assert (pair.exercise, pair.first, pair.second) == ("double", "ada", "bob")


def test_an_enormous_answer_costs_no_more_than_a_long_one():
    """What is beyond any honest length is not read: a file of the largest size would take gigabytes."""
    endless = "".join(f"x.a{number}\n" for number in range(50_000))
    assert len(fingerprint(endless)) < 20_000
    assert fingerprint(endless) == fingerprint(endless + "y.b = 3\n")


@pytest.mark.timeout(60)  # it would take hours
def test_a_text_without_an_end_is_looked_at_once():
    """Python 3.11 begins anew at each of its quotes; later ones end there."""
    assert fingerprint("'" + r"\'" * 400_000) == frozenset()


@pytest.mark.timeout(60)  # it would take minutes
@pytest.mark.parametrize("code", ["x{}$", "f(\n{}$\n)", "{}$"], ids=["in a line", "in brackets", "before a line"])
def test_blanks_that_lead_to_nothing_are_not_looked_at_again_and_again(code):
    """As Python before 3.12 does; how many there are says nothing."""
    after = "\ny = np.exp(x) + np.log(x) * 3 - x ** 2 / 7"
    assert fingerprint(code.format(" " * 60_000) + after) == fingerprint(code.format(" " * 200) + after)


def test_answers_of_a_line_are_not_compared(exercise):
    """Anyone may write the same one."""
    short = {"halve": "def halve(x):\n    return np.multiply(x, 0.5)\n"}
    assert find_similar_answers({"ada": short, "bob": short}, exercise) == []


@pytest.mark.parametrize(("copies", "others", "listed"), [(4, 0, 0), (3, 1, 0), (2, 2, 1), (3, 0, 3)])
def test_what_more_than_half_of_four_or_more_have_is_nobodys(exercise, copies, others, listed):
    """Half is not more than half, and three are no class."""
    answers = {f"copy{number}": {"halve": BASE} for number in range(copies)}
    answers |= {f"other{number}": own_way(number) for number in range(others)}
    assert len(find_similar_answers(answers, exercise)) == listed


def test_pairs_come_with_the_most_alike_first_and_name_what_is_alike(exercise):
    """The share is that of all answers together, to three digits; an answer that is each one's own is not named."""
    edited = RENAMED.replace("    return result", "    result = result.astype(float)\n    return result")
    answers = {"ada": {"halve": BASE}, "bob": {"halve": edited}, "zoe": {"halve": RENAMED}}
    found = find_similar_answers(answers, exercise)
    assert [(pair.first, pair.second) for pair in found] == [("ada", "zoe"), ("ada", "bob"), ("bob", "zoe")]
    assert found[0].alike == 1 > found[1].alike == found[2].alike == round(found[1].alike, 3)
    assert find_similar_answers(answers, exercise, at_least=1) == found[:1]
    apart = {
        name: answers[name] | {"double": own_way(number)["halve"].replace("halve", "double")}
        for number, name in enumerate(("ada", "zoe"))
    }
    (pair,) = find_similar_answers(apart, exercise, at_least=0.3)
    assert pair.cells == ("halve",)
    stub = next(cell.source for cell in exercise.pristine().cells if cell.id == "double")
    (pair,) = find_similar_answers({name: answers[name] | {"double": stub} for name in ("ada", "zoe")}, exercise)
    assert pair.cells == ("halve",)


def test_a_fingerprint_is_of_every_seven_tokens_in_a_row():
    """The end of the line is one; with fewer there is none."""
    lengths = [len(fingerprint(code)) for code in ("a = b + c", "a = b + c * d", "a = b + c * d - e")]
    assert lengths == [0, 2, 4]


@pytest.mark.parametrize("given", ["stub", "reference"])
def test_a_long_answer_that_everyone_is_given_is_nobodys(make_exercise, given):
    """What is left of the notebook as handed out, and what the exercise's author wrote."""
    line = {"stub": '    raise NotImplementedError("`halve` is not written yet")\n', "reference": "    return x / 2\n"}[
        given
    ]
    exercise = make_exercise(SOURCE.replace("def halve(x):\n" + line, BASE.strip() + "\n"))
    answers = {name: {"halve": RENAMED} for name in ("ada", "bob")}
    assert find_similar_answers(answers, exercise) == []


@pytest.mark.parametrize(
    ("commented", "bare"),
    [
        ("'words'\n{0}", "{0}"),
        ("{0}\n'words'", "{0}"),
        ("def f():\n    'words'\n    {0}", "def f():\n    {0}"),
        ("if x:\n    {0}\n'words'\n{0}", "if x:\n    {0}\n{0}"),
    ],
)
def test_words_that_stand_alone_are_no_code(commented, bare):
    """First in a cell, last, in a function, and after one; elsewhere text is a token."""
    code = "y = np.exp(x) + np.log(x) * 3"
    assert fingerprint(commented.format(code)) == fingerprint(bare.format(code))
    assert fingerprint(f"print('words')\n{code}") != fingerprint(f"print()\n{code}")


def test_who_handed_nothing_in_is_passed_over(exercise):
    """Of an exercise that is known, too."""
    assert find_similar([Task("ada", exercise, None), Task("bob", None, None)]) == []
