"""Only what changed is run again, and a failure leaves what was there."""

import os
import shutil
import sys
from pathlib import Path

import nbformat
import pytest

from course_grader.notebooks import Repository, build_notebooks, generate_notebook
from course_grader.notebooks.execute import execute_notebook
from course_grader.notebooks.exercise_notebooks import freeze_pictures, pictures_of
from course_grader.notebooks.generate import book_notebook
from course_lib.errors import InputError, NotebookError
from tests.notebooks.conftest import PAGE

ROOT = Path(__file__).parents[2]
EXERCISE = """---
course: {exercise: double}
---

# Double

```{code-cell} ipython3
:name: seen
:tags: [picture]
2 + 2
```

```{code-cell} ipython3
:name: double
:tags: [answer]
raise NotImplementedError("`double` is not written yet")
```

```{code-cell} ipython3
:name: double
:tags: [solution]
double = 2
```
"""


def written(project):
    return [built.notebook.name for built in build_notebooks(project) if built.written]


def test_the_first_build_runs_every_page(project):
    """Outputs are there, and the numbering starts at one."""
    assert written(project) == ["a.ipynb", "b.ipynb"]
    cell = nbformat.read(project / "chapters/part/a.ipynb", as_version=4).cells[-1]
    assert (cell.outputs[0].text, cell.execution_count) == ("a\n", 1)


def test_nothing_is_run_when_nothing_changed(project):
    """The second build writes nothing, and neither does the first one in a fresh clone."""
    written(project)
    assert written(project) == []
    shutil.rmtree(project / "_build")
    assert written(project) == []


def test_a_page_says_when_its_outputs_were_made(project, monkeypatch):
    """And with which versions; a run that changes neither outputs nor versions leaves the file as it is."""
    text, path = project / "chapters/part/a.md", project / "chapters/part/a.ipynb"
    written(project)
    notebook = nbformat.read(path, as_version=4)
    assert set(notebook.metadata.verified) == {"date", "Python", "PyTorch", "JAX", "NumPy"}
    notebook.metadata.verified.date = "2020-02-20"
    nbformat.write(notebook, path)
    before = path.read_bytes()
    assert [built.written for built in build_notebooks(project, only=[text], force=True)] == [True]
    assert path.read_bytes() == before
    monkeypatch.setattr("platform.python_version", lambda: "3.99.0")
    list(build_notebooks(project, only=[text], force=True))
    assert nbformat.read(path, as_version=4).metadata.verified.date > "2020-02-20"


def test_a_changed_text_is_run_again_alone(project):
    """The other page is left as it is."""
    written(project)
    (project / "chapters/part/b.md").write_text(PAGE.format(code="print(2)"))
    assert written(project) == ["b.ipynb"]


def test_a_changed_library_runs_the_pages_again(project):
    """A page's numbers come from the library, so a stale page would be a wrong one."""
    written(project)
    (project / "course_lib" / "engine.py").write_text("x = 2\n")
    assert written(project) == ["a.ipynb", "b.ipynb"]


def test_a_failing_page_leaves_its_notebook_alone(project):
    """The message names the error; the last good notebook survives."""
    written(project)
    path = project / "chapters/part/a.ipynb"
    before = path.read_bytes()
    (project / "chapters/part/a.md").write_text(PAGE.format(code="1 / 0"))
    with pytest.raises(NotebookError, match="ZeroDivisionError"):
        written(project)
    assert path.read_bytes() == before


def test_the_badge_and_the_set_up_follow_the_title(project):
    """Both are made from _config.yml; the set-up cell is there only if the page imports the library."""
    text = project / "chapters/part/a.md"
    assert [c.id for c in generate_notebook(text, root=project).cells[1:-1]] == ["open-in-colab"]
    text.write_text(PAGE.format(code="import course_lib"))
    title, badge, setup, _ = generate_notebook(text, root=project).cells
    assert title.source == "# Title"
    assert "/github/owner/name/blob/main/chapters/part/a.ipynb" in badge.source
    assert '"the-backward-pass @ git+https://host.example/owner/name@v1.2"' in setup.source


def test_the_set_up_cell_does_nothing_away_from_colab(capsys):
    """It installs only where the module google.colab has been loaded."""
    cells = Repository(url="https://host.example/o/n", branch="main", release="v1.2").opening_cells(
        "a.ipynb", imports_library=True
    )
    code = cells[1].source.replace("%pip", "raise SystemExit #")
    exec(compile(code, "set-up", "exec"), {})
    assert capsys.readouterr().out == ""


