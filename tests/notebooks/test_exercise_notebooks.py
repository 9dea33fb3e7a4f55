"""What an exercise's text must say, and what a learner gets of it."""

import pytest

from course_grader.code_digest import code_digest
from course_grader.notebooks import read_text
from course_grader.notebooks.exercise_notebooks import graded_notebook, learner_notebook, reference_notebook
from course_lib.errors import NotebookError

HEAD = "---\ncourse: {exercise: double, tolerance: 0.5}\n---\n\n# Double\n"


def cell(source: str, **options: str) -> str:
    lines = "".join(f":{name}: {value}\n" for name, value in options.items())
    return f"\n```{{code-cell}} ipython3\n{lines}{source}\n```\n"


ANSWER = cell("x = ...", name="a", tags="[answer]")
SOLUTION = cell("x = 2", name="a", tags="[solution]")
CHECK = cell("print(x)", name="c", tags="[check]", expect='"2"')


@pytest.fixture
def text(tmp_path):
    def write(*parts: str, head: str = HEAD):
        path = tmp_path / "source.md"
        path.write_text(head + "".join(parts), encoding="utf-8")
        return read_text(path)

    return write


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([ANSWER], "the answer 'a' must be followed directly by a solution of the same name"),
        ([ANSWER, CHECK, SOLUTION], "the answer 'a' must be followed directly by a solution of the same name"),
        (
            [ANSWER, SOLUTION.replace(": a", ": b")],
            "the answer 'a' must be followed directly by a solution of the same",
        ),
        ([SOLUTION], "the solution 'a-solution' must follow the answer it solves"),
        ([ANSWER, SOLUTION, SOLUTION], "the solution 'a-solution-2' must follow the answer it solves"),
        ([cell("x", name="b", tags="[answer, check]")], "the cell 'b' is tagged answer and check; it can be only one"),
        ([cell("x", tags="[check]")], "a cell tagged check needs a :name:"),
        (
            [cell("x", name="c", tags="[check]")],
            "the check 'c' needs an :expect: with what the reference answer prints",
        ),
        ([cell("x", name="c", tags="[check]", expect="2.0")], "prints, as text, but got 2.0; put it in quotes"),
        ([cell("x", name="c", tags="[Check]", expect='"2"')], "an :expect: must be tagged check, but 'c' is not"),
        ([cell("x = 1\ny", tags="[check]")], r"the one that begins \['x = 1'\] has none"),
        ([SOLUTION], r"what comes before is not tagged answer; put :tags: \[answer\] and :name: a there"),
    ],
)
def test_what_is_no_exercise_is_refused(text, parts, message):
    """By the cell."""
    with pytest.raises(NotebookError, match=message):
        learner_notebook(text(*parts))


@pytest.mark.parametrize("value", ["true", "-0.1", ".nan", "[1]"])
def test_a_tolerance_is_a_number(text, value):
    """True is none."""
    with pytest.raises(NotebookError, match="tolerance: in the front matter must be a finite number of 0 or more"):
        learner_notebook(text(head=HEAD.replace("0.5", value)))


@pytest.mark.parametrize("value", ["twenty", "0", "-1", ".nan", ".inf", "true"])
def test_a_time_is_a_number_above_zero(text, value):
    """With none, everything would be stopped; with a word, nothing could be graded."""
    with pytest.raises(NotebookError, match="timeout_seconds: in the front matter must be a number above 0, but got"):
        learner_notebook(text(head=HEAD.replace("tolerance: 0.5", f"timeout_seconds: {value}")))


def test_a_title_is_text(text):
    """YAML takes a year for a number."""
    with pytest.raises(NotebookError, match="title: in the front matter must be text, but got 2026; put it in quotes"):
        learner_notebook(text(head=HEAD.replace("tolerance: 0.5", "title: 2026")))


def test_an_exercise_begins_with_its_title(text):
    """What learners are told of handing in is put there, and would be taken for code."""
    with pytest.raises(NotebookError, match="must begin with its title, as Markdown: # Title"):
        learner_notebook(text(ANSWER, SOLUTION, head="---\ncourse: {exercise: double}\n---\n"))


