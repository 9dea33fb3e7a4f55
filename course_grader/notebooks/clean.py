"""Clean executed outputs: drop what another run would not repeat, refuse what names this machine."""

import getpass
import re
from pathlib import Path

from nbformat import NotebookNode

from course_lib.errors import NotebookError

__all__ = ["clean_outputs"]

ADDRESS = re.compile(r"\b0x[0-9a-f]{8,}\b")
TIMESTAMP = re.compile(r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d")


def clean_outputs(notebook: NotebookNode, *, root: Path) -> None:
    """Clean an executed notebook in place: drop what another run would not repeat, refuse what must not be kept.

    Execution counts become 1, 2, 3 ..., timings and transient metadata go, pieces of one stream are joined.

    Raises
    ------
    NotebookError
        If an output is an error or a warning, or names a path, user, time or memory address of this machine.
    """
    count = 0
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        count += 1
        cell.execution_count = count
        cell.metadata.pop("execution", None)
        cell.outputs = _join_streams(cell.outputs)
        for output in cell.outputs:
            _check_output(output, cell, root=root)
            output.pop("transient", None)
            if output.output_type == "execute_result":
                output.execution_count = count


def _join_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Join stream outputs that follow each other under one name: how a kernel cuts them up is chance."""
    kept: list[NotebookNode] = []
    for output in outputs:
        if output.output_type == "stream" and kept and kept[-1].get("name") == output.name:
            kept[-1].text += output.text
        else:
            kept.append(output)
    return kept


def _check_output(output: NotebookNode, cell: NotebookNode, *, root: Path) -> None:
    where = f"cell {cell.id!r} ({cell.source.strip().splitlines()[0][:60]!r})"
    if output.output_type == "error":
        raise NotebookError(f"{where} raised {output.ename}: {output.evalue}; catch it and print it, or fix the cell")
    if output.get("name") == "stderr":
        raise NotebookError(f"{where} wrote to stderr: {output.text.strip()[:200]!r}; fix what it warns about")
    for text in _output_texts(output):
        for what, found in _machine_marks(text, root).items():
            raise NotebookError(f"{where} prints {what} ({found!r}); print something that is the same on every machine")


def _output_texts(output: NotebookNode) -> list[str]:
    if output.output_type == "stream":
        return [output.text]
    return [text for mime, text in output.data.items() if isinstance(text, str) and not mime.startswith("image/png")]


def _machine_marks(text: str, root: Path) -> dict[str, str]:
    """Return what in ``text`` belongs to this machine or moment, by kind."""
    marks = {}
    for path in {str(root.resolve()), str(Path.home())}:
        if len(path) > 1 and re.search(re.escape(path) + r"(?![\w-])", text):
            marks["a path of this machine"] = path
    user = getpass.getuser()
    if len(user) > 3 and user != "root" and re.search(rf"\b{re.escape(user)}\b", text):
        marks["a user's name"] = user
    if found := ADDRESS.search(text):
        marks["a memory address"] = found.group()
    if found := TIMESTAMP.search(text):
        marks["a time"] = found.group()
    return marks
