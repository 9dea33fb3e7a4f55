"""Run every page with the oldest packages that the ranges in pyproject.toml allow: about what Colab has.

``make oldest`` runs it. A range is a promise, and the suite keeps it for the locked versions, which are the newest.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from course_grader.notebooks.build import generate_notebook, notebook_sources
from course_grader.notebooks.execute import execute_notebook
from course_lib.errors import NotebookError

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv-oldest" / "bin" / "python"
PAGES_NEED = ("ipykernel", "matplotlib", "tensorboard")  # beside the library and its extras torch and jax
# What these versions say on stderr, where a page may say nothing: torch 2.11 that a profile over several cycles, which
# is not made, would keep the last alone (the message begins with this word), jax 0.7 that TensorFlow is not there, and
# ipykernel 6.17 that a debugger may miss what it stops at; torch 2.11 also that CUDA has a compiler here and no GPU.
QUIET = {
    "PYTHONWARNINGS": "ignore:Warning",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "CUDA_HOME": "",
    "CUDA_PATH": "",
}


def lowest() -> Iterator[str]:
    """Turn each ``torch>=2.11`` into ``torch==2.11.*``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for required in sum(project["optional-dependencies"].values(), project["dependencies"]):
        if found := re.match(r"([\w-]+)(?:\[\w+])?>=([\d.]+)", required):
            yield f"{found[1]}=={found[2]}.*"


def install() -> None:
    """Make an environment of its own, or bring it up to date."""
    subprocess.run([sys.executable, "-m", "venv", PYTHON.parents[1]], check=True)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
        constraints.write("\n".join(lowest()))
        constraints.flush()
        pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", constraints.name]
        subprocess.run([*pip, "-e", f"{ROOT}[torch,jax]", *PAGES_NEED], check=True)


def fault(text: Path) -> str:
    """Run a page; return what does not work, or nothing."""
    try:
        execute_notebook(generate_notebook(text, root=ROOT), folder=text.parent, root=ROOT, python=PYTHON)
    except NotebookError as error:
        return str(error)
    return ""


def failures() -> Iterator[str]:
    """Run the pages, as many at a time as there are cores, and say what does not work."""
    pages = [text for text in notebook_sources(ROOT) if text.is_relative_to(ROOT / "chapters")]
    with ProcessPoolExecutor() as pool:
        for text, error in zip(pages, pool.map(fault, pages), strict=True):
            name = text.relative_to(ROOT).as_posix()
            print(f"{name}: {error or 'runs'}", flush=True)
            if error:
                yield name


if __name__ == "__main__":
    os.environ |= QUIET  # not on import: the suite collects this module, and its kernels would inherit it
    install()
    failed = list(failures())
    sys.exit(f"{len(failed)} pages do not run: {', '.join(failed)}" if failed else 0)
