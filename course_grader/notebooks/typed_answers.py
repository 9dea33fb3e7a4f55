"""What a reader may answer to a question, and what each mistake was.

An ``answer`` block may begin with fields, before its first empty line. A field takes a number or a choice::

    :::{answer} 1
    :number: `x.grad` = 3.0 ± 0.1 MiB
    - 2 -> Why somebody would answer 2, and what they missed.
    - > 9 -> What all above 9 have missed.
    :choice: And what does the second call do?
    - [ ] It adds -> What they missed.
    - [x] It raises

    The author's words.
    :::

A number holds as far as its last digit after the point, or within ``±``; a whole number holds exactly. What stands
before ``=``, or beside ``:choice:``, tells several fields of one question apart.

An order is ``- [x] WHAT -> why not earlier`` for each thing, in the right order. What is right lights up in a
warm-up: ``[>]`` in the colour of the forward pass, ``[<]`` in that of the backward pass, ``[x]`` in none.
"""

import hashlib
import re
import sys
from dataclasses import dataclass, replace

from course_lib.errors import NotebookError

__all__ = ["Field", "Option", "split_answer"]

FIELD = re.compile(r":(number|choice|order):\s*(.*)")
DECIMAL = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
ACCEPTED = re.compile(rf"(?:(?P<label>.+) = )?(?P<span>{DECIMAL}(?: ± {DECIMAL})?)(?:\s?(?P<unit>[^\d\s.].*))?")
SPAN = re.compile(rf"(?P<side>[<>] )?(?P<value>{DECIMAL})(?: (?P<to>to|±) (?P<other>{DECIMAL}))?")
CHOICE = re.compile(r"\[([ x<>])\] (.+)")
TONES = {">": "fwd", "<": "bwd"}
SIDES = {"< ": "less than", "> ": "more than"}
LARGEST = sys.float_info.max  # JSON has no infinity


@dataclass(frozen=True)
class Option:
    """One answer, as Markdown: ``why`` it is a mistake, empty if it is right; a number's ``span`` holds its ends.

    In an order ``why`` says what must come before. ``tone`` is the pass that the option belongs to, if any.
    """

    text: str
    why: str = ""
    span: tuple[float, float] | None = None
    tone: str = ""


@dataclass(frozen=True)
class Field:
    """What a reader fills: a number, whose right ``Option`` comes first, a choice among options, or their order."""

    kind: str
    label: str
    options: tuple[Option, ...]
    unit: str = ""

    @property
    def right(self) -> int:
        """The place of the right option."""
        return next(i for i, option in enumerate(self.options) if not option.why)

    @property
    def shown(self) -> list[int]:
        """The places of the options in the order in which a reader sees them."""
        places = list(range(len(self.options)))
        if self.kind != "order":
            return places
        mixed = sorted(places, key=lambda place: hashlib.sha256(self.options[place].text.encode()).digest())
        return mixed if mixed != places else mixed[::-1]

    def as_question(self) -> str:
        """Return as Markdown what may stand above the fold: the choices, of which none is marked."""
        shown = [] if self.kind == "number" else [self.options[place].text for place in self.shown]
        listed = ["\n".join(f"- {text}" for text in shown)] if shown else []
        return "\n\n".join([*([self.label] if self.label else []), *listed])

    def as_solution(self) -> str:
        """Return as Markdown what belongs into the fold of a warm-up: what is right, and what each mistake was."""
        if self.kind == "order":
            steps = [f"1. **{o.text}**" + (f": {o.why}" if o.why else "") for o in self.options]
            return "\n\n".join([self.label, "\n".join(steps)])
        right = f"{self.label}{'' if self.label[-1:] in '?:' else ':'} **{self.options[self.right].text}**"
        return f"{right}\n\n{replace(self, label='').as_diagnoses()}"

    def as_diagnoses(self) -> str:
        """Return as Markdown what belongs into the fold: each mistake, and what it was."""
        listed = "\n".join(f"- **{o.text.removesuffix('.')}**: {o.why}" for o in self.options if o.why)
        return f"{self.label}\n\n{listed}" if self.label else listed


