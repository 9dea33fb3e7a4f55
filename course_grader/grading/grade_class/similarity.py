"""Pairs of submissions whose answers are more alike than chance explains, for a human to look at; never scored.

An answer becomes tokens, with names the learner chose, numbers and strings all made equal and comments left out, so
that renaming and reformatting change nothing. Runs of :data:`SHINGLE` tokens are its fingerprint (Broder 1997). What
the stub, the reference or half the class shares is taken out first: that is how anyone would write it.
"""

import contextlib
import io
import keyword
import re
import sys
import token
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

from course_grader.grading.exercises.answers import answers_of, collect_answers
from course_grader.grading.exercises.exercise import Exercise
from course_grader.grading.exercises.submitted_notebook import read_submission
from course_grader.grading.grade_class.find_submissions import Task
from course_lib.errors import NotebookError
from course_lib.extras import load

__all__ = ["Comparison", "Pair", "fingerprint", "similar_in", "similar_pairs"]

ALIKE = 0.6
SHINGLE = 7
FEWEST = 20  # own shingles below which two answers say too little to be compared
# Of an answer; nobody writes so much, and reading the largest that could be handed in takes minutes and gigabytes.
MOST_CHARS, MOST_TOKENS = 1_000_000, 20_000
COMMON, CROWD = 0.5, 4  # what more than half of at least four submissions share is discounted
PERMUTATIONS = 256
FEW = 60  # as many as can be compared in full sooner than datasketch is imported
SLACK = 0.2  # how far below the threshold MinHash, which estimates, still proposes a pair
# Python before 3.12 looks at each blank of a run again, for all that follow it, where no token comes after them.
RUN, INDENT, MOST_INDENT = re.compile(r"(?<=\S)[ \t\f]+"), re.compile(r"^[ \t\f]{100,}", re.MULTILINE), " " * 100
OUT = (token.COMMENT, token.NL, token.ENCODING, token.TYPE_COMMENT, token.ENDMARKER)
LINE, STARTS = "NEWLINE", ("NEWLINE", "INDENT", "DEDENT")
Shingles = frozenset[tuple[str, ...]]
Words = tuple[str, ...]
Read = dict[str, Words]  # by the name of the cell
Prints = dict[str, Shingles]


@dataclass(frozen=True)
class Pair:
    """Two learners, and how much of what is their own is the same: the Jaccard index of their fingerprints."""

    exercise: str
    first: str
    second: str
    alike: float
    cells: tuple[str, ...]


def fingerprint(code: str) -> Shingles:
    r"""Return the set of runs of normalised tokens in some code.

    Examples
    --------
    >>> one = fingerprint("def f(x):\n    y = np.exp(x)  # e\n    return y / 2")
    >>> one == fingerprint("def g( a ):\n    b = np.exp(a)\n\n    return b/3")
    True
    >>> one == fingerprint("def f(x):\n    y = np.log(x)\n    return y / 2")
    False
    """
    return _shingles(_words(code))


def _shingles(words: Words) -> Shingles:
    return frozenset(words[start : start + SHINGLE] for start in range(len(words) - SHINGLE + 1))


def _words(code: str) -> Words:
    """Return the normalised tokens, each distinct one kept in memory once: they are held until all are there."""
    tokens = islice(_tokens(code[:MOST_CHARS]), MOST_TOKENS)
    return tuple(map(sys.intern, _without_docstrings(list(tokens))))


def _tokens(code: str) -> Iterator[str]:
    """Yield tokens as far as the code can be read; attributes keep their names, since they are not the learner's."""
    before, code = "", INDENT.sub(MOST_INDENT, RUN.sub(" ", code))
    try:
        for part in tokenize.generate_tokens(io.StringIO(code).readline):
            if part.type in OUT:
                continue
            if part.type == token.ERRORTOKEN and part.string in ("'", '"'):  # Python from 3.12 on ends here, too
                return
            before = _normalised(part, before)
            yield before
    except (tokenize.TokenError, SyntaxError):
        return


def _normalised(part: tokenize.TokenInfo, before: str) -> str:
    match part.type:
        case token.NAME if not keyword.iskeyword(part.string) and before != ".":
            return "name"
        case token.NUMBER:
            return "0"
        case token.STRING:
            return "''"
        case token.NEWLINE | token.INDENT | token.DEDENT:
            return token.tok_name[part.type]
    return part.string


def _without_docstrings(tokens: list[str]) -> list[str]:
    """Drop strings that stand alone on a line: words about the code, like comments."""
    kept: list[str] = []
    for word in tokens:
        if word == LINE and kept[-1:] == ["''"] and (len(kept) == 1 or kept[-2] in STARTS):
            kept.pop()
        else:
            kept.append(word)
    return kept


