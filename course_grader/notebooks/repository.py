"""The course's repository (``_config.yml``), and the Colab badge and set-up cell that are made from it."""

from dataclasses import dataclass
from pathlib import Path

import yaml
from nbformat import NotebookNode, v4

from course_lib.errors import InputError

__all__ = ["Repository"]

BADGE = "https://colab.research.google.com/assets/colab-badge.svg"
SETUP = """\
# On Colab, this installs the course's library. Anywhere else, it does nothing.
import sys

if "google.colab" in sys.modules:
    %pip install --quiet "the-backward-pass @ git+{url}@{branch}"
"""
# An exercise is handed out by itself, so it may be opened where the course is not installed.
EXERCISE_SETUP = """\
# The cells below use this course's library. On Colab, this installs it; anywhere else, it says so if it is missing.
import sys

if "google.colab" in sys.modules:
    %pip install --quiet "the-backward-pass @ git+{url}@{branch}"
try:
    import course_lib
except ModuleNotFoundError:
    print("The course's library is not installed here. Run the next line in a cell of its own, then this cell again:")
    print('%pip install "the-backward-pass @ git+{url}@{branch}"')
"""


@dataclass(frozen=True)
class Repository:
    """The repository's address and branch.

    Examples
    --------
    >>> here = Repository(url="https://host.example/owner/course", branch="main")
    >>> here.colab_url("chapters/a.ipynb")
    'https://colab.research.google.com/github/owner/course/blob/main/chapters/a.ipynb'
    """

    url: str
    branch: str

    @classmethod
    def read(cls, root: Path) -> "Repository":
        """Read ``repository.url`` and ``repository.branch`` from ``root/_config.yml``."""
        path = root / "_config.yml"
        if not path.is_file():
            raise InputError(
                f"expected the course's _config.yml in {root}, found none; run this from the project's root"
            )
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))["repository"]
        return cls(url=settings["url"].rstrip("/"), branch=settings["branch"])

    def colab_url(self, path: str) -> str:
        """Return the address that opens the notebook at ``path`` (from the root, ``/`` between folders) in Colab."""
        owner_and_name = "/".join(self.url.split("/")[-2:])
        return f"https://colab.research.google.com/github/{owner_and_name}/blob/{self.branch}/{path}"

    def opening_cells(self, path: str, *, imports_library: bool, exercise: bool = False) -> list[NotebookNode]:
        """Return the cells that follow a notebook's title: the Colab badge and, if it needs the library, the set-up.

        That of an exercise also says what to do where the library is missing.
        """
        hidden = {"tags": ["remove-cell"]}
        badge = f"[![Open this notebook in Colab]({BADGE})]({self.colab_url(path)})"
        cells = [v4.new_markdown_cell(badge, id="open-in-colab", metadata=NotebookNode(hidden))]
        if imports_library:
            setup = (EXERCISE_SETUP if exercise else SETUP).format(url=self.url, branch=self.branch).strip()
            cells.append(v4.new_code_cell(setup, id="set-up", metadata=NotebookNode(hidden)))
        return cells