def test_the_set_up_cell_of_an_exercise_names_one_command_where_the_library_is_missing(capsys, monkeypatch):
    """With the library it says nothing; without, what to run, on Colab after a failed installation as well."""
    here = Repository(url="https://host.example/o/n", branch="main", release="v1.2")
    cells = here.opening_cells("a.ipynb", imports_library=False, exercise="double")
    code = compile(cells[1].source.replace("    %pip", "    pass #"), "set-up", "exec")
    exec(code, {})
    assert capsys.readouterr().out == ""
    monkeypatch.setitem(sys.modules, "course_grader", None)  # so that its import raises
    for colab in (False, True):
        if colab:
            monkeypatch.setitem(sys.modules, "google.colab", object())
        exec(code, {})
        said = capsys.readouterr().out.splitlines()
        assert said[1:] == ['%pip install "the-backward-pass[check] @ git+https://host.example/o/n@v1.2"']


def test_only_an_exercise_looks_for_the_library():
    """Of the committed notebooks, those of exercises do, and pages do not: they are read beside it."""
    looks = {
        text.parts[-3]: "ModuleNotFoundError" in generate_notebook(text, root=ROOT).cells[2].source
        for text in (ROOT / "exercises/vanishing_layer/key/source.md", ROOT / "chapters/mechanics/build_the_engine.md")
    }
    assert looks == {"vanishing_layer": True, "chapters": False}


def test_an_exercise_says_where_to_work_and_folds_its_checks_away():
    """Each notebook that is handed out says how it is checked and handed in; on its page, answers stand out."""
    text = ROOT / "exercises/vanishing_layer/key/source.md"
    cells = {cell.id: cell for cell in generate_notebook(text, root=ROOT).cells}
    opening = generate_notebook(text, root=ROOT).cells[0].source
    assert opening.startswith("# ")
    assert opening.index("`course mark vanishing_layer.ipynb`") < opening.index("\n## ")
    folded = {name for name, cell in cells.items() if "hide-input" in cell.metadata.get("tags", [])} - {"picture"}
    assert folded == {name for name in cells if name.startswith("check_")}
    assert all(cells[name].metadata.mystnb.code_prompt_show == "Show the check" for name in folded)


def test_a_folder_without_a_config_is_refused(tmp_path):
    """The message says what was expected and where to run."""
    with pytest.raises(InputError, match=r"expected the course's _config.yml in .*, found none; run"):
        Repository.read(tmp_path)


@pytest.mark.parametrize("text", sorted((ROOT / "chapters").glob("*/*.md")), ids=lambda p: p.stem)
def test_each_committed_notebook_is_what_its_text_generates(text):
    """Cell by cell: ids, kinds, sources and metadata; nbval compares the outputs."""
    from course_grader.notebooks.build import without_outputs

    committed = nbformat.read(text.with_suffix(".ipynb"), as_version=4)
    assert without_outputs(committed) == without_outputs(generate_notebook(text, root=ROOT))


@pytest.mark.parametrize("text", sorted((ROOT / "exercises").glob("*/key/source.md")), ids=lambda p: p.parts[-3])
def test_each_committed_exercise_is_what_its_source_generates(text):
    """Outputs included: an exercise's outputs are written in its source, but for its pictures, drawn here once more."""
    path = text.parents[1] / f"{text.parents[1].name}.ipynb"
    generated = generate_notebook(text, root=ROOT)
    if (pictures := pictures_of(generated)).cells:
        execute_notebook(pictures, folder=text.parent, root=ROOT)
        freeze_pictures(generated)
    assert nbformat.read(path, as_version=4) == generated