def similar_in(tasks: Sequence[Task], *, at_least: float = ALIKE) -> list[Pair]:
    """Return the pairs that are alike among the submissions of a class, exercise by exercise."""
    comparison = Comparison()
    for task in tasks:
        comparison.add(task)
    return comparison.pairs(at_least=at_least)


class Comparison:
    """Submissions to be compared, each of which is read by itself: while others are graded, say."""

    def __init__(self) -> None:
        self._read: dict[Exercise, dict[str, Read]] = {}

    def add(self, task: Task) -> None:
        """Read one submission; what cannot be read is passed over, since grading says what is wrong with it."""
        if task.exercise is None or task.path is None:
            return
        with contextlib.suppress(NotebookError):
            answers, _ = collect_answers(read_submission(task.path), task.exercise.pristine())
            self._read.setdefault(task.exercise, {})[task.learner] = _read(answers)

    def pairs(self, *, at_least: float = ALIKE) -> list[Pair]:
        """Return the pairs that are alike, exercise by exercise."""
        compared = (_pairs(learners, exercise, at_least) for exercise, learners in self._read.items())
        return [pair for pairs in compared for pair in pairs]


def similar_pairs(
    submissions: Mapping[str, Mapping[str, str]], exercise: Exercise, *, at_least: float = ALIKE
) -> list[Pair]:
    """Return the pairs that are alike, most alike first.

    Parameters
    ----------
    submissions : mapping
        The answers of each learner by the name of the cell.
    exercise : Exercise
        Its stubs and reference answers are taken out of everyone's.
    at_least : float
        List pairs with at least this share of equal runs of tokens, from 0 to 1.
    """
    return _pairs({learner: _read(answers) for learner, answers in submissions.items()}, exercise, at_least)


def _pairs(read: Mapping[str, Read], exercise: Exercise, at_least: float) -> list[Pair]:
    prints = {learner: _prints(theirs) for learner, theirs in read.items()}
    whole = {learner: _whole(theirs) for learner, theirs in prints.items()}
    stub, reference = (_prints(_read(answers_of(made))) for made in (exercise.pristine(), exercise.reference()))
    shared = _whole(stub) | _whole(reference) | _crowd(whole.values())
    own = {learner: shingles - shared for learner, shingles in whole.items()}
    own = {learner: shingles for learner, shingles in own.items() if len(shingles) >= FEWEST}
    pairs = []
    for first, second in _candidates(own, at_least):
        alike = len(own[first] & own[second]) / len(own[first] | own[second])
        if alike >= at_least:
            cells = [name for name in sorted(stub) if _alike(prints[first], prints[second], name, shared) >= at_least]
            pairs.append(Pair(exercise.slug, first, second, round(alike, 3), tuple(cells)))
    return sorted(pairs, key=lambda pair: (-pair.alike, pair.first, pair.second))


def _read(answers: Mapping[str, str]) -> Read:
    return {name: _words(answer) for name, answer in answers.items()}


def _prints(read: Read) -> Prints:
    return {name: _shingles(words) for name, words in read.items()}


def _whole(prints: Prints) -> Shingles:
    return frozenset().union(*prints.values())


def _crowd(fingerprints: Iterable[Shingles]) -> Shingles:
    """Return what so many share that it says nothing about any two of them."""
    everyone = list(fingerprints)
    if len(everyone) < CROWD:
        return frozenset()
    counts = Counter(shingle for shingles in everyone for shingle in shingles)
    return frozenset(shingle for shingle, count in counts.items() if count > COMMON * len(everyone))


def _alike(one: Prints, other: Prints, name: str, shared: Shingles) -> float:
    mine, theirs = (prints.get(name, frozenset()) - shared for prints in (one, other))
    return len(mine & theirs) / len(mine | theirs) if mine and theirs else 0.0


def _candidates(own: Mapping[str, Shingles], at_least: float) -> list[tuple[str, str]]:
    """Return the pairs worth comparing in full: in a large class MinHash finds them without trying each."""
    if len(own) <= FEW:
        return list(combinations(sorted(own), 2))
    datasketch: Any = load("datasketch", extra="grade")
    index = datasketch.MinHashLSH(threshold=max(0.1, at_least - SLACK), num_perm=PERMUTATIONS)
    sketches = {}
    for learner, shingles in sorted(own.items()):
        sketches[learner] = sketch = datasketch.MinHash(num_perm=PERMUTATIONS, seed=1)
        sketch.update_batch([" ".join(shingle).encode() for shingle in sorted(shingles)])
        index.insert(learner, sketch)
    found = {tuple(sorted((learner, near))) for learner, sketch in sketches.items() for near in index.query(sketch)}
    return sorted((first, second) for first, second in found if first != second)
