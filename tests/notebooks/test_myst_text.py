"""Text in, notebook out: the same every time."""

from pathlib import Path

import pytest

from course_grader.notebooks import read_text
from course_grader.notebooks.myst_text import tolerance_of
from course_lib.errors import NotebookError

HEADER = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {display_name: Python 3, language: python, name: python3}
---
"""


def cell(source: str, **options: str) -> str:
    lines = "".join(f":{name}: {value}\n" for name, value in options.items())
    return f"\n```{{code-cell}} ipython3\n{lines}{source}\n```\n"


@pytest.fixture
def page(tmp_path: Path):
    def write(*parts: str) -> Path:
        path = tmp_path / "page.md"
        path.write_text(HEADER + "".join(parts), encoding="utf-8")
        return path

    return write


def test_reading_twice_gives_the_same_notebook(page):
    """Nothing random enters, cell ids included."""
    path = page("# Title\n", cell("x = 1"), cell("x = 1"), "words\n", cell("y = 2", name="second"))
    assert read_text(path) == read_text(path)


def test_an_edit_changes_the_id_of_the_edited_cell_alone(page):
    """A cell is called after its name or its text, not after its place."""
    before = [c.id for c in read_text(page("# T\n", cell("x = 1"), cell("y = 2", name="named"), cell("z = 3"))).cells]
    after = [c.id for c in read_text(page("# T\n", cell("x = 9"), cell("y = 8", name="named"), cell("z = 3"))).cells]
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, True, True]


def test_cells_with_the_same_text_have_ids_of_their_own(page):
    """nbformat requires unique ids."""
    ids = [c.id for c in read_text(page("# T\n", cell("x = 1"), cell("x = 1"))).cells]
    assert len(set(ids)) == len(ids)


def test_a_name_given_twice_is_refused(page):
    """Grading finds cells by name."""
    with pytest.raises(NotebookError, match="a cell's name must be its own, but 'a' names several; rename one"):
        read_text(page("# T\n", cell("x = 1", name="a"), cell("x = 2", name="a")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + cell("x = 1", tags="['a, b']"), "'a, b' does not match"),
        (HEADER + cell("x = 1", tags="hide-input"), "'hide-input' is not of type 'array'"),
        (HEADER + cell("x = 1", tags="[a"), "Code cell 0 at line"),
        (HEADER + cell("x = 1", name="5"), "5 is not of type 'string'"),
        (HEADER + "+++ {bad\n\nwords\n", "Markdown cell 0 at line"),
        ("---\njupytext: [a\n---\n# T\n", "while parsing a flow sequence"),
        ("---\n- a\n---\n# T\n", "['a'] is not of type 'object'"),
        ("---\njupytext: 5\n---\n# T\n", "'int' object has no attribute 'get'"),
    ],
)
def test_what_is_no_myst_notebook_is_refused_in_one_line(tmp_path, text, message):
    """A slip in the front matter or in a cell's options is the writer's, and is told as such."""
    path = tmp_path / "page.md"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(NotebookError) as raised:
        read_text(path)
    said = str(raised.value)
    assert said.startswith(f"{path}: expected a MyST notebook, but {message}")
    assert said.endswith("; look at the front matter and the options of its cells")
    assert "\n" not in said


@pytest.mark.parametrize("name", ["a b", "a,b", "naïve", "a" * 65])
def test_a_name_that_cannot_be_an_id_is_refused(page, name):
    """Notebooks take letters, digits, - and _."""
    with pytest.raises(NotebookError, match=r"up to 64 letters, digits, - and _, but got '.*'; rename it"):
        read_text(page("# T\n", cell("x = 1", name=name)))


def test_metadata_is_reduced_to_what_every_machine_shares(page):
    """No version of Python or of a tool gets into a committed notebook."""
    assert dict(read_text(page("# T\n")).metadata) == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }


def test_an_output_may_vary_only_for_a_reason(page):
    """The tag that stops the comparison carries the reason, and nbval understands the result."""
    varying = read_text(page("# T\n", cell("x = 1", tags='["varies:wall-clock time"]'))).cells[1]
    assert varying.metadata.tags == ["varies:wall-clock time", "nbval-ignore-output"]


@pytest.mark.parametrize(
    ("source", "tags", "message"),
    [
        ("x = 1", '["nbval-ignore-output"]', "left uncompared only for a reason; tag it varies:REASON"),
        ("x = 1", '["nbval-skip"]', "left uncompared only for a reason; tag it varies:REASON"),
        ("# NBVAL_IGNORE_OUTPUT\nx = 1", "[]", "left uncompared only for a reason; tag it varies:REASON"),
        ("x = 1", '["varies:"]', "the tag varies: needs a reason after the colon"),
    ],
)
def test_an_exemption_without_a_reason_is_refused(page, source, tags, message):
    """There is no other way round the comparison."""
    with pytest.raises(NotebookError, match=message):
        read_text(page("# T\n", cell(source, tags=tags)))


def test_a_tolerance_is_below_one_percent_and_has_a_reason(page):
    """So that a number that is wrong in its second digit is seen on every page."""
    tags = ["within:0.5%:summed in another order"]
    assert tolerance_of(read_text(page("# T\n", cell("x = 1", tags=f'["{tags[0]}"]'))).cells[1].metadata.tags) == 0.005
    for tag in ("within:0.5%:", "within:0.5%", "within:1%:a reason", "within:0.001:a reason", "within:a reason"):
        with pytest.raises(NotebookError, match=r"a tolerance is a percentage below 1 and has a reason"):
            read_text(page("# T\n", cell("x = 1", tags=f'["{tag}"]')))


def test_a_solution_may_have_the_name_of_the_answer_it_solves(page):
    """Its id says what it is; two solutions of one name still have ids of their own."""
    answer = cell("x = 1", name="a", tags="[answer]")
    solution = cell("x = 2", name="a", tags="[solution]")
    ids = [c.id for c in read_text(page("# T\n", answer, solution, solution)).cells[1:]]
    assert ids == ["a", "a-solution", "a-solution-2"]


def test_the_texts_own_settings_are_kept(page):
    """Of what stands in the front matter, those under ``course`` alone."""
    path = page("# T\n")
    path.write_text(path.read_text().replace("jupytext:", "course: {exercise: double}\nother: 3\njupytext:", 1))
    metadata = read_text(path).metadata
    assert metadata["course"] == {"exercise": "double"}
    assert set(metadata) == {"course", "kernelspec", "language_info"}


def test_a_mark_before_the_text_does_not_hide_the_front_matter(tmp_path):
    """Some editors on Windows begin UTF-8 with one."""
    text = "---\ncourse: {exercise: double}\n---\n\n# Double\n"
    for name, encoding in (("with.md", "utf-8-sig"), ("without.md", "utf-8")):
        (tmp_path / name).write_text(text, encoding=encoding)
    assert read_text(tmp_path / "with.md") == read_text(tmp_path / "without.md")
