"""Print to the terminal or to a file, with the same width and without control characters."""

from rich.console import Console
from rich.text import Text

from course_grader.grading.text import one_line

__all__ = ["WIDTH", "make_console", "printable_text"]

WIDTH = 100
CELL_CHARS = 600  # reports have more


def make_console(*, stderr: bool = False) -> Console:
    """Return a console as wide as the terminal, or 100 columns when the output is not one."""
    console = Console(highlight=False, stderr=stderr)
    return console if console.is_terminal else Console(highlight=False, width=WIDTH, stderr=stderr)


def printable_text(text: str, *, style: str = "") -> Text:
    r"""Return text that is safe to print: no markup, no control characters, of bounded length.

    Examples
    --------
    >>> printable_text("[red]\x1b[2J").plain
    '[red]�[2J'
    """
    return Text(one_line(text, chars=CELL_CHARS), style=style)