@pytest.mark.parametrize(
    "head", ["# Double\n", "---\ncourse: {title: Double}\n---\n", "---\ncourse: {exercise: 3}\n---\n"]
)
def test_an_exercise_has_a_name(text, head):
    """In its front matter."""
    with pytest.raises(NotebookError, match=r"front matter must name it: course: \{exercise: its_name\}"):
        learner_notebook(text(head=head))


def test_learners_get_stubs_and_checks_that_cannot_be_edited(text):
    """With what they must print; the reference has the solutions, and is the same otherwise."""
    source = text("words\n", cell("import os"), ANSWER, SOLUTION, CHECK)
    handed_out, solved = learner_notebook(source), reference_notebook(source)
    wrapped = "def c():\n    print(x)\n\n\nc()"
    assert [c.source for c in handed_out.cells if c.cell_type == "code"] == ["import os", "x = ...", wrapped]
    assert [c.source for c in solved.cells if c.cell_type == "code"] == ["import os", "x = 2", wrapped]
    assert [c.id for c in handed_out.cells] == [c.id for c in solved.cells]
    assert dict(handed_out.metadata.course.cells) == {"a": "answer", "c": "check"}
    *_, given, answer, check = handed_out.cells
    assert (check.metadata.editable, check.metadata.deletable, "editable" in answer.metadata) == (False, False, False)
    assert (check.outputs[0].text, check.metadata.course.expect, check.execution_count) == ("2\n", "2\n", 1)
    assert (check.metadata.course.tolerance, "tolerance" in answer.metadata.course) == (0.5, False)
    assert (check.metadata.course.digest, given.metadata.course.digest) == (
        code_digest(wrapped),
        code_digest("import os"),
    )
    assert "digest" not in answer.metadata.course


@pytest.mark.parametrize(("expect", "printed"), [('"2\\n\\n"', "2\n"), ('"1\\n2"', "1\n2\n"), ('" "', ""), ('""', "")])
def test_what_a_check_must_print_ends_with_one_line_end(text, expect, printed):
    """Nothing at all is no output."""
    check = learner_notebook(text(cell("print(x)", name="c", tags="[check]", expect=expect))).cells[-1]
    assert (check.metadata.course.expect, "".join(output.text for output in check.outputs)) == (printed, printed)


def test_a_digest_does_not_depend_on_line_ends():
    """An editor may change them, and nothing else."""
    assert code_digest("a\nb") == code_digest("a\r\nb\n") != code_digest("a\n b")


def test_the_names_that_a_check_makes_are_its_own(text):
    """They are those of a function, so an answer that uses one of them finds none."""
    check = learner_notebook(text(cell("y = 1\nprint(y)", name="c", tags="[check]", expect='"1"'))).cells[-1]
    exec(check.source, names := {})
    assert set(names) - {"__builtins__"} == {"c"}


@pytest.mark.parametrize("source", ['print("""a\nb""")', "print("])
def test_a_check_fits_into_a_function(text, source):
    """A string over several lines would be indented with it; and it is Python."""
    with pytest.raises(NotebookError, match="the check 'c'"):
        learner_notebook(text(cell(source, name="c", tags="[check]", expect='"1"')))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("def double(x):\n    return 2 * x", "4\n"),
        ("def double(x):\n    raise NotImplementedError('`double` is not written yet')", "Not yet: `double` is not wr"),
        ("", "Not yet: name 'double' is not defined. Run the cells above first"),
    ],
)
def test_a_payoff_says_what_is_missing(text, capsys, answer, said):
    """Instead of a traceback; its names are its own, and it is not graded."""
    source = text(ANSWER, SOLUTION, cell("y = double(2)\nprint(y)", name="p", tags="[payoff]"))
    notebook = learner_notebook(source)
    exec(answer, names := {})
    exec(notebook.cells[-1].source, names)
    assert capsys.readouterr().out.startswith(said)
    assert "y" not in names
    assert [c.id for c in graded_notebook(notebook).cells if c.cell_type == "code"] == ["a"]
