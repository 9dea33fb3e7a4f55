"""When, and with which versions, the outputs of a page were made: kept in its notebook, shown below its title."""

import datetime
import platform
from importlib.metadata import version
from pathlib import Path

import nbformat
from nbformat import NotebookNode

__all__ = ["RECORD", "describe_run", "record_run"]

RECORD = "verified"  # of a notebook's metadata
PACKAGES = {"PyTorch": "torch", "JAX": "jax", "NumPy": "numpy"}


def record_run(notebook: NotebookNode, *, committed: Path) -> None:
    """Write into a notebook that was just executed here the date and the versions.

    The record at ``committed`` is kept if that notebook has the same outputs, made with the same versions: a run that
    changes nothing leaves the file as it is.
    """
    versions = {name: version(package).partition("+")[0] for name, package in PACKAGES.items()}
    record = {"date": datetime.date.today().isoformat(), "Python": platform.python_version(), **versions}
    if committed.is_file():
        before = nbformat.read(committed, as_version=4)
        kept = {**record, "date": before.metadata.get(RECORD, record)["date"]}
        if before.metadata.get(RECORD) == kept and _outputs(before) == _outputs(notebook):
            record = kept
    notebook.metadata[RECORD] = NotebookNode(record)


def describe_run(notebook: NotebookNode) -> str:
    """Say when and with what a notebook's outputs were made; nothing if there is no record.

    Examples
    --------
    >>> from nbformat import v4
    >>> record = {"date": "2026-11-27", "Python": "3.11.7", "PyTorch": "2.13.0", "JAX": "0.10.2", "NumPy": "2.4.6"}
    >>> describe_run(v4.new_notebook(metadata={"verified": record}))
    '2026-11-27, with Python 3.11.7, PyTorch 2.13.0, JAX 0.10.2, NumPy 2.4.6'
    """
    record = notebook.metadata.get(RECORD)
    if not record:
        return ""
    return f"{record['date']}, with {', '.join(f'{name} {record[name]}' for name in ('Python', *PACKAGES))}"


def _outputs(notebook: NotebookNode) -> list[list[NotebookNode]]:
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
