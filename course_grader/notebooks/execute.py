"""Execute a notebook in a fresh kernel, under settings that give the same outputs everywhere."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nbformat import NotebookNode

from course_grader.notebooks.clean import clean_outputs
from course_lib.errors import NotebookError

if TYPE_CHECKING:
    from jupyter_client.manager import AsyncKernelManager

__all__ = ["KERNEL_ENVIRONMENT", "execute_notebook"]

CELL_TIMEOUT_SECONDS = 300
# One order of summation; `make test-processors` looks at what another one would change.
THREADS = os.environ.get("COURSE_KERNEL_THREADS", "1")
# No GPU, no colour codes, one order of sets.
KERNEL_ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "",
    "JAX_PLATFORMS": "cpu",
    "JAX_PPRINT_USE_COLOR": "false",
    "NO_COLOR": "1",
    "OMP_NUM_THREADS": THREADS,
    "OPENBLAS_NUM_THREADS": THREADS,
    "PYTHONHASHSEED": "0",
}


def execute_notebook(notebook: NotebookNode, *, folder: Path, root: Path, python: str | Path = sys.executable) -> None:
    """Execute ``notebook`` in place, in ``folder``, with this interpreter or another, and clean its outputs.

    Raises
    ------
    NotebookError
        If a cell raises, warns, takes too long, kills its kernel, or prints something specific to this machine.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellControlSignal, DeadKernelError

    settings = {"timeout": CELL_TIMEOUT_SECONDS, "allow_errors": True, "resources": {"metadata": {"path": folder}}}
    metadata = notebook.metadata.copy()
    with _kernel_environment(), tempfile.TemporaryDirectory(prefix="k") as sockets:
        client = NotebookClient(notebook, km=_make_manager(sockets, python), **settings)
        try:
            client.execute(cleanup_kc=True)
        except (CellControlSignal, DeadKernelError) as error:
            raise NotebookError(f"a cell could not be run to its end: {str(error).splitlines()[0]}") from error
    notebook.metadata = metadata  # the kernel has added its own version of Python to it
    clean_outputs(notebook, root=root)


def _make_manager(sockets: str, python: str | Path) -> "AsyncKernelManager":
    """Return a manager whose kernel runs this interpreter, and is reached through files, so that no port is opened."""
    from jupyter_client.manager import AsyncKernelManager

    manager = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=f"{sockets}/k")
    manager.connection_file = f"{sockets}/k.json"
    assert manager.kernel_spec is not None  # ipykernel brings one
    manager.kernel_spec.argv[0] = str(python)  # the kernelspec on the machine may start another Python
    return manager


@contextlib.contextmanager
def _kernel_environment() -> Iterator[None]:
    """Set the kernel's environment for as long as it is being started and used."""
    before = {name: os.environ[name] for name in KERNEL_ENVIRONMENT if name in os.environ}
    os.environ.update(KERNEL_ENVIRONMENT)
    try:
        yield
    finally:
        for name in KERNEL_ENVIRONMENT:
            del os.environ[name]
        os.environ.update(before)
