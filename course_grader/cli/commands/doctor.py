"""``course doctor``: run a training script of one's own under the library's doctor."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["doctor"]


def doctor(
    script: Annotated[Path, typer.Argument(help="A script that trains a model with torch.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="The script's own arguments.")] = None,
    *,
    report: Annotated[Path, typer.Option(help="The report's file: .html, .md or .txt.")] = Path("doctor.html"),
) -> None:
    """Run a training script as it is, and report on its gradients, time and memory, and what to try.

    The script's output, errors and exit status are its own. The report is printed to stderr and written to a file,
    also when the script fails or is interrupted. Options of the command stand before the script.
    """
    sys.stdout.flush()
    command = [sys.executable, "-m", "course_lib.doctor", "--report", str(report), str(script), *(arguments or [])]
    os.execv(sys.executable, command)  # noqa: S606 - the script is the user's, and gets this process and its signals
