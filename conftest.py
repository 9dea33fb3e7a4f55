"""What pytest does before it reads the docstrings of the library."""

import importlib
from pathlib import Path

ROOT = Path(__file__).parent


def pytest_collect_file(file_path: Path) -> None:
    """Import a module's package first: pytest would run the module twice, and hide what the package calls the same."""
    if (file_path.parent / "__init__.py").is_file():
        importlib.import_module(".".join(file_path.parent.relative_to(ROOT).parts))
