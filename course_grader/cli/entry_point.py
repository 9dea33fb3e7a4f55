"""Run the ``course`` command line: build it from the commands, and print an error as one line."""

import atexit
import errno
import gc
import importlib
import inspect
import os
import re
import signal
import sys
import tempfile
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from course_grader.grading.text import one_line
from course_lib import extras
from course_lib.errors import CourseError, InputError

__all__ = ["main"]

# Each module has a function of its own name; that function's docstring is the help. Listed in the order of a course.
COMMANDS = (
    *("check", "mark", "collect", "grade", "points", "similar", "package"),
    *("serve", "work", "demo", "notebooks", "doctor"),
)
BAD_INPUT, INTERRUPTED = 2, 130
MESSAGE_CHARS = 5000


def main(arguments: list[str] | None = None) -> None:
    """Run ``course``: exit status 0 for success, 1 for a notebook that does not pass, 2 for input it cannot use."""
    atexit.register(gc.freeze)  # for a quarter of a second Python would look through all that was loaded, for nothing
    if arguments is None:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # clean up as after Ctrl-C
    try:
        _load_workers_early(sys.argv[1:] if arguments is None else arguments)
        sys.exit(_run(arguments))
    except CourseError as error:
        print("course: " + one_line(error, chars=MESSAGE_CHARS), file=sys.stderr)
        sys.exit(BAD_INPUT)
    except OSError as error:
        wanted, fix = "a file or folder that can be used", "check the path"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):  # of which the system names no file
            wanted, fix = "room to write", f"make room where the command writes, and in {tempfile.gettempdir()}"
        print(f"course: expected {wanted}, found: {error}; {fix}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _run(arguments: list[str] | None) -> int:
    """Run the command; a command line that it cannot read becomes one sentence, where Typer draws a box."""
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["doctor"] and not find_spec("typer"):  # it needs torch alone, and reads its own command line
        program = [sys.executable, "-m", "course_lib.doctor", *words[1:]]
        os.execv(sys.executable, program)  # noqa: S606 - the script is the user's
    app = _build_app()
    typer: Any = extras.load("typer", extra="check")
    usage_error = typer.BadParameter.__mro__[1]  # which all of its kind derive from, and which has no public name
    try:
        return app(args=arguments, prog_name="course", standalone_mode=False) or 0
    except usage_error as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # that is no error: it has shown the help
            error.show()
            return BAD_INPUT
        command = error.ctx.command_path if error.ctx else "course"
        raise InputError(
            f"expected a command as `{command} --help` describes it, found: {error.format_message()}; correct it"
        ) from error


def _load_workers_early(words: list[str]) -> None:
    """Start the process from which ``course grade`` forks its workers, so that both load at the same time."""
    alone = re.search(r"(-j|--jobs)[ =]?1\b", " ".join(words))
    if sys.platform == "linux" and words[:1] == ["grade"] and "--help" not in words and not alone:
        from course_grader.grading.grade_class.worker_pool import start_forkserver

        start_forkserver()


def _build_app() -> Any:
    """Build the command line from its commands; its packages come with the extra ``check``."""
    typer: Any = extras.load("typer", extra="check")
    extras.load("rich", extra="check")
    app = typer.Typer(
        name="course",
        help="The Backward Pass: check and mark your notebook, grade a class, build the course.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )

    def print_version(wanted: bool) -> None:
        if wanted:
            print(f"the-backward-pass {metadata.version('the-backward-pass')}")
            raise typer.Exit

    shown = typer.Option(False, "--version", callback=print_version, is_eager=True, help="Print the version.")

    def course(*, version: bool = shown) -> None: ...

    app.callback()(course)
    for name in COMMANDS:
        command = getattr(importlib.import_module(f"course_grader.cli.commands.{name}"), name)
        # What looks like an option but is not one is an argument: points below zero, a learner called "-", or
        # whatever stands behind a script, which is the script's.
        settings = {"ignore_unknown_options": name == "points", "allow_interspersed_args": name != "doctor"}
        app.command(name, help=_unwrap_paragraphs(command.__doc__), context_settings=settings)(command)
    return app


def _unwrap_paragraphs(docstring: str) -> str:
    """Put each paragraph of a docstring on one line, so that it wraps where the terminal ends."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in inspect.cleandoc(docstring).split("\n\n"))
