"""Find a learner of the roster by what a learning system says of them: by number or email, else by their name.

Systems write one name in many ways: ``Ada Lovelace``, ``Lovelace, Ada``, ``lovelaceada``. Nobody is guessed: where two
could be meant, it is neither.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from course_grader.grading.grade_class.roster import RosterEntry
from course_grader.grading.text import normalize_name

__all__ = ["Key", "RosterIndex", "email_key", "name_key", "squashed_key"]

Key = tuple[str, str]  # what it is, and its value


def email_key(email: str) -> Key:
    """Return the key of an email address."""
    return "email", email.strip().casefold()


def name_key(name: str) -> Key:
    """Return the key of a name whose words may stand in any order.

    Examples
    --------
    >>> name_key("O'Brien, Zoe Ada") == name_key("Zoe Ada OBrien")
    True
    """
    return "name", " ".join(sorted(_words(name)))


def squashed_key(name: str) -> Key:
    """Return the key of a name without blanks, as Canvas writes it; its words are known to stand in their order."""
    return "squashed", "".join(_words(name))


class RosterIndex:
    """A roster to look learners up in."""

    def __init__(self, roster: Iterable[RosterEntry]) -> None:
        self._entries: defaultdict[Key, set[RosterEntry]] = defaultdict(set)
        for entry in roster:
            for key in _keys(entry):
                self._entries[key].add(entry)

    def find(self, keys: Collection[Key], name: Key) -> RosterEntry | None:
        """Return the only learner whom a key fits, else the only one of that name.

        Numbers are given by each system on its own, so one that fits another's name is not that learner's. Where two
        numbers could be meant, the name alone says nothing.
        """
        fitting = {entry for key in keys for entry in self._entries.get(key, ())}
        named, numbers = self._entries.get(name, set()), [value for kind, value in keys if kind == "id"]
        if numbers and any(entry.name and entry not in named for entry in fitting):
            return None
        found = fitting or (named if len(numbers) < 2 else set())
        return next(iter(found)) if len(found) == 1 else None


def _keys(entry: RosterEntry) -> Iterator[Key]:
    """Yield all keys by which a learner can be found."""
    yield from [("id", entry.id)] if entry.id else []
    yield from [("number", entry.number)] if entry.number else []
    yield from [email_key(entry.email)] if entry.email else []
    if words := _words(entry.name):
        yield name_key(entry.name)
        for first in range(len(words)):  # "Ada King Lovelace" is sorted under any of her names
            yield squashed_key(" ".join(words[first:] + words[:first]))


def _words(name: str) -> list[str]:
    """Return a name's words in small letters, without the signs that one system keeps and another leaves out."""
    folded = normalize_name(name).casefold()
    kept = (
        " " if char in " _,\t" else char if char.isalnum() or unicodedata.category(char)[0] == "M" else ""
        for char in folded
    )
    return "".join(kept).split()