def test_a_picture_survives_where_nothing_is_installed():
    """Its cell shows what was drawn, names nothing, and is folded away."""
    drawn = 0
    for path in (ROOT / "exercises").glob("*/*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.metadata.get("course", {}).get("kind") == "picture":
                magic, _, shown = cell.source.partition("\n")
                assert (magic, shown) == ("%%html", cell.outputs[0].data["text/html"])
                assert cell.metadata.jupyter.source_hidden
                drawn += 1
    assert drawn >= 3


def test_a_changed_picture_is_drawn_anew(project):
    """The code is not in the notebook, but its fingerprint is; one that shows no HTML is left as code."""
    key = project / "exercises/double/key"
    key.mkdir(parents=True)
    html = 'from IPython.display import HTML\nHTML("<b>{}</b>")'
    for shown in ("one", "two"):
        (key / "source.md").write_text(EXERCISE.replace("2 + 2", html.format(shown)))
        assert "double.ipynb" in written(project)
        cells = {cell.id: cell for cell in nbformat.read(project / "exercises/double/double.ipynb", as_version=4).cells}
        assert cells["seen"].source == f"%%html\n<b>{shown}</b>"
        assert written(project) == []


def test_the_pictures_of_an_exercise_are_drawn_and_nothing_else_is_run(project):
    """The answer would raise; the picture is there, numbered, and folded away."""
    key = project / "exercises/double/key"
    key.mkdir(parents=True)
    (key / "source.md").write_text(EXERCISE)
    assert written(project) == ["a.ipynb", "b.ipynb", "double.ipynb"]
    assert written(project) == []
    path = project / "exercises/double/double.ipynb"
    cells = {cell.id: cell for cell in nbformat.read(path, as_version=4).cells}
    picture, answer = cells["seen"], cells["double"]
    assert (picture.outputs[0].data["text/plain"], picture.execution_count) == ("4", 1)
    assert picture.metadata.tags == ["picture", "hide-input"]
    assert (answer.outputs, answer.execution_count) == ([], None)
    notebook = nbformat.read(path, as_version=4)
    next(cell for cell in notebook.cells if cell.id == "seen").outputs = []
    next(cell for cell in notebook.cells if cell.id == "seen").execution_count = None
    nbformat.write(notebook, path)
    assert written(project) == ["double.ipynb"]


def test_what_is_asked_for_is_built_alone(project):
    """By its text; with force it is run again although nothing changed."""
    one = project / "chapters/part/b.md"
    assert [built.source for built in build_notebooks(project, only=[one])] == [one]
    assert [(project / f"chapters/part/{name}.ipynb").exists() for name in "ab"] == [False, True]
    assert [(built.source, built.written) for built in build_notebooks(project, only=[one])] == [(one, False)]
    assert [(built.source, built.written) for built in build_notebooks(project, only=[one], force=True)] == [
        (one, True)
    ]


def test_what_a_page_depends_on_runs_it_again(project):
    """Packages, settings and results do, and what no page imports does not."""
    (project / "chapters/part/b.md").unlink()
    written(project)
    for name in (
        "README.md",
        "course_grader/grading/kernel/kernel.py",
        "course_grader/cli/entry_point.py",
        "course_grader/notebooks/execute.py",
    ):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("x = 2\n")
    assert written(project) == []
    (project / "benchmarks/results").mkdir(parents=True)
    for name in ("requirements.lock", "_config.yml", "benchmarks/results/engines.json"):
        with (project / name).open("a") as file:
            file.write("\n")
        assert written(project) == ["a.ipynb"], name


def test_a_failing_page_is_named_and_those_before_it_are_done(project):
    """They are not run again next time."""
    (project / "chapters/part/b.md").write_text(PAGE.format(code="1 / 0"))
    with pytest.raises(NotebookError, match=r"^chapters/part/b\.md: cell .* raised ZeroDivisionError"):
        written(project)
    (project / "chapters/part/b.md").write_text(PAGE.format(code="1 / 1"))
    assert written(project) == ["b.ipynb"]


def test_a_notebook_that_was_not_run_to_its_end_is_run_again(project):
    """As one that somebody has cleared."""
    written(project)
    path = project / "chapters/part/a.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[-1].execution_count, notebook.cells[-1].outputs = None, []
    nbformat.write(notebook, path)
    assert written(project) == ["a.ipynb"]


def test_running_a_page_leaves_the_environment_as_it_was(project, monkeypatch):
    """Settings for the kernel are taken back, those that were there before included."""
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    before = dict(os.environ)
    (project / "chapters/part/b.md").unlink()
    (project / "chapters/part/a.md").write_text(PAGE.format(code="import os\nprint(os.environ['OMP_NUM_THREADS'])"))
    written(project)
    assert nbformat.read(project / "chapters/part/a.ipynb", as_version=4).cells[-1].outputs[0].text == "1\n"
    assert dict(os.environ) == before


def test_an_address_that_ends_in_a_slash_is_the_same(tmp_path):
    """In the badge its last two parts are the owner and the name."""
    (tmp_path / "_config.yml").write_text("repository: {url: https://host.example/owner/name/, branch: b}")
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2"\n')
    here = Repository.read(tmp_path)
    assert here.url == "https://host.example/owner/name"
    assert here.colab_url("a/b.ipynb").endswith("/github/owner/name/blob/b/a/b.ipynb")


def test_a_panel_of_a_gpu_that_printed_nothing_is_not_in_the_book(project):
    """A page loses nothing where no GPU has been recorded."""
    (project / "chapters/part/b.md").unlink()
    text = project / "chapters/part/a.md"
    for code, shown in (("None", 0), ("print('a GPU')", 1)):
        text.write_text(PAGE.format(code=f":tags: [gpu-panel]\n{code}"))
        written(project)
        cells = book_notebook(text, root=project).cells
        assert sum("gpu-panel" in cell.metadata.get("tags", []) for cell in cells) == shown
