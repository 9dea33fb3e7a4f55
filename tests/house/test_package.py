"""The package as others install it."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from importlib.metadata import metadata
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from course_grader.notebooks.repository import Repository

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> Path:
    """Build the source distribution."""
    out = tmp_path_factory.mktemp("sdist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", out]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(out.glob("the_backward_pass-*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory) -> zipfile.ZipFile:
    """Build the wheel with pip from the source distribution, which must have all that this takes."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", out, sdist]
    subprocess.run(command, check=True, capture_output=True)
    return zipfile.ZipFile(next(out.glob("the_backward_pass-*.whl")))


def test_the_sdist_holds_what_the_wheel_is_built_from_and_nothing_else(sdist):
    """No tests, pages or pictures, whatever their folders are called, and nothing large."""
    with tarfile.open(sdist) as archive:
        sizes = {member.name.partition("/")[2]: member.size for member in archive if member.isfile()}
    folders = {"course_grader", "course_lib", "exercises", "benchmarks/results"}
    files = {"README.md", "CHANGELOG.md", "LICENSE", "LICENSE-TEXT", ".gitignore", "PKG-INFO"}
    files |= {"pyproject.toml", "hatch_build.py", "_config.yml"}
    assert {name for name in sizes if not name.startswith(tuple(f"{folder}/" for folder in folders))} == files
    assert {name: size for name, size in sizes.items() if size > 200_000} == {}


def test_a_package_index_shows_the_readme_with_links_that_lead_somewhere(wheel):
    """Each is an address at this release, an image's the picture itself; the index also links the book and the code."""
    name = next(name for name in wheel.namelist() if name.endswith("METADATA"))
    shown = message_from_bytes(wheel.read(name))
    here = Repository.read(ROOT)
    urls = dict(line.split(", ") for line in shown.get_all("Project-URL"))
    assert (urls["Homepage"], urls["Documentation"]) == (here.url, here.site)
    link = re.compile(r"(!?)\[[^]]*\]\(([^)]+)\)")
    kept = link.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    kinds = {"": "blob", "!": "raw"}
    assert link.findall(shown.get_payload(decode=True).decode()) == [
        (image, f"{here.url}/{kinds[image]}/{here.release}/{path}") for image, path in kept
    ]
    assert {image for image, _ in kept} == {"", "!"}


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
    extras = {"torch", "jax", "plots", "lightning", "transformers", "book", "check", "grade", "serve", "dev"}
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
