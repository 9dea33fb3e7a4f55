"""The package as others install it."""

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import metadata
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    """Build the wheel with pip, as ``pip wheel .`` does."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", out, ROOT]
    subprocess.run(command, check=True, capture_output=True)
    return zipfile.ZipFile(next(out.glob("the_backward_pass-*.whl")))


def test_the_wheel_holds_the_two_packages_and_nothing_else(wheel):
    """No tests or pages are installed; the marker for type checkers is, and what one's own notebook is marked by."""
    names = wheel.namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"course_grader", "course_lib", "the_backward_pass"}
    assert {"course_grader/py.typed", "course_lib/py.typed"} <= set(names)
    assert "course_grader/grading/gradebook/migrations/revision_2.py" in names
    for notebook in ROOT.glob("exercises/*/*.ipynb"):
        folder = f"course_grader/exercises/{notebook.stem}"
        assert {f"{folder}/{notebook.name}", f"{folder}/key/test_hidden.py"} <= set(names)
    assert not [name for name in names if "__pycache__" in name]


def test_the_wheel_needs_numpy_alone(wheel):
    """Everything else belongs to an extra, and nothing is pinned."""
    name = next(name for name in wheel.namelist() if name.endswith("METADATA"))
    requires = re.findall(r"^Requires-Dist: (.*)$", wheel.read(name).decode(), flags=re.MULTILINE)
    assert [line for line in requires if "extra ==" not in line] == ["numpy>=2.0"]
    assert not [line for line in requires if "==" in line.split(";")[0]]


def test_the_extras_are_those_the_errors_name():
    """An error that names an extra names one that exists."""
    named = set()
    for path in ROOT.glob("course_*/**/*.py"):
        named |= set(re.findall(r'load\("[\w.]+", extra="(\w+)"\)', path.read_text(encoding="utf-8")))
    assert named
    extras = {"torch", "jax", "lightning", "transformers", "book", "check", "grade", "serve", "dev"}
    assert named <= set(PROJECT["optional-dependencies"]) == extras


def test_every_direct_dependency_is_locked():
    """What ``make`` installs covers every extra."""
    locked = {line.split("==")[0].lower() for line in (ROOT / "requirements.lock").read_text().split()}
    wanted = [line for extra in PROJECT["optional-dependencies"].values() for line in extra] + PROJECT["dependencies"]
    names = {re.split(r"[<>=\[ ]", line)[0].lower() for line in wanted} - {"the-backward-pass"}
    assert names <= locked


def test_the_lock_installs_on_debians_own_python():
    """Debian 12 has Python 3.11.2, and some releases ask for more of 3.11 than its first one."""
    locked = [line.split("==")[0] for line in (ROOT / "requirements.lock").read_text().split()]
    needs = {name: metadata(name).get("Requires-Python") or "" for name in locked}
    assert {name: need for name, need in needs.items() if "3.11.2" not in SpecifierSet(need)} == {}


def test_the_version_is_the_same_everywhere():
    """The package says what its metadata says."""
    import course_lib

    assert course_lib.__version__ == PROJECT["version"]
