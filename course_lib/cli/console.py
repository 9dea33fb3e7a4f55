"""Print tables and lines that look the same in a terminal and in a file."""

from rich.console import Console

__all__ = ["make_console"]

WIDTH = 100


def make_console(*, stderr: bool = False) -> Console:
    """Return a console as wide as the terminal, or 100 columns when the output is not one."""
    console = Console(highlight=False, stderr=stderr)
    return console if console.is_terminal else Console(highlight=False, width=WIDTH, stderr=stderr)
