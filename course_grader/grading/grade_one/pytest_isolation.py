"""Isolate pytest inside the grader: it prints nothing, writes nothing beside the key, and keeps no module."""

import contextlib
import functools
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["forget_module", "isolated_pytest", "keep_compiled"]


@functools.cache
def keep_compiled() -> Path:
    """Make a folder in which this process and its forks keep hidden tests compiled, which takes as long as the rest."""
    from course_grader.grading.sandbox import scratch_dirs  # on Windows there are none, and nobody is graded

    return Path(tempfile.mkdtemp(prefix="bytecode", dir=scratch_dirs.own_folder()))


@contextlib.contextmanager
def isolated_pytest(compiled: Path) -> Iterator[io.StringIO]:
    """Keep pytest from printing, writing beside the key and loading stray plugins; yield its output.

    Bytecode goes into the folder ``compiled``.
    """
    kept, writes, prefix = dict(os.environ), sys.dont_write_bytecode, sys.pycache_prefix
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        os.environ.pop(name, None)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.dont_write_bytecode, sys.pycache_prefix = False, str(compiled)
    try:
        with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(said):
            yield said
    finally:
        sys.dont_write_bytecode, sys.pycache_prefix = writes, prefix
        os.environ.clear()
        os.environ.update(kept)


@contextlib.contextmanager
def forget_module(tests: Path) -> Iterator[None]:
    """Forget the imported tests afterwards: nothing one submission leaves in their module may reach the next."""
    try:
        yield
    finally:
        for name, module in list(sys.modules.items()):
            if getattr(module, "__file__", None) == str(tests):
                del sys.modules[name]
