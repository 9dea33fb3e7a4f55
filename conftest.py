"""What pytest does before it reads the tests, and the docstrings of the library."""

import gc
import importlib
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
collect_ignore = ["course_grader/grading/sandbox/absent"]  # which stands in for what is not there, and refuses imports

# As in the pages' kernels. Threads of torch wait for each other by spinning: where several processes share the cores,
# a second thread costs up to twenty times the work itself.
for library in ("OMP", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def pytest_collect_file(file_path: Path) -> None:
    """Import a module's package first: pytest would run the module twice, and hide what the package calls the same."""
    if (file_path.parent / "__init__.py").is_file():
        importlib.import_module(".".join(file_path.parent.relative_to(ROOT).parts))


@pytest.fixture(scope="module", autouse=True)
def spare_the_garbage_collector() -> None:
    """Let it look through what a module's tests make, not through all that was imported: some tests collect often."""
    gc.collect()
    gc.freeze()
