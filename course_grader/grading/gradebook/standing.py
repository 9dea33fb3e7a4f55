"""Where a learner stands at an exercise: the line that a table has of a final grade, without the results behind it."""

import json
from typing import NamedTuple, Protocol

__all__ = ["GradeLine", "KeptStanding", "Standing"]


_DECODER = json.JSONDecoder()


class GradeLine(Protocol):
    """What tables need of a grade: a :class:`Standing` has it, and so has a ``FinalGrade``.

    ``attempts`` counts those that are recorded. ``digest`` is another as soon as anything on a report would be.
    ``is_absent`` tells whether nothing was handed in and no points were given by hand.
    """

    @property
    def learner(self) -> str: ...  # noqa: D102 - what it is, its name says
    @property
    def exercise(self) -> str: ...  # noqa: D102
    @property
    def points(self) -> float: ...  # noqa: D102
    @property
    def max_points(self) -> float: ...  # noqa: D102
    @property
    def status(self) -> str: ...  # noqa: D102
    @property
    def sandbox(self) -> str: ...  # noqa: D102
    @property
    def messages(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def attempts(self) -> int: ...  # noqa: D102
    @property
    def digest(self) -> str: ...  # noqa: D102
    @property
    def is_absent(self) -> bool: ...  # noqa: D102


class Standing(NamedTuple):  # a class has a hundred thousand of them, and a tuple takes a fifth of a dataclass's time
    """A line of a class's tables; the fields are those of :class:`GradeLine`, ``said`` the messages as JSON."""

    learner: str
    exercise: str
    points: float
    max_points: float
    status: str
    sandbox: str
    said: str
    attempts: int
    digest: str

    @property
    def is_absent(self) -> bool:
        """Whether nothing was handed in and no points were given by hand."""
        return self.status == "missing" and len(self.messages) <= 1  # points by hand have their reasons there

    @property
    def messages(self) -> tuple[str, ...]:
        """What the learner is told; read when it is asked for, which is most of the time that a line takes."""
        return tuple(_DECODER.raw_decode(self.said)[0])

    @classmethod
    def of(cls, grade: GradeLine) -> "Standing":
        """Return the line of a final grade."""
        values = {name: getattr(grade, name) for name in cls._fields if name != "said"}
        return cls(**values, said=json.dumps(grade.messages))


class KeptStanding(NamedTuple):
    """A standing as the gradebook keeps it, and what it was computed from.

    ``changed`` counts the changes of this learner's attempts, times and points by hand; ``made_from`` is what that was
    when the standing was computed, ``rules`` names the rules it was computed by.
    """

    standing: Standing
    changed: int
    made_from: int
    rules: str

    @property
    def pair(self) -> tuple[str, str]:
        """The learner and the exercise."""
        return self.standing[:2]
