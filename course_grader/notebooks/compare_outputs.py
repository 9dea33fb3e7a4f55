"""Compare two outputs: numbers as numbers, ids by their order, everything else as text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest

__all__ = ["Difference", "find_differences"]

# Digits within a word (conv2d), a version (2.13.0), a colour (#3a86c8) or a name with dots (net.0.bias) are text. The
# blanks around a number belong to it, since they make room for its digits, and so does the point of NumPy's "1.".
NUMBER = re.compile(
    r" *(?<![\w.#])(?P<number>(?:(?<![)\]])[-+\u2212])?(?:[1-9]\d{0,2}(?:,\d{3})+|\d+|(?=\.\d))(?:\.\d+)?(?!\.?\d)"
    r"(?:[eE][-+]?\d+(?!\w))?)\.?(?!\d) *"
)
COORDINATE = re.compile(r"(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)")  # in a path, letters are commands
MARKUP = re.compile(r"(<(?:script|style)\b.*?</(?:script|style)>|<[a-zA-Z/!][^>]*>)", re.DOTALL)
COORDINATES = re.compile(r'(?<= )((?:d|points|transform|viewBox)="[^"]*")')
ID = re.compile(r'\sid="([^"]*)"')
# Where one id is given or referred to, or several are.
IDS = re.compile(
    r'(?P<before>url\(#|\s(?:xlink:)?href="#|\s(?:id|for|aria-labelledby|aria-describedby|aria-controls)=")(?P<ids>[^")]*)'
)
AROUND = 40  # characters shown on either side of a difference


@dataclass(frozen=True)
class Difference:
    """One difference of an output from the committed one, with the text around it in both."""

    committed: str
    came: str


@dataclass(frozen=True)
class _Token:
    text: str
    start: int
    number: str = ""  # as printed; empty if this is text
    padding: str = ""

    @property
    def value(self) -> Decimal:
        return Decimal(self.number.replace(",", "").replace("\u2212", "-"))

    @property
    def is_whole(self) -> bool:
        """Tell whether it may count something: no digits after the point, no exponent."""
        return not re.search(r"[.eE]", self.number)

    @property
    def last_digit(self) -> Decimal:
        """The value of one in the last printed digit."""
        return Decimal(1).scaleb(int(self.value.as_tuple().exponent))


def find_differences(committed: str, came: str, *, markup: bool = False, within: float = 0.0) -> list[Difference]:
    """Find the places where two outputs differ.

    Numbers with digits after the point, or an exponent, may differ by one in the last digit printed on either side,
    unless that is one of the first two: rounding in another order moves no more. Whole numbers and words are compared
    exactly, and so are blanks, unless a number has changed its width.

    Parameters
    ----------
    committed, came : str
        The output that is stored, and the one of another run.
    markup : bool
        Whether these are HTML or SVG: then ids are compared by the order in which they appear, and their references
        with them.
    within : float
        How far a number may be off, relative to the larger of the two, where that is more.

    Returns
    -------
    list of Difference
        Every number that differs, up to where the words around them do.

    Examples
    --------
    >>> find_differences("loss 9.99, 3 steps", "loss 10.0, 3 steps")
    []
    >>> find_differences("loss 9.99, 3 steps", "loss 9.99, 4 steps")
    [Difference(committed='loss 9.99, 3 steps', came='loss 9.99, 4 steps')]
    """
    if markup:
        committed, came = _number_ids(committed), _number_ids(came)
    pairs = list(zip_longest(_tokenize(committed, markup), _tokenize(came, markup)))
    shifted = any(a and b and a.number and b.number and len(a.number) != len(b.number) for a, b in pairs)
    found = []
    for a, b in pairs:
        if not _tokens_agree(a, b, within=within, shifted=shifted):
            found.append(Difference(_excerpt(committed, a), _excerpt(came, b)))
            if not (a and b and a.number and b.number):
                break  # from here on, nothing stands beside what it was
    return found


def _number_ids(markup: str) -> str:
    """Number ids by the order in which they are defined, in definitions and references."""
    names = {name: f"id{i}" for i, name in enumerate(dict.fromkeys(ID.findall(markup)))}
    return IDS.sub(lambda at: at["before"] + " ".join(names.get(one, one) for one in at["ids"].split(" ")), markup)


def _tokenize(text: str, markup: bool) -> Iterator[_Token]:
    """Cut a text into numbers and the text between them."""
    start = 0
    for piece, pattern in _split_markup(text) if markup else [(text, NUMBER)]:
        end = 0
        for found in pattern.finditer(piece) if pattern else ():
            yield _Token(piece[end : found.start()], start + end)
            before, _, after = found[0].partition(found["number"])
            yield _Token(found[0], start + found.start(), found["number"], padding=f"{before}|{after}")
            end = found.end()
        yield _Token(piece[end:], start + end)
        start += len(piece)


def _split_markup(markup: str) -> Iterator[tuple[str, re.Pattern[str] | None]]:
    """Cut markup into text, tags, coordinates and scripts, each with the pattern of its numbers."""
    for i, piece in enumerate(MARKUP.split(markup)):
        if i % 2 == 0:
            yield piece, NUMBER
        elif piece.startswith(("<script", "<style")):
            yield piece, None
        else:
            for j, part in enumerate(COORDINATES.split(piece)):
                yield part, COORDINATE if j % 2 else NUMBER


def _tokens_agree(a: _Token | None, b: _Token | None, *, within: float, shifted: bool) -> bool:
    if a is None or b is None or bool(a.number) != bool(b.number):
        return False
    if a.text == b.text:
        return True
    if not a.number:
        return shifted and _squeeze(a.text) == _squeeze(b.text)
    return (shifted or a.padding == b.padding) and _numbers_agree(a, b, within)


def _squeeze(text: str) -> str:
    """Shorten runs of blanks, and the rules of tables, to one character."""
    return re.sub(r"([ \-─═])\1+", r"\1", text)


def _numbers_agree(a: _Token, b: _Token, within: float) -> bool:
    if a.is_whole and b.is_whole:
        return a.number == b.number
    if a.value == b.value:
        return True
    larger = max(abs(a.value), abs(b.value))
    unit, second = min(a.last_digit, b.last_digit), Decimal(1).scaleb(larger.adjusted() - 1)
    return abs(a.value - b.value) <= max(unit if unit < second else 0, Decimal(within) * larger)


def _excerpt(text: str, token: _Token | None) -> str:
    """Cut out the token with a little text on either side."""
    if token is None:
        return "nothing more"
    start, end = max(token.start - AROUND, 0), token.start + min(len(token.text), AROUND) + AROUND
    return f"{'...' if start else ''}{text[start:end]}{'...' if end < len(text) else ''}"
