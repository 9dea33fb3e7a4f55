"""The whole tree is formatted, linted and typed."""

import subprocess
import sys

import pytest

TYPED = "mypy course_lib course_grader tests/clipping/returned.py tests/house/user_program.py"


@pytest.mark.parametrize("command", ["ruff check", "ruff format --check", pytest.param(TYPED, marks=pytest.mark.more)])
def test_clean(command):
    """The tool has nothing to say."""
    done = subprocess.run([sys.executable, "-m", *command.split()], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
