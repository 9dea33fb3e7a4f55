"""Load what grading takes, once, in the process that workers are forked from (multiprocessing's forkserver).

Importing this module does that, and only there: anywhere else it does nothing. The garbage collector is kept from what
was loaded, since looking through it would copy it into every worker.
"""

import gc
import importlib
import os
import signal
import sys
from collections.abc import Mapping
from multiprocessing import spawn

from course_grader.grading.learner_side.bootstrap import die_with

__all__: list[str] = []

# The last three are what pytest and the reading of a notebook load at the first submission only, each time anew.
MODULES = (
    "course_grader.grading.grade_one.grade_submission",
    "pebble.pool.process",
    "_pytest.helpconfig",
    "_pytest.skipping",
    "encodings.utf_8_sig",
)


def _is_forkserver() -> bool:
    """Return whether this is the forkserver's process, or one forked from it."""
    return "multiprocessing.forkserver" in sys.orig_argv[-1]


def _load() -> None:
    """Import the modules, die with the grader, and answer no Ctrl-C: the grader does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setsid()
    die_with(os.getppid())
    spawn.prepare = _prepare_without_main
    gc.disable()
    for name in MODULES:
        importlib.import_module(name)
    from course_grader.grading.grade_one.pytest_isolation import keep_compiled

    keep_compiled()  # in one folder for all workers
    gc.freeze()


def _prepare_without_main(data: Mapping[str, object]) -> None:
    """Set up a worker without importing the main program, which a script may not guard, and no task needs."""
    _prepare({name: value for name, value in data.items() if not name.startswith("init_main_from_")})


_prepare = spawn.prepare
if _is_forkserver():
    _load()
