"""Clean executed outputs: drop what another run would not repeat, refuse what names this machine."""

import getpass
import re
from pathlib import Path

from nbformat import NotebookNode

from course_lib.errors import NotebookError

__all__ = ["clean_outputs", "shorten_warnings"]

ADDRESS = re.compile(r"\b0x[0-9a-f]{8,}\b")
RAISES, WARNS = "raises-exception", "warns"
# Where a warning comes from: the first line of the text that Python writes, which goes on with the line of code.
WARNING = re.compile(r"^\S.*?:\d+: (?=\w+: )", re.MULTILINE)
TRIGGERED = re.compile(r"\s*\(Triggered internally at [^)]*\)")
TIMESTAMP = re.compile(r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d")


def clean_outputs(notebook: NotebookNode, *, root: Path) -> None:
    """Clean an executed notebook in place: drop what another run would not repeat, refuse what must not be kept.

    Execution counts become 1, 2, 3 ..., timings and transient metadata go, pieces of one stream are joined. Of the
    traceback in a cell tagged ``raises-exception``, and of a warning in one tagged ``warns``, what was said stays. What
    is neither shown nor compared goes.

    Raises
    ------
    NotebookError
        If an output is an error or a warning, and the cell is not tagged so, or names a path, user, time or memory
        address of this machine; or if a cell tagged so neither raised nor warned.
    """
    count = 0
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        count += 1
        cell.execution_count = count
        cell.metadata.pop("execution", None)
        cell.outputs = _join_streams(cell.outputs)
        _shorten_announced(cell)
        if {"remove-output", "nbval-ignore-output"} <= set(cell.metadata.get("tags", [])):
            cell.outputs = []  # nobody sees it, and it may name this machine
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


def shorten_warnings(text: str) -> str:
    r"""Cut from warnings where they come from, and the line of code that Python adds.

    Examples
    --------
    >>> shorten_warnings("/tmp/7/12.py:3: UserWarning: careful (Triggered internally at /a.cpp:1.)\n  f(x)\n")
    'UserWarning: careful\n'
    """
    lines = [line for line in text.splitlines() if not line.startswith("  ")]
    return TRIGGERED.sub("", WARNING.sub("", "\n".join(lines))) + "\n"


def _shorten_announced(cell: NotebookNode) -> None:
    """Keep of an exception, and of a warning, what it says, in the cells that announce one."""
    tags = cell.metadata.get("tags", [])
    errors = [output for output in cell.outputs if output.output_type == "error"]
    warnings = [output for output in cell.outputs if output.get("name") == "stderr"]
    for tag, found in {RAISES: errors, WARNS: warnings}.items():
        if tag in tags and not found:
            raise NotebookError(f"{_describe_cell(cell)} is tagged {tag}, but nothing of the kind came; untag it")
    if RAISES in tags:
        errors[0].traceback = [f"{errors[0].ename}: {errors[0].evalue}"]
    if WARNS in tags:
        warnings[0].text = shorten_warnings(warnings[0].text)


def _describe_cell(cell: NotebookNode) -> str:
    return f"cell {cell.id!r} ({cell.source.strip().splitlines()[0][:60]!r})"


def _check_output(output: NotebookNode, cell: NotebookNode, *, root: Path) -> None:
    where, tags = _describe_cell(cell), cell.metadata.get("tags", [])
    if output.output_type == "error" and RAISES not in tags:
        raise NotebookError(f"{where} raised {output.ename}: {output.evalue}; tag it {RAISES}, or fix the cell")
    if output.get("name") == "stderr" and WARNS not in tags:
        raise NotebookError(f"{where} wrote to stderr: {output.text.strip()[:200]!r}; fix what it warns about")
    for text in _output_texts(output):
        for what, found in _machine_marks(text, root).items():
            raise NotebookError(f"{where} prints {what} ({found!r}); print something that is the same on every machine")


def _output_texts(output: NotebookNode) -> list[str]:
    if output.output_type == "stream":
        return [output.text]
    if output.output_type == "error":
        return [output.evalue]
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
