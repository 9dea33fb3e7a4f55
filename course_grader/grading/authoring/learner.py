"""Call a learner's functions from a hidden test, and read their values and the source of their answers."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from course_grader.grading.authoring.dependents import remove_definitions
from course_grader.grading.authoring.learner_words import LearnerWords, confide
from course_grader.grading.authoring.points import LearnerError
from course_grader.grading.exercises.name_analysis import CellNames
from course_grader.grading.exercises.ungraded_cells import UNDEFINED, UNWRITTEN, missing_names
from course_grader.grading.protocol.codec import MAX_DEPTH, MAX_ITEMS, MAX_PAIRS, CodecError, decode, encode
from course_grader.grading.text import one_line, quote

__all__ = ["AnswersRequests", "Call", "Learner", "random_generator"]

MESSAGE_CHARS, NAME_CHARS = 300, 40
MAGIC = re.compile(r"^%%(\w{1,40})", re.MULTILINE)
# What the learner's side of the codec says of a value: of some, nothing but their type.
UNFIT = re.compile(
    r"an? (\w{1,40}), which (cannot be turned into an array|is not plain data \(numbers, text, lists, dicts, arrays\))"
)
TOO_MUCH = {
    f"data nested more than {MAX_DEPTH} deep",
    f"a dict of more than {MAX_PAIRS:,} items",
    *(f"a {kind} of more than {MAX_ITEMS:,} items; an array may have more" for kind in ("list", "tuple", "dict")),
}
# What to look at where NumPy, torch or JAX refuse shapes; which of the two it was is no more than the line tells.
SHAPES = {
    re.compile(r"mismatch in its core dimension|not aligned|cannot be multiplied|contracting dimensions"): (
        "the shapes in a product do not fit: look for a missing transpose, or an axis of length 1 that is gone"
    ),
    re.compile(r"be broadcast together|must match the size of tensor|shapes for broadcasting"): (
        "shapes do not go together: look for an axis summed away without keepdims, or a wrong axis"
    ),
}


class AnswersRequests(Protocol):
    """What runs a learner's code: the grader's kernel, or for marking oneself this very process."""

    activity: str

    def request(self, content: dict[str, Any], /) -> dict[str, Any]:
        """Look up or call a name, as :mod:`course_grader.grading.learner_side.handle_request` does."""


@dataclass(frozen=True)
class Call:
    """The value that a learner's function returned, and its arguments as they were afterwards."""

    value: Any
    args: list[object] = field(default_factory=list)
    kwargs: dict[str, object] = field(default_factory=dict)


