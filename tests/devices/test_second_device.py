"""What is said to work on a GPU works on a device that is not the CPU: the same numbers, and no needless transfers."""

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CHECKS = [
    (module, check)
    for module in ("on_second", "on_jax")
    for check in re.findall(r"^def (check_\w+)", (HERE / f"{module}.py").read_text(encoding="utf-8"), re.MULTILINE)
]


@cache
def found(module):
    """Run all checks of a module in one process of its own, since what it makes of its devices stays."""
    command = [sys.executable, "-m", f"tests.devices.{module}"]
    env = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}  # for JAX
    done = subprocess.run(command, cwd=HERE.parents[1], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("module", "check"), CHECKS)
def test_on_another_device(module, check):
    assert not found(module)[check], found(module)[check]
