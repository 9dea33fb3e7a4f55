"""The course's repository (``_config.yml``), and the Colab badge and set-up cell that are made from it."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from nbformat import NotebookNode, v4

from course_lib.errors import InputError

__all__ = ["Repository"]

BADGE = "https://colab.research.google.com/assets/colab-badge.svg"
SETUP = """\
# On Colab, this installs the course's library. Anywhere else, it does nothing.
import sys

if "google.colab" in sys.modules:
    %pip install --quiet "the-backward-pass @ git+{url}@{release}"
"""
# An exercise is handed out by itself, so it may be opened where the course is not installed.
EXERCISE_SETUP = """\
# The course's library explains the checks below, and the last cell marks this notebook with it. On Colab, this installs
# it; anywhere else, it says so if it is missing.
import sys

if "google.colab" in sys.modules:
    %pip install --quiet "the-backward-pass @ git+{url}@{release}"
try:
    import course_grader

    course_grader.explain_checks("{exercise}")
except ModuleNotFoundError:
    print("The course's library is not installed here. Run the next line in a cell of its own, then this cell again:")
    print('%pip install "the-backward-pass[check] @ git+{url}@{release}"')
"""


@dataclass(frozen=True)
class Repository:
    """The repository's address and branch, the release that its pages are made with, and whether exercises have help.

    Examples
    --------
    >>> here = Repository(url="https://host.example/owner/course", branch="main", release="v1.0")
    >>> here.colab_url("chapters/a.ipynb")
    'https://colab.research.google.com/github/owner/course/blob/main/chapters/a.ipynb'
    >>> Repository(url="https://github.com/Owner/course", branch="main", release="v1.0").site
    'https://owner.github.io/course/'
    """

    url: str
    branch: str
    release: str
    has_help: bool = True

    @classmethod
    def read(cls, root: Path) -> "Repository":
        """Read ``_config.yml`` and, for the version, ``pyproject.toml`` in ``root``."""
        path = root / "_config.yml"
        if not path.is_file():
            raise InputError(
                f"expected the course's _config.yml in {root}, found none; run this from the project's root"
            )
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        settings, has_help = config["repository"], config.get("exercises", {}).get("help", True)
        if not isinstance(has_help, bool):
            raise InputError(f"{path}: exercises: help: must be true or false, but got {has_help!r}; write one of them")
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        release = f"v{project['version']}"
        return cls(settings["url"].rstrip("/"), settings["branch"], release, has_help=has_help)

    @property
    def site(self) -> str:
        """The published book's address: the one that GitHub Pages gives the repository."""
        owner, name = urlsplit(self.url).path.strip("/").split("/")
        return f"https://{owner.lower()}.github.io/{name}/"

    def colab_url(self, path: str) -> str:
        """Return the address that opens the notebook at ``path`` (from the root, ``/`` between folders) in Colab."""
        owner_and_name = "/".join(self.url.split("/")[-2:])
        return f"https://colab.research.google.com/github/{owner_and_name}/blob/{self.branch}/{path}"

    def opening_cells(
        self, path: str, *, about: str = "", imports_library: bool, exercise: str = ""
    ) -> list[NotebookNode]:
        """Return the cells that follow a notebook's title: the Colab badge and, if it needs the library, the set-up.

        ``about`` stands below the badge. Each ``exercise`` has a set-up, since its last cell needs the library; it says
        whose it is, so that it is not taken for a learner's own, and what to do where the library is missing.
        """
        hidden = {"tags": ["remove-cell"]}
        badge = f"[![Open this notebook in Colab]({BADGE})]({self.colab_url(path)})"
        opening = "\n\n".join([badge, about] if about else [badge])
        cells = [v4.new_markdown_cell(opening, id="open-in-colab", metadata=NotebookNode(hidden))]
        text = EXERCISE_SETUP if exercise else SETUP
        setup = text.format(url=self.url, release=self.release, exercise=exercise).strip()
        if exercise:
            course = NotebookNode(exercise=exercise, cell="set-up", kind="set-up")
            cells.append(v4.new_code_cell(setup, id="set-up", metadata=NotebookNode(hidden, course=course)))
        elif imports_library:
            cells.append(v4.new_code_cell(setup, id="set-up", metadata=NotebookNode(hidden)))
        return cells
