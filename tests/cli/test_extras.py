"""A missing extra is told with a command that installs it, from wherever the package came."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
GIT = {"url": "https://git.invalid/a/course", "vcs_info": {"vcs": "git", "commit_id": "0" * 40}}
ON_MAIN = GIT | {"vcs_info": GIT["vcs_info"] | {"requested_revision": "main"}}
CODE = """
import sys
sys.modules["rich"] = None
from course_lib.errors import MissingExtraError
from course_lib.extras import load
try:
    load("rich", extra="grade")
except MissingExtraError as error:
    print(error)
"""


def told(folder, origin):
    """Return the message where what pip wrote down of the package's origin is this, or nothing."""
    (info := folder / "the_backward_pass-0.1.0.dist-info").mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: the-backward-pass\nVersion: 0.1.0\n")
    if origin is not None:
        (info / "direct_url.json").write_text(json.dumps(origin))
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", CODE], cwd=folder, capture_output=True, text=True, env=env, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("origin", "address"),
    [
        (GIT, "git+https://git.invalid/a/course"),
        (ON_MAIN, "git+https://git.invalid/a/course@main"),
        ({"url": "file:///my%20clone", "dir_info": {}}, "file:///my%20clone"),
        ({"url": "https://git.invalid/course.zip", "archive_info": {}}, "https://git.invalid/course.zip"),
    ],
)
def test_an_extra_comes_from_where_the_package_did(tmp_path, origin, address):
    """An address of git or of an archive, or a clone's folder: as a requirement that pip can read."""
    expected, _, command = told(tmp_path, origin).partition(" with: ")
    assert expected == (
        "this needs rich, which could not be imported (import of rich halted; None in sys.modules); "
        "install the-backward-pass[grade]"
    )
    *words, requirement = shlex.split(command)
    assert words == ["pip", "install"]
    read = Requirement(requirement)
    assert (read.name, read.extras, read.url) == ("the-backward-pass", {"grade"}, address)


def test_an_editable_install_stays_one(tmp_path):
    """And a folder with a blank in its name is one word."""
    message = told(tmp_path, {"url": "file:///my%20clone", "dir_info": {"editable": True}})
    assert message.endswith("; install the-backward-pass[grade] with: pip install -e '/my clone[grade]'")


def test_a_checkout_that_is_not_installed_is_named(tmp_path):
    """It is the folder that the code lies in."""
    assert shlex.split(told(tmp_path, None))[-4:] == ["pip", "install", "-e", f"{ROOT}[grade]"]
