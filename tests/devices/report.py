"""Run the checks of a module and say what came of each, as JSON: the module runs in a process of its own."""

import json
import sys
import traceback
from collections.abc import Callable

__all__ = ["run_checks"]


def run_checks(checks: dict[str, Callable[[], None]]) -> None:
    """Run those whose names begin with ``check_``, and print for each its traceback, or nothing if it passed."""
    found = {}
    for name, run in checks.items():
        if name.startswith("check_"):
            try:
                run()
                found[name] = ""
            except Exception:
                found[name] = traceback.format_exc()
    json.dump(found, sys.stdout)
