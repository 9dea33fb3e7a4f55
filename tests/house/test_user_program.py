"""A user's program, as a type checker sees it; ``test_style`` runs mypy on it."""

import ast
import importlib
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("user_program.py")
PACKAGES = [
    *(f"course_lib.{name}" for name in ("autograd", "benchmark_results", "clipping", "costs", "doctor", "errors")),
    *(f"course_lib.{name}" for name in ("extras", "figures", "frameworks", "instrument", "integrations", "mlp")),
    *(f"course_lib.{name}" for name in ("jax_norm", "monitoring", "norms")),
    *(f"course_lib.{name}" for name in ("exercises", "oracle", "profiling", "rendering", "small_transformer")),
    *(f"course_lib.{name}" for name in ("split_tensors", "training", "types")),
    *(f"course_lib.autograd.{name}" for name in ("nn", "nn.functional", "optim")),
    *("course_grader", "course_grader.cli", "course_grader.notebooks"),
]


@pytest.fixture(scope="module")
def used() -> set[str]:
    """Collect the names that the program takes from modules, with their modules."""
    tree = ast.parse(PROGRAM.read_text(encoding="utf-8"))
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            modules |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name: alias.name for alias in node.names}
    return {
        f"{modules[node.value.id]}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_the_program_uses_every_public_name(package, used):
    """Else its type could break, and no one would see it here."""
    names = importlib.import_module(package).__all__
    assert {f"{package}.{name}" for name in names} - used == set()


def test_no_package_is_forgotten():
    """Whatever of the library has public names is in the list above, but for the parts of packages."""
    root = Path(__file__).parents[2] / "course_lib"
    found = {path.stem for path in root.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert {f"course_lib.{name}" for name in found - {"__init__"}} <= set(PACKAGES)
