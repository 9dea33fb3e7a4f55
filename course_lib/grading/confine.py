"""Run as a script, the first thing inside the sandbox: set the resource limits, then become the kernel.

The kernel starts in this same process, because a second interpreter would cost every submission another start-up. A
process forked from the zygote calls the same two functions.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

__all__ = ["limit", "main", "serve"]

# History would be an SQLite file in the home; frontends and debuggers have no business in a grading run.
OPTIONS = ["--HistoryManager.enabled=False", "--InteractiveShell.colors=nocolor", "--IPKernelApp.log_level=CRITICAL"]


def limit(rlimits: dict[str, int]) -> None:
    """Lower this process's limits, by the names of :mod:`resource`, and never raise one."""
    for name, value in rlimits.items():
        import resource  # not on every system a learner may have

        hard = resource.getrlimit(getattr(resource, name))[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(getattr(resource, name), (value, value))


def serve(connection_file: str) -> None:
    """Be the kernel of this connection file until it ends."""
    from ipykernel.kernelapp import IPKernelApp

    app: Any = IPKernelApp.instance()
    app.initialize(["-f", connection_file, *OPTIONS])
    importlib.import_module("course_lib.grading.child").listen(app.kernel)
    app.start()


def main(arguments: list[str]) -> None:
    """Apply ``arguments[0]``, a JSON object of rlimits, and serve the connection file ``arguments[1]``."""
    limit(json.loads(arguments[0]))
    # The very files the grader runs, wherever it found them, so that both ends of the wire speak alike.
    sys.path.insert(0, str(Path(__file__).parents[2]))
    importlib.import_module("course_lib.grading.child")
    del sys.path[0]
    serve(arguments[1])


if __name__ == "__main__":
    main(sys.argv[1:])