def split_answer(body: str) -> tuple[list[Field], str]:
    r"""Split what an ``answer`` block holds into its fields and its words.

    Raises
    ------
    NotebookError
        If a field is not of the form above, has not exactly one right answer, or a wrong one says not what it missed.

    Examples
    --------
    >>> [field], words = split_answer(":number: 3\n- 2 -> The sum sends 1.\n\nThe product sends 2.")
    >>> field.options[1].why, words
    ('The sum sends 1.', 'The product sends 2.')
    """
    body = body.strip()
    if not FIELD.match(body):
        return [], body
    head, _, words = body.partition("\n\n")
    fields: list[list[str]] = []
    for line in re.sub(r"\n\s+", " ", head).splitlines():  # an indented line goes on with the one before
        if FIELD.match(line):
            fields.append([line])
        elif line.startswith("- "):
            fields[-1].append(line[2:])
        else:
            raise NotebookError(f"a field's line is :number:, :choice: or begins with -, but got {line!r}; indent it")
    if not words.strip():
        raise NotebookError(f"an answer says why in words, but below {head.splitlines()[0]!r} are none; write them")
    return [_read_field(first, rest) for first, *rest in fields], words.strip()


def _read_field(first: str, rest: list[str]) -> Field:
    kind, said = FIELD.fullmatch(first).groups()  # type: ignore[union-attr] # the caller has matched it
    if kind == "order":
        field = Field(kind, said, tuple(map(_read_step, rest)))
        _check_order(field, first)
        return field
    field = _read_number(said, rest) if kind == "number" else Field(kind, said, tuple(map(_read_choice, rest)))
    _check(field, first)
    return field


def _check_order(field: Field, first: str) -> None:
    """Refuse an order in which something other than the first says not what must come before it."""
    reasons = [option.why for option in field.options]
    if len(reasons) < 3 or reasons[0] or not all(reasons[1:]) or len(set(reasons)) < len(reasons):
        raise NotebookError(
            f"{first}: at least three in order, and each but the first says after -> why not earlier, but got {reasons}"
        )


def _check(field: Field, first: str) -> None:
    """Refuse a field that has no answer, several, or a mistake without a diagnosis of its own."""
    reasons = [option.why for option in field.options]
    if reasons.count("") != 1 or len(reasons) < 2 or len(set(reasons)) < len(reasons):
        raise NotebookError(
            f"{first}: one answer is right, and each other has a diagnosis of its own after ->, but got {reasons}"
        )
    right = field.options[field.right].span
    for option in field.options[1:]:
        if right and option.span and option.span[0] <= sum(right) / 2 <= option.span[1]:
            raise NotebookError(f"{first}: {option.text} holds the right answer; name a mistake that does not")


def _read_choice(line: str) -> Option:
    text, _, why = line.partition(" -> ")
    if not (found := CHOICE.fullmatch(text)) or (found[1] != " ") == bool(why):
        raise NotebookError(f"a choice is '- [x] right' or '- [ ] wrong -> what was missed', but got {line!r}")
    return Option(found[2], why, tone=TONES.get(found[1], ""))


def _read_step(line: str) -> Option:
    text, _, why = line.partition(" -> ")
    if not (found := CHOICE.fullmatch(text)) or found[1] == " ":
        raise NotebookError(f"a thing in an order is '- [x] WHAT -> why not earlier', or [>], [<], but got {line!r}")
    return Option(found[2], why, tone=TONES.get(found[1], ""))


def _read_number(said: str, rest: list[str]) -> Field:
    if not (found := ACCEPTED.fullmatch(said)):
        raise NotebookError(f"a number is ':number: LABEL = 3.0 ± 0.1 UNIT', of which 3.0 is needed, but got {said!r}")
    unit = found["unit"] or ""
    after = f"{'' if unit == '%' else ' '}{unit}".rstrip()
    options = [Option(found["span"], span=_read_span(found["span"]))]
    for line in rest:
        text, _, why = line.partition(" -> ")
        if not (given := SPAN.fullmatch(text)):
            raise NotebookError(f"a wrong number is '- 2 -> what was missed', or '- > 2', '- 2 to 3', but got {line!r}")
        shown = f"{SIDES[given['side']]} {given['value']}" if given["side"] else text
        options.append(Option(f"{shown}{after}", why, _read_span(text)))
    return Field("number", found["label"] or "", tuple(options), unit)


def _read_span(text: str) -> tuple[float, float]:
    """Return the ends of what ``text`` takes in: ``2``, ``2.0 ± 0.1``, ``2 to 3``, ``< 2`` or ``> 2``."""
    found = SPAN.fullmatch(text)
    assert found
    value, digits = float(found["value"]), re.search(r"\.(\d+)", found["value"])
    if found["side"]:
        return (-LARGEST, value) if found["side"] == "< " else (value, LARGEST)
    if found["to"] == "to":
        return value, float(found["other"])
    exponent = int(found["value"].partition("e")[2] or 0)
    within = float(found["other"]) if found["to"] else 0.5 * 10.0 ** (exponent - len(digits[1])) if digits else 0.0
    return value - within, value + within
