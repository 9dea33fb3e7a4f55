"""Hints and worked solutions are folded in below their check; a solution that was not published never is."""

import nbformat
import pytest

from course_grader.notebooks import build_notebooks, generate_notebook, read_text
from course_grader.notebooks.exercise_help import add_help, publish_solutions
from course_grader.notebooks.generate import book_notebook
from course_lib.errors import InputError, NotebookError

SECRET = "double = lambda x: x + x"
SOURCE = f"""---
course: {{exercise: twice, prerequisites: [a], pays: it doubles.}}
---

# Twice

## 1. Double

```{{code-cell}} ipython3
:name: double
:tags: [answer]
:minutes: 5
:difficulty: 1
def double(x):
    raise NotImplementedError("`double` is not written yet")
```

```{{code-cell}} ipython3
:name: double
:tags: [solution]
{SECRET}
```

```{{code-cell}} ipython3
:name: check_double
:tags: [check]
:expect: "4"
print(double(2))
```

:::{{hint}} idea
Add.
:::

:::{{hint}} skeleton
```python
double = lambda x: ...
```
:::

:::{{solution}}
Twice is once more.
:::

The end.
"""
TESTS = '''from course_grader import points


@points(3)
def test_double(learner):
    """It doubles."""
    learner.call("double", 2)
'''


@pytest.fixture
def source(project):
    key = project / "exercises/twice/key"
    key.mkdir(parents=True)
    (key / "test_hidden.py").write_text(TESTS)
    (key / "source.md").write_text(SOURCE)
    return key / "source.md"


def made(source, project):
    """Return what is handed out, and what the book shows."""
    list(build_notebooks(project))
    handed_out = generate_notebook(source, root=project)
    shown = book_notebook(source, root=project)
    return [nbformat.writes(notebook) for notebook in (handed_out, shown)]


def test_a_private_solution_is_folded_into_nothing(source, project):
    """Neither before it was published, nor after it became another one; hints are there all the same."""
    for text in made(source, project):
        assert "Worked solution" not in text
        assert "x + x" not in text
        assert "Hint 2: skeleton" in text
    publish_solutions(project)
    for text in made(source, project):
        assert "Worked solution of part 1" in text
        assert "Twice is once more." in text
        assert SECRET in text
    source.write_text(SOURCE.replace("x + x", "2 * x"))
    for text in made(source, project):
        assert "Worked solution" not in text
        assert "2 * x" not in text
        assert "Twice is once more." not in text


def test_one_setting_leaves_all_help_out(source, project):
    """For an edition of one's own, published or not."""
    publish_solutions(project)
    with (project / "_config.yml").open("a") as config:
        config.write("exercises: {help: false}\n")
    for text in made(source, project):
        assert "Hint" not in text
        assert "Worked solution" not in text
        assert "The end." in text


def test_the_setting_is_true_or_false(source, project):
    """Or it would be taken for one of them in silence."""
    with (project / "_config.yml").open("a") as config:
        config.write("exercises: {help: none}\n")
    with pytest.raises(InputError, match="exercises: help: must be true or false, but got 'none'"):
        generate_notebook(source, root=project)


def test_help_stands_folded_below_its_check(source, project):
    """In a cell of its own, as closed folds of plain HTML, before the text that follows."""
    publish_solutions(project)
    cells = generate_notebook(source, root=project).cells
    assert [cell.id for cell in cells][-4:-2] == ["check_double", "double-help"]
    assert cells[-3].source.count("<details>\n<summary><b>") == 3
    assert "class-container" not in cells[-3].source
    assert cells[-2].source == "The end."


def test_what_it_takes_is_told_beforehand(source, project):
    """At the top and below the heading of each part, with points from the hidden tests."""
    first, shown = generate_notebook(source, root=project).cells[0].source, book_notebook
    assert "| 1. Double | 3 | 5 | ●○○ easy |" in first
    assert "- **At the end**: it doubles." in first
    assert "## 1. Double\n\n*3 points, about 5 minutes, ●○○ easy.*" in first
    list(build_notebooks(project))
    assert ":::{div} bp-info\nTime\n: about 5 minutes" in shown(source, root=project).cells[0].source


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("} idea", "} trick", "each called idea, shapes, picture, skeleton, but number 1 is called 'trick'"),
        ("\n:::{hint} idea", "\nWords.\n\n:::{hint} idea", "a hint must stand directly below the check of its answer"),
    ],
)
def test_help_in_another_form_is_refused(source, old, new, message):
    """With what must be done."""
    source.write_text(SOURCE.replace(old, new))
    with pytest.raises(NotebookError, match=message):
        add_help(read_text(source), hints=True, solutions=False)


def test_minutes_and_difficulty_go_together(source, project):
    """For every answer, once one has them."""
    source.write_text(SOURCE.replace(":difficulty: 1", ":difficulty: 4"))
    with pytest.raises(NotebookError, match=r"the answer 'double' must say :minutes:, .* but got 5 and 4; add both"):
        generate_notebook(source, root=project)
