"""What is said to work on a GPU works on a device that is not the CPU: the same numbers, and no needless transfers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECKS = [
    line.split("(")[0].removeprefix("def check_")
    for line in (Path(__file__).with_name("on_second.py")).read_text(encoding="utf-8").splitlines()
    if line.startswith("def check_")
]


@pytest.fixture(scope="module")
def found():
    """Run all checks in one process of their own, since a device once registered stays."""
    command = [sys.executable, "-m", "tests.devices.on_second"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("check", CHECKS)
def test_on_a_second_device(found, check):
    assert not found[check], found[check]
