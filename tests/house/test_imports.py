"""What an import costs, and which way imports go."""

import subprocess
import sys

import pytest

HEAVY = {
    "IPython",
    "dask",
    "jax",
    "jupyter_client",
    "jupytext",
    "matplotlib",
    "nbformat",
    "nbval",
    "optax",
    "pandas",
    "pytest",
    "rich",
    "sqlalchemy",
    "torch",
    "typer",
    "yaml",
}


def loaded_by(statement: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter has loaded after ``statement``."""
    code = f"{statement}\nimport sys\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module",
    [
        "course_lib",
        "course_lib.errors",
        "course_lib.autograd",
        "course_lib.mlp",
        "course_lib.clipping",
        "course_lib.costs",
        "course_lib.instrument",
        "course_lib.oracle",
        "course_lib.profiling",
        "course_lib.training",
        "course_lib.figures",
    ],
)
def test_importing_the_library_loads_numpy_and_nothing_heavier(module):
    """Torch, JAX, matplotlib and the rest load only where they are used."""
    assert loaded_by(f"import {module}") & HEAVY == set()


def test_the_engine_does_load_numpy():
    """The test above would pass on an import that fails to happen."""
    assert "numpy" in loaded_by("import course_lib.autograd")


def test_imports_go_one_way():
    """The contracts in pyproject.toml hold."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
