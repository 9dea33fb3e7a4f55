"""Build the committed notebooks that changed: chapters executed, exercises with reference outputs and pictures."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from course_grader.notebooks.execute import execute_notebook
from course_grader.notebooks.exercise_notebooks import freeze_pictures, pictures_of
from course_grader.notebooks.generate import generate_notebook, is_exercise, notebook_sources
from course_grader.notebooks.repository import Repository
from course_grader.notebooks.run_record import RECORD, record_run
from course_lib.errors import NotebookError

__all__ = ["BuiltNotebook", "build_notebooks", "without_outputs"]

STAMPS = Path("_build/notebooks.json")


@dataclass(frozen=True)
class BuiltNotebook:
    """A notebook, and whether this build wrote it."""

    source: Path
    notebook: Path
    written: bool


def build_notebooks(root: Path, *, only: list[Path] | None = None, force: bool = False) -> Iterator[BuiltNotebook]:
    """Bring the notebooks under ``root`` up to date, one after the other.

    A notebook is rebuilt when its text, the part of the library that pages import, or the locked set of packages has
    changed since the last build; in a fresh clone the committed notebooks count as built.

    Parameters
    ----------
    root : Path
        The project's root.
    only : list of Path, optional
        Text files to build; all by default.
    force : bool
        Rebuild even what is up to date.

    Yields
    ------
    Built
        In the order of the files' names, as each is done.

    Raises
    ------
    InputError
        If ``root`` is not the root of the course.
    NotebookError
        If a page cannot be built; what was there before is left as it was.
    """
    Repository.read(root)  # refuses a folder that is not the course's, before anything is looked for
    stamps = _read_stamps(root)
    for text, path in notebook_sources(root).items():
        if only is not None and text not in only:
            continue
        notebook = generate_notebook(text, root=root)
        stamp, key = _digest_inputs(text, root), text.relative_to(root).as_posix()
        stale = force or not _is_current(notebook, path) or stamps.get(key, stamp) != stamp
        if stale:
            _run(pictures_of(notebook) if is_exercise(text) else notebook, text=text, root=root)
            if is_exercise(text):
                freeze_pictures(notebook)
            else:
                record_run(notebook, committed=path)
            _write(notebook, path)
        stamps[key] = stamp
        _write_stamps(root, stamps)
        yield BuiltNotebook(source=text, notebook=path, written=stale)


def _run(notebook: NotebookNode, *, text: Path, root: Path) -> None:
    if not notebook.cells:
        return
    try:
        execute_notebook(notebook, folder=text.parent, root=root)
    except NotebookError as error:
        raise NotebookError(f"{text.relative_to(root)}: {error}") from error


def _is_current(generated: NotebookNode, path: Path) -> bool:
    """Tell whether the notebook at ``path`` is ``generated`` plus outputs."""
    if not path.is_file():
        return False
    committed = nbformat.read(path, as_version=4)
    complete = all(
        cell.execution_count for cell in committed.cells if cell.cell_type == "code" and not _is_unexecuted(cell)
    )
    return complete and without_outputs(committed) == without_outputs(generated)


def _is_unexecuted(cell: NotebookNode) -> bool:
    """Tell whether a cell belongs to an exercise, which is handed out unexecuted but for its pictures."""
    kind: str = cell.metadata.get("course", {}).get("kind", "")
    return kind not in ("", "picture") or cell.id == "set-up"


def without_outputs(notebook: NotebookNode) -> list[tuple[object, ...]]:
    """Return the parts of a notebook that its text determines: ids, kinds, sources and metadata.

    The source of a picture is what it drew; its metadata hold a fingerprint of the code.
    """
    drawn = {cell.id for cell in pictures_of(notebook).cells}
    cells: list[tuple[object, ...]] = [
        (c.id, c.cell_type, "" if c.id in drawn else c.source, dict(c.metadata)) for c in notebook.cells
    ]
    metadata = {name: value for name, value in notebook.metadata.items() if name != RECORD}
    return [("notebook", metadata), *cells]


def _write(notebook: NotebookNode, path: Path) -> None:
    nbformat.validate(notebook)
    temporary = path.with_suffix(".part")
    temporary.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    temporary.replace(path)


def _digest_inputs(text: Path, root: Path) -> str:
    """Return a digest of everything that an executed notebook depends on."""
    library = sorted((root / "course_lib").rglob("*.py"))
    results = sorted((root / "benchmarks" / "results").glob("*.json"))
    files = [text, root / "_config.yml", root / "requirements.lock", *results, *library]
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _read_stamps(root: Path) -> dict[str, str]:
    path = root / STAMPS
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _write_stamps(root: Path, stamps: dict[str, str]) -> None:
    path = root / STAMPS
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(stamps, indent=1, sort_keys=True) + "\n", encoding="utf-8")
