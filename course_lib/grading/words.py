"""Make text from outside fit to be shown: one line, printable, encodable, of bounded length."""

__all__ = ["one_line"]


def one_line(text: object, *, chars: int = 400) -> str:
    r"""Return ``text`` on one line, with nothing in it that a terminal would obey or an encoder refuse.

    Examples
    --------
    >>> one_line("two\n lines, \x1b[31mred")
    'two lines, �[31mred'
    >>> one_line("a" * 500, chars=5)
    'aaaa…'
    """
    line = " ".join(str(text)[: 2 * chars].split())
    line = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)
    return line if len(line) <= chars else line[: chars - 1] + "\N{HORIZONTAL ELLIPSIS}"
