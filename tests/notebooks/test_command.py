"""``course notebooks`` as it is typed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def course(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "course_grader.cli", "notebooks", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


@pytest.mark.parametrize("given", ["missing.md", "chapters", "README.md", "chapters/mechanics/build_the_engine.ipynb"])
def test_what_is_no_text_of_a_page_is_refused(given):
    """One line says what was expected, what came and what to do; nothing is written."""
    done = course(given)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("course: expected the text of a page (chapters/<part>/<page>.md)")
    assert f"got {Path(given).name}; check the path" in done.stderr
    assert done.stderr.count("\n") == 1


def test_it_says_what_it_wrote(project):
    """Of all pages, or of those that are named; those that are up to date are run only if asked for."""
    for arguments, written, counted in (
        ([], "ab", "2 notebooks, 2 written"),
        ([], "", "2 notebooks, 0 written"),
        (["chapters/part/b.md"], "", "1 notebook, 0 written"),
        (["--all", "chapters/part/b.md"], "b", "1 notebook, 1 written"),
    ):
        done = course(*arguments, cwd=project)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines() == [*(f"wrote chapters/part/{name}.ipynb" for name in written), counted]


def test_elsewhere_than_at_the_root_it_says_where_to_run(tmp_path):
    """A folder without a course has no notebooks to build."""
    done = course(cwd=tmp_path)
    assert done.returncode == 2
    assert "expected the course's _config.yml" in done.stderr
    assert "from the project's root" in done.stderr


def test_a_text_that_is_not_utf8_is_refused(tmp_path):
    """The page is named, and no traceback is shown."""
    (tmp_path / "_config.yml").write_text("repository: {url: https://host.example/o/n, branch: main}")
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2"\n')
    (tmp_path / "chapters" / "part").mkdir(parents=True)
    (tmp_path / "chapters" / "part" / "page.md").write_bytes(b"# Caf\xe9\n")
    done = course(cwd=tmp_path)
    assert done.returncode == 2
    assert "page.md: expected UTF-8 text" in done.stderr
    assert "Traceback" not in done.stderr
