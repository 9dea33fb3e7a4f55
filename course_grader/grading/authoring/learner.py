"""What a hidden test sees of a submission: functions to call, names to read, the source of an answer."""

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from course_grader.grading.authoring.points import LearnerError
from course_grader.grading.exercises.name_analysis import Reading
from course_grader.grading.kernel.kernel import Kernel
from course_grader.grading.protocol.codec import CodecError, decode, encode
from course_grader.grading.text import one_line

__all__ = ["Call", "Learner"]

MESSAGE_CHARS, NAME_CHARS = 300, 40
UNWRITTEN = " is not written yet"
MAGIC = re.compile(r"^%%(\w{1,40})", re.MULTILINE)


@dataclass(frozen=True)
class Call:
    """One call of a learner's function: what it returned, and its arguments as they were afterwards."""

    value: Any
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)


class Learner:
    """Call a learner's functions through the kernel, as the ``learner`` fixture of hidden tests.

    Values cross as data: what comes back is built here from numbers, text and arrays, so an object that claims to
    equal everything arrives as what it is.
    """

    def __init__(self, kernel: Kernel, answers: dict[str, str]) -> None:
        self._kernel, self._answers = kernel, answers
        self._read: dict[str, Any] = {}

    def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Return ``name(*args, **kwargs)`` as plain data.

        Raises
        ------
        LearnerError
            If the function is missing, raises, or returns something that is not plain data; says so to the learner.
        """
        return self.run(name, *args, **kwargs).value

    def run(self, name: str, /, *args: Any, **kwargs: Any) -> Call:
        """Call like :meth:`call`, and also return the arguments as the function left them."""
        call = encode({"args": list(args), "kwargs": kwargs})
        reply = self._request({"name": name, "call": call, "arguments": True})
        after = self._decoded(name, reply.get("call"))
        if not _same_form(after, args, kwargs):
            raise LearnerError(f"`{name}` left its arguments in a state that is not plain data")
        return Call(self._decoded(name, reply.get("value")), after["args"], after["kwargs"])

    def eval(self, name: str, /) -> Any:
        """Return the value of one of the learner's names as plain data."""
        return self._decoded(name, self._request({"name": name}).get("value"))

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

    def aside(self) -> str:
        """Say which of the answers' functions, of those that were called and returned, read data of the notebook.

        Such a function is right for what stands in the notebook, and its check may pass.
        """
        ours = self._bound()
        found = ((name, self._named(reads)) for name, reads in self._read.items() if name in ours)
        return "".join(
            f". `{name}` reads the notebook's own {read}, whatever it is given" for name, read in found if read
        )

    def _request(self, request: dict[str, Any]) -> dict[str, Any]:
        name = request["name"]
        self._kernel.doing = f"`{name}`"
        reply = self._kernel.request(request)
        match reply.get("status"):
            case "ok":
                self._read[name] = reply.get("reads")
                return reply
            case "missing":
                raise LearnerError(f"`{name}` is not defined: {self._why_missing(name)}")
            case "uncallable":
                raise LearnerError(f"`{name}` is a {_text(reply, 'type')}, not a function")
            case "opaque":
                raise LearnerError(f"`{name}` returned {_text(reply, 'message')}")
            case "raised" if reply.get("type") == "NotImplementedError":
                said = _text(reply, "message")  # what is missing may be something that this one calls
                raise LearnerError(said if said.endswith(UNWRITTEN) else f"`{name}`{UNWRITTEN}")
            case "raised":
                said = f"`{name}` raised {_text(reply, 'type')}: {_text(reply, 'message')}".rstrip(": ")
                raise LearnerError(said + self._reading(reply.get("reads")))
        raise LearnerError(f"`{name}` gave no answer that can be read")

    def _why_missing(self, name: str) -> str:
        """Say what is in the cell that should define a name: another name, or a magic that keeps what it runs."""
        cell = self._answers.get(name, "")
        if magic := MAGIC.search(cell):
            return f"its cell has a line that begins with %%{magic[1]}, and what such a cell defines may be lost"
        read = Reading.of(cell)
        others = sorted(read.bound - read.aliases.keys())[:3]
        if not others or name in others:
            return "look at what its own cell says"
        return f"its cell defines {' and '.join(f'`{other[:NAME_CHARS]}`' for other in others)}"

    def _reading(self, names: Any) -> str:
        """Say which of the notebook's data a function that failed reads."""
        read = self._named(names)
        return f". It reads the notebook's own {read}, whatever it is given" if read else ""

    def _named(self, names: Any) -> str:
        """Join the names that a function is said to read, without those that are the answers' own."""
        given, ours = names if isinstance(names, list) else [], self._bound()
        words = [name for name in given[:3] if isinstance(name, str) and name.isidentifier() and name not in ours]
        return " and ".join(f"`{name[:NAME_CHARS]}`" for name in words)

    def _bound(self) -> set[str]:
        return {name for cell in self._answers.values() for name in Reading.of(cell).bound}

    @staticmethod
    def _decoded(name: str, data: Any) -> Any:
        try:
            return decode(data)
        except CodecError as error:
            raise LearnerError(f"`{name}` returned {error}") from error


def _same_form(after: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Tell whether what came back can be the arguments: as many, under the same names."""
    if not isinstance(after, dict) or not isinstance(after.get("args"), list):
        return False
    named = after.get("kwargs")
    return len(after["args"]) == len(args) and isinstance(named, dict) and named.keys() == kwargs.keys()


def _text(reply: dict[str, Any], key: str) -> str:
    """Return the learner's own words."""
    return one_line(reply.get(key, ""), chars=MESSAGE_CHARS)


def generator(*names: str) -> np.random.Generator:
    """Return random numbers that depend on these names alone, so that a regrade sees the same inputs.

    Examples
    --------
    >>> generator("ada", "test_shapes").integers(100) == generator("ada", "test_shapes").integers(100)
    np.True_
    """
    return np.random.default_rng([*"\0".join(names).encode("utf-8", "surrogatepass")])
