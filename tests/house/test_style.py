"""The whole tree is formatted, linted and typed."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("command", ["ruff check", "ruff format --check", "mypy course_lib tests/clipping/returned.py"])
def test_clean(command):
    """The tool has nothing to say."""
    done = subprocess.run([sys.executable, "-m", *command.split()], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
