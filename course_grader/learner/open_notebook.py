"""Read the text of the notebook that is open: from Colab, or as VS Code or Jupyter saved it, or from a path."""

import importlib
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_grader.grading.exercises.submitted_notebook import read_notebook_bytes
from course_lib.errors import InputError

__all__ = ["OpenNotebook", "read_open_notebook"]

COLAB_SECONDS = 30
UPLOAD = (
    "choose File > Download > Download .ipynb, upload that file (folder icon on the left), and run "
    'course_grader.check("FILE.ipynb") with its name'
)
SAVE = 'save the notebook, and pass its path, such as course_grader.check("{}")'


@dataclass(frozen=True)
class OpenNotebook:
    """The bytes of a notebook; ``path`` is the file that they come from, None if they are what is on the screen."""

    raw: bytes
    path: Path | None = None

    @property
    def origin(self) -> str:
        """Where the text is from and, of a file, when it was saved: what came later is not in it."""
        if self.path is None:
            return "marked as it is on the screen"
        saved = time.strftime("%H:%M:%S", time.localtime(self.path.stat().st_mtime))
        return f"marked as saved at {saved} in `{self.path.name}`: save the notebook and run this again to mark changes"


def read_open_notebook(path: str | os.PathLike[str] | None, names: Mapping[str, Any]) -> OpenNotebook:
    """Return the notebook at ``path``; without one, the notebook whose kernel this is.

    Parameters
    ----------
    path : path, optional
        The notebook's file.
    names : mapping
        The notebook's own names, among which editors say what file is open.

    Raises
    ------
    InputError
        If it cannot be had, with how to save or upload it.
    """
    if path is None and "google.colab" in sys.modules:
        return OpenNotebook(_ask_colab())
    said = path or names.get("__vsc_ipynb_file__") or names.get("__session__") or os.environ.get("JPY_SESSION_NAME")
    file = Path(said) if said else None
    if file is None or not file.is_file():
        came = f"no file at {file}" if file else "no editor that says which one that is"
        near = file.parent if file and file.parent.is_dir() else Path()
        example = next((each.name for each in sorted(near.glob("*.ipynb"))), "FILE.ipynb")
        raise InputError(f"expected the notebook that is open, found {came}; {SAVE.format(example)}")
    return OpenNotebook(read_notebook_bytes(file.resolve()), file.resolve())


def _ask_colab() -> bytes:
    """Return what Colab shows: the page itself is asked, since the kernel has no file of it."""
    try:
        message: Any = importlib.import_module("google.colab._message")
        reply = message.blocking_request("get_ipynb", request="", timeout_sec=COLAB_SECONDS)
    except Exception as error:  # of Colab's own, or its interface has changed
        raise InputError(f"expected the notebook's text from Colab, found an error ({error}); {UPLOAD}") from error
    if not isinstance(reply, dict) or "ipynb" not in reply:
        raise InputError(f"expected the notebook's text from Colab, found none in {COLAB_SECONDS} s; {UPLOAD}")
    return json.dumps(reply["ipynb"]).encode()
