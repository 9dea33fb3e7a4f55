"""Only what changed is run again, and a failure leaves what was there."""

import shutil
import sys
from pathlib import Path

import nbformat
import pytest

from course_lib.errors import InputError, NotebookError
from course_lib.notebooks import Repository, build, generate

ROOT = Path(__file__).parents[2]
PAGE = """---
kernelspec: {{display_name: Python 3, language: python, name: python3}}
---
# Title

```{{code-cell}} ipython3
{code}
```
"""


@pytest.fixture
def project(tmp_path):
    """A course of two pages."""
    (tmp_path / "_config.yml").write_text("repository: {url: https://host.example/owner/name, branch: main}\n")
    (tmp_path / "requirements.lock").write_text("numpy\n")
    (tmp_path / "course_lib").mkdir()
    (tmp_path / "course_lib" / "engine.py").write_text("x = 1\n")
    (tmp_path / "chapters" / "part").mkdir(parents=True)
    for name in ("a", "b"):
        (tmp_path / "chapters" / "part" / f"{name}.md").write_text(PAGE.format(code=f"print('{name}')"))
    return tmp_path


def written(project):
    return [built.notebook.name for built in build(project) if built.written]


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
    assert [c.id for c in generate(text, root=project).cells[1:-1]] == ["open-in-colab"]
    text.write_text(PAGE.format(code="import course_lib"))
    title, badge, setup, _ = generate(text, root=project).cells
    assert title.source == "# Title"
    assert "/github/owner/name/blob/main/chapters/part/a.ipynb" in badge.source
    assert '"the-backward-pass @ git+https://host.example/owner/name@main"' in setup.source


def test_the_set_up_cell_does_nothing_away_from_colab(capsys):
    """It installs only where the module google.colab has been loaded."""
    cells = Repository(url="https://host.example/o/n", branch="main").opening_cells("a.ipynb", imports_library=True)
    code = cells[1].source.replace("%pip", "raise SystemExit #")
    exec(compile(code, "set-up", "exec"), {})
    assert capsys.readouterr().out == ""


def test_the_set_up_cell_of_an_exercise_names_one_command_where_the_library_is_missing(capsys, monkeypatch):
    """With the library it says nothing; without, what to run, on Colab after a failed installation as well."""
    here = Repository(url="https://host.example/o/n", branch="main")
    cells = here.opening_cells("a.ipynb", imports_library=True, exercise=True)
    code = compile(cells[1].source.replace("    %pip", "    pass #"), "set-up", "exec")
    exec(code, {})
    assert capsys.readouterr().out == ""
    monkeypatch.setitem(sys.modules, "course_lib", None)  # so that its import raises
    for colab in (False, True):
        if colab:
            monkeypatch.setitem(sys.modules, "google.colab", object())
        exec(code, {})
        said = capsys.readouterr().out.splitlines()
        assert said[1:] == ['%pip install "the-backward-pass @ git+https://host.example/o/n@main"']


def test_only_an_exercise_looks_for_the_library():
    """Of the committed notebooks, those of exercises do, and pages do not: they are read beside it."""
    looks = {
        text.parts[-3]: "ModuleNotFoundError" in generate(text, root=ROOT).cells[2].source
        for text in (ROOT / "exercises/vanishing_layer/key/source.md", ROOT / "chapters/mechanics/build_the_engine.md")
    }
    assert looks == {"vanishing_layer": True, "chapters": False}


def test_an_exercise_says_where_to_work_and_folds_its_checks_away():
    """Each notebook that is handed out says how it is checked and handed in; on its page, answers stand out."""
    text = ROOT / "exercises/vanishing_layer/key/source.md"
    cells = {cell.id: cell for cell in generate(text, root=ROOT).cells}
    opening = generate(text, root=ROOT).cells[0].source
    assert opening.startswith("# ")
    assert opening.index("`course check vanishing_layer.ipynb`") < opening.index("\n## ")
    folded = {name for name, cell in cells.items() if "hide-input" in cell.metadata.get("tags", [])}
    assert folded == {name for name in cells if name.startswith("check_")}
    assert all(cells[name].metadata.mystnb.code_prompt_show == "Show the check" for name in folded)


def test_a_folder_without_a_config_is_refused(tmp_path):
    """The message says what was expected and where to run."""
    with pytest.raises(InputError, match=r"expected the course's _config.yml in .*, found none; run"):
        Repository.read(tmp_path)


@pytest.mark.parametrize("text", sorted((ROOT / "chapters").glob("*/*.md")), ids=lambda p: p.stem)
def test_each_committed_notebook_is_what_its_text_generates(text):
    """Cell by cell: ids, kinds, sources and metadata; nbval compares the outputs."""
    from course_lib.notebooks.build import without_outputs

    committed = nbformat.read(text.with_suffix(".ipynb"), as_version=4)
    assert without_outputs(committed) == without_outputs(generate(text, root=ROOT))


@pytest.mark.parametrize("text", sorted((ROOT / "exercises").glob("*/key/source.md")), ids=lambda p: p.parts[-3])
def test_each_committed_exercise_is_what_its_source_generates(text):
    """Outputs included: an exercise's outputs are written in its source."""
    path = text.parents[1] / f"{text.parents[1].name}.ipynb"
    assert nbformat.read(path, as_version=4) == generate(text, root=ROOT)
