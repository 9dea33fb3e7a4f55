"""List the files of a package: this library as it is here, one exercise's key, and pinned requirements."""

import ast
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import course_grader
import course_lib
from course_grader.grading.exercises.exercise import Exercise

__all__ = ["GRADE_CLASS", "GRADE_ONE", "key_files", "library_files", "requirements"]

# What grading one notebook imports, and what `course grade` needs besides.
GRADE_ONE = ("ipykernel", "jupyter-client", "jupytext", "nbformat", "nbval", "numpy", "pytest")
GRADE_CLASS = (*GRADE_ONE, "datasketch", "jinja2", "junitparser", "rich", "sqlalchemy", "typer")


def library_files() -> Iterator[tuple[str, bytes]]:
    """Yield the files of the course's packages under ``library/``."""
    for init in (course_grader.__file__, course_lib.__file__):
        root = Path(init).resolve().parent
        for path in sorted(root.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield f"library/{root.name}/{path.relative_to(root).as_posix()}", path.read_bytes()


def key_files(exercise: Exercise) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a key under its exercise's name; known-wrong answers are left out."""
    for path in sorted(exercise.key.rglob("*")):
        inside = path.relative_to(exercise.key)
        hidden = any(part.startswith((".", "__pycache__")) for part in inside.parts)
        if path.is_file() and inside.parts[0] != "wrong" and not hidden:
            yield f"{exercise.slug}/{inside.as_posix()}", path.read_bytes()


def requirements(exercise: Exercise, base: tuple[str, ...]) -> str:
    """Return pip's requirements: the packages of ``base`` and those that the exercise imports, at the versions here."""
    roots = {name.split(".")[0] for name in (*exercise.imports, *_imported_modules(exercise.tests.read_text("utf-8")))}
    owners = metadata.packages_distributions()
    wanted = {*base, *(owners[name][0] for name in roots - {"course_grader", "course_lib"} if name in owners)}
    lines = sorted({f"{_distribution_name(name)}=={metadata.version(name).split('+')[0]}" for name in wanted})
    return "\n".join(lines) + "\n"


def _imported_modules(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name not in sys.stdlib_module_names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def _distribution_name(name: str) -> str:
    return name.lower().replace("_", "-")