class Learner:
    """Call a learner's functions through the kernel, as the ``learner`` fixture of hidden tests.

    Values cross as data: what comes back is built here from numbers, text and arrays, so an object that claims to
    equal everything arrives as what it is.
    """

    def __init__(self, kernel: AnswersRequests, answers: dict[str, str], *, instead: str = "") -> None:
        self._kernel, self._answers, self._instead = kernel, answers, instead
        self._words = LearnerWords(answers)
        self._reads: dict[str, object] = {}

    def resting_on(self, source: str, /) -> "Learner":
        """Return the same learner with right versions of some functions, those that ``source`` defines."""
        return Learner(self._kernel, remove_definitions(self._answers, CellNames.of(source).bound), instead=source)

    def call(self, name: str, /, *args: object, **kwargs: object) -> Any:
        """Return ``name(*args, **kwargs)`` as plain data.

        Raises
        ------
        LearnerError
            If the function is missing, raises, or returns something that is not plain data; says so to the learner.
        """
        return self.run(name, *args, **kwargs).value

    def run(self, name: str, /, *args: object, **kwargs: object) -> Call:
        """Call like :meth:`call`, and also return the arguments as the function left them."""
        call = encode({"args": list(args), "kwargs": kwargs})
        instead = {"instead": self._instead} if self._instead else {}
        reply = self._request({"name": name, "call": call, "arguments": True, **instead})
        after = self._decode(name, reply.get("call"))
        if not _has_same_form(after, args, kwargs):
            raise LearnerError(f"`{name}` left its arguments in a state that is not plain data", function=name)
        return Call(self._decode(name, reply.get("value")), after["args"], after["kwargs"])

    def eval(self, name: str, /) -> Any:
        """Return the value of one of the learner's names as plain data."""
        return self._decode(name, self._request({"name": name}).get("value"))

    def source(self, cell: str, /) -> str:
        """Return the text of one of the learner's answer cells; empty if they left it out.

        Raises
        ------
        LookupError
            If the exercise has no such cell: the test is at fault, and must not pass for having looked at nothing.
        """
        if cell not in self._answers:
            raise LookupError(
                f"learner.source() takes an answer cell, one of {', '.join(self._answers)}, but got {cell!r}. Correct "
                "the test."
            )
        return self._answers[cell]

    def hardcoded_data_note(self) -> str:
        """Name the answers' functions, of those that were called and returned, that read data of the notebook.

        Such a function is right for the data in the notebook, and its check may pass.
        """
        own = self._words.bound
        data = {name: self._data_names(reads) for name, reads in self._reads.items() if name in own}
        return "".join(
            f". `{name}` reads the notebook's own {_join_code(reads)}, whatever it is given"
            for name, reads in data.items()
            if reads
        )

    def _request(self, request: dict[str, object]) -> dict[str, object]:
        name = str(request["name"])
        self._kernel.activity = f"`{name}`"
        reply = self._kernel.request(request)
        match reply.get("status"):
            case "ok":
                self._reads[name] = reply.get("reads")
                return reply
            case "missing":
                raise LearnerError(
                    f"`{name}` is not defined: {self._why_missing(name)}", function=name, missing=(name,)
                )
            case "uncallable":
                raise LearnerError(f"`{name}` is {self._describe_type(reply)}, not a function", function=name)
            case "opaque":
                raise LearnerError(f"`{name}` returned {self._describe_unfit(reply)}", function=name)
            case "raised" if reply.get("type") == "NotImplementedError":
                raise self._unwritten_error(name, _reply_text(reply, "message"))
            case "raised":
                raise self._raised_error(name, reply)
        raise LearnerError(f"`{name}` gave no answer that can be read", function=name)

    def _raised_error(self, name: str, reply: dict[str, object]) -> LearnerError:
        kind, said, line = (_reply_text(reply, part) for part in ("type", "message", "line"))
        reads, line = self._data_names(reply.get("reads")), self._words.find_line(reply.get("line"))
        missing = tuple(missed for missed in missing_names(said) if missed in self._words.used)
        known = self._words.has_type(kind)
        message = f"`{name}` raised " + (kind if known else f"an exception{confide(f' ({kind})')}")
        if UNDEFINED.fullmatch(said) and missing:
            message += f": {said}"
        else:
            message += (f" in its line `{line}`" if line else "") + (confide(f": {quote(said)}") if said else "")
            message += ": what it imports is not there where it is graded" if kind == "ModuleNotFoundError" else ""
            message += "".join(f": {hint}" for pattern, hint in SHAPES.items() if pattern.search(said))
        if reads:
            message += f". It reads the notebook's own {_join_code(reads)}, whatever it is given"
        return LearnerError(message, function=name, raised=kind if known else "Exception", missing=missing, reads=reads)

    def _unwritten_error(self, name: str, said: str) -> LearnerError:
        """Return the error for a stub; it may be another function, which this one calls, and ``said`` then names it."""
        stub = UNWRITTEN.fullmatch(said)
        missing = stub[1] if stub and (stub[1] in self._answers or stub[1] in self._words.used) else name
        return LearnerError(f"`{missing}` is not written yet", function=name, missing=(missing,), unwritten=True)

    def _describe_type(self, reply: dict[str, object]) -> str:
        kind = _reply_text(reply, "type")
        return f"a {kind}" if self._words.has_type(kind) else f"an object{confide(f' ({kind})')}"

    def _describe_unfit(self, reply: dict[str, object]) -> str:
        """Say why a value is not plain data, in the codec's own words: the reply may hold anything in their place."""
        said = _reply_text(reply, "message")
        if said in TOO_MUCH:
            return said
        if unfit := UNFIT.fullmatch(said):
            return said if self._words.has_type(unfit[1]) else f"an object{confide(f' ({unfit[1]})')}, which {unfit[2]}"
        return f"something that is not plain data{confide(f' ({said})')}"

    def _why_missing(self, name: str) -> str:
        """Explain an undefined name by its cell, which defines another name, or has a magic that keeps what it runs."""
        cell = self._answers.get(name, "")
        if magic := MAGIC.search(cell):
            return f"its cell has a line that begins with %%{magic[1]}, and what such a cell defines may be lost"
        read = CellNames.of(cell)
        others = sorted(read.bound - read.aliases.keys())[:3]
        if not others or name in others:
            return "look at what its own cell says"
        return f"its cell defines {_join_code(others)}"

    def _data_names(self, reads: object) -> tuple[str, ...]:
        """Return the names that a function is said to read, without those that are the answers' own."""
        given, words = reads if isinstance(reads, list) else [], self._words
        return tuple(name for name in given[:3] if isinstance(name, str) and name in words.used - words.bound)

    @staticmethod
    def _decode(name: str, data: object) -> Any:
        try:
            return decode(data)
        except CodecError as error:
            raise LearnerError(f"`{name}` returned {error}", function=name) from error


def _has_same_form(after: object, args: tuple[object, ...], kwargs: dict[str, object]) -> bool:
    """Tell whether the values sent back can be the arguments: as many, under the same names."""
    if not isinstance(after, dict) or not isinstance(after.get("args"), list):
        return False
    named = after.get("kwargs")
    return len(after["args"]) == len(args) and isinstance(named, dict) and named.keys() == kwargs.keys()


def _reply_text(reply: dict[str, object], key: str) -> str:
    """Return the learner's own words."""
    return one_line(reply.get(key, ""), chars=MESSAGE_CHARS)


def _join_code(names: Iterable[str]) -> str:
    return " and ".join(f"`{name[:NAME_CHARS]}`" for name in names)


def random_generator(*names: str) -> np.random.Generator:
    """Seed a generator of random numbers by these names alone, so that a regrade sees the same inputs.

    Examples
    --------
    >>> random_generator("ada", "test_shapes").integers(100) == random_generator("ada", "test_shapes").integers(100)
    np.True_
    """
    return np.random.default_rng([*"\0".join(names).encode("utf-8", "surrogatepass")])
