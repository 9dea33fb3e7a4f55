"""Read a MyST Markdown notebook: the same text always gives the same notebook, cell ids included."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import jupytext
from nbformat import NotebookNode

from course_lib.errors import NotebookError

__all__ = ["read_text", "tolerance_of"]

KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}
VARIES, WITHIN = "varies:", "within:"
TOLERANCE = re.compile(rf"{WITHIN}(0\.\d+)%:.*\S.*")  # below 1%, so that the second digit of no number goes unseen
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what nbformat takes for an id


def read_text(path: Path) -> NotebookNode:
    """Turn a MyST text notebook into an unexecuted notebook with stable cell ids.

    A code cell's ``:name:`` is its id. A cell without one is called after its own text, so that an edit changes the id
    of the edited cell and of no other. A tag ``varies:REASON`` marks an output that may differ from run to run; nbval
    then runs the cell without comparing, and the reason stays in the notebook. A tag ``within:0.1%:REASON`` lets the
    numbers of an output differ by that much where this is more than their last digit.

    Parameters
    ----------
    path : Path
        The ``.md`` file, UTF-8.

    Returns
    -------
    NotebookNode
        nbformat 4.5, no outputs, metadata reduced to ``kernelspec``, ``language_info`` and the text's own ``course``.

    Raises
    ------
    NotebookError
        If the file is not UTF-8 or not a MyST notebook, two cells share a name or one has a name that cannot be an id,
        or an output is exempted from comparison without a reason, or compared within no tolerance below 1%.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors begin UTF-8 with a mark
    except UnicodeDecodeError as error:
        raise NotebookError(
            f"{path}: expected UTF-8 text, found byte {error.start} outside it; save it as UTF-8"
        ) from error
    try:
        notebook: NotebookNode = jupytext.reads(text, fmt="md:myst")
    except Exception as error:  # of YAML, of JSON, of nbformat and of its own: jupytext passes on what it meets
        said = " ".join(str(error).split("\n\n")[0].split())
        raise NotebookError(
            f"{path}: expected a MyST notebook, but {said}; look at the front matter and the options of its cells"
        ) from error
    _name_cells(notebook, path)
    for cell in notebook.cells:
        _exempt_varying(cell, path)
    course = notebook.metadata.get("course")
    notebook.metadata = NotebookNode(kernelspec=NotebookNode(KERNELSPEC), language_info=NotebookNode(name="python"))
    if course:
        notebook.metadata["course"] = course
    return notebook


def tolerance_of(tags: Iterable[str]) -> float:
    """Return how far, relative to their size, the numbers of a cell with these tags may be off.

    Examples
    --------
    >>> tolerance_of(["hide-input", "within:0.1%:float32 is summed in another order elsewhere"])
    0.001
    """
    return max((float(found[1]) / 100 for tag in tags if (found := TOLERANCE.fullmatch(tag))), default=0.0)


def _name_cells(notebook: NotebookNode, path: Path) -> None:
    """Give each cell its id: its name, or a digest of its text (numbered where the text repeats)."""
    named = Counter(
        cell.metadata["name"]
        for cell in notebook.cells
        if "name" in cell.metadata and "solution" not in cell.metadata.get("tags", [])
    )
    repeated = [name for name, times in named.items() if times > 1]
    if repeated:
        raise NotebookError(f"{path}: a cell's name must be its own, but {repeated[0]!r} names several; rename one")
    if unfit := [name for name in named if not NAME.fullmatch(name)]:
        raise NotebookError(
            f"{path}: a cell's name is made of up to 64 letters, digits, - and _, but got {unfit[0]!r}; rename it"
        )
    seen: Counter[str] = Counter()
    for cell in notebook.cells:
        stem = cell.metadata.get("name") or f"{cell.cell_type[0]}-{_digest(cell.source)}"
        if "solution" in cell.metadata.get("tags", []):
            stem += "-solution"
        seen[stem] += 1
        cell["id"] = stem if seen[stem] == 1 else f"{stem}-{seen[stem]}"


def _exempt_varying(cell: NotebookNode, path: Path) -> None:
    """Exempt outputs from comparison exactly where the text says why they vary."""
    tags = cell.metadata.get("tags", [])
    if "nbval-ignore-output" in tags or "nbval-skip" in tags or "NBVAL" in cell.source:
        raise NotebookError(f"{path}: an output is left uncompared only for a reason; tag it {VARIES}REASON instead")
    reasons = [tag.removeprefix(VARIES) for tag in tags if tag.startswith(VARIES)]
    if reasons == [""]:
        raise NotebookError(f"{path}: the tag {VARIES} needs a reason after the colon, such as {VARIES}wall-clock-time")
    if unfit := [tag for tag in tags if tag.startswith(WITHIN) and not TOLERANCE.fullmatch(tag)]:
        raise NotebookError(
            f"{path}: a tolerance is a percentage below 1 and has a reason, but a tag is {unfit[0]!r}; write "
            f"{WITHIN}0.1%:REASON, or print fewer digits"
        )
    if reasons:
        cell.metadata["tags"] = [*tags, "nbval-ignore-output"]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]
