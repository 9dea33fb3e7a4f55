"""Similarity of submissions: pairs more alike than chance explains, for a human to look at; never scored.

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

__all__ = ["Comparison", "Pair", "find_similar", "find_similar_answers", "fingerprint"]

THRESHOLD = 0.6
SHINGLE = 7
FEWEST_SHINGLES = 20  # own shingles below which two answers say too little to be compared
# Of an answer; nobody writes so much, and reading the largest that could be handed in takes minutes and gigabytes.
MOST_CHARS, MOST_TOKENS = 1_000_000, 20_000
COMMON_SHARE, FEWEST_IN_CROWD = 0.5, 4  # what more than half of at least four submissions share is discounted
PERMUTATIONS = 256
MOST_IN_FULL = 60  # as many as can be compared in full sooner than datasketch is imported
SLACK = 0.2  # how far below the threshold MinHash, which estimates, still proposes a pair
# Python before 3.12 looks at each blank of a run again, for all that follow it, where no token comes after them.
BLANKS, INDENT, MOST_INDENT = re.compile(r"(?<=\S)[ \t\f]+"), re.compile(r"^[ \t\f]{100,}", re.MULTILINE), " " * 100
IGNORED_TOKENS = (token.COMMENT, token.NL, token.ENCODING, token.TYPE_COMMENT, token.ENDMARKER)
LINE, LINE_STARTS = "NEWLINE", ("NEWLINE", "INDENT", "DEDENT")
Shingles = frozenset[tuple[str, ...]]
Tokens = tuple[str, ...]
AnswerTokens = dict[str, Tokens]  # by the name of the cell
Fingerprints = dict[str, Shingles]


@dataclass(frozen=True)
class Pair:
    """Two learners, and the Jaccard index of the fingerprints of what is their own."""

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
    return _make_shingles(_normalise_code(code))


def _make_shingles(tokens: Tokens) -> Shingles:
    return frozenset(tokens[start : start + SHINGLE] for start in range(len(tokens) - SHINGLE + 1))


def _normalise_code(code: str) -> Tokens:
    """Return the normalised tokens of code, each distinct one in memory once: all are kept for the comparison."""
    tokens = islice(_iterate_tokens(code[:MOST_CHARS]), MOST_TOKENS)
    return tuple(map(sys.intern, _drop_docstrings(list(tokens))))


def _iterate_tokens(code: str) -> Iterator[str]:
    """Yield tokens as far as the code can be read; attributes keep their names, since they are not the learner's."""
    before, code = "", INDENT.sub(MOST_INDENT, BLANKS.sub(" ", code))
    try:
        for part in tokenize.generate_tokens(io.StringIO(code).readline):
            if part.type in IGNORED_TOKENS:
                continue
            if part.type == token.ERRORTOKEN and part.string in ("'", '"'):  # Python from 3.12 on ends here, too
                return
            before = _normalise_token(part, before)
            yield before
    except (tokenize.TokenError, SyntaxError):
        return


def _normalise_token(part: tokenize.TokenInfo, before: str) -> str:
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


def _drop_docstrings(tokens: list[str]) -> list[str]:
    """Drop strings that stand alone on a line: words about the code, like comments."""
    kept: list[str] = []
    for word in tokens:
        if word == LINE and kept[-1:] == ["''"] and (len(kept) == 1 or kept[-2] in LINE_STARTS):
            kept.pop()
        else:
            kept.append(word)
    return kept


def find_similar(tasks: Sequence[Task], *, at_least: float = THRESHOLD) -> list[Pair]:
    """Return the pairs that are alike among the submissions of a class, exercise by exercise."""
    comparison = Comparison()
    for task in tasks:
        comparison.add(task)
    return comparison.pairs(at_least=at_least)


class Comparison:
    """Compare submissions; each is read by itself, while others are graded, say."""

    def __init__(self) -> None:
        self._read: dict[Exercise, dict[str, AnswerTokens]] = {}

    def add(self, task: Task) -> None:
        """Read one submission; skip one that cannot be read, since its report says so."""
        if task.exercise is None or task.path is None:
            return
        with contextlib.suppress(NotebookError):
            answers, _ = collect_answers(read_submission(task.path), answers_of(task.exercise.pristine()))
            self._read.setdefault(task.exercise, {})[task.learner] = _normalise_answers(answers)

    def pairs(self, *, at_least: float = THRESHOLD) -> list[Pair]:
        """Return the pairs that are alike, exercise by exercise."""
        compared = (_find_pairs(learners, exercise, at_least) for exercise, learners in self._read.items())
        return [pair for pairs in compared for pair in pairs]


def find_similar_answers(
    submissions: Mapping[str, Mapping[str, str]], exercise: Exercise, *, at_least: float = THRESHOLD
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
    tokens = {learner: _normalise_answers(answers) for learner, answers in submissions.items()}
    return _find_pairs(tokens, exercise, at_least)


def _find_pairs(tokens: Mapping[str, AnswerTokens], exercise: Exercise, at_least: float) -> list[Pair]:
    prints = {learner: _make_fingerprints(answers) for learner, answers in tokens.items()}
    merged = {learner: _merge_fingerprints(cells) for learner, cells in prints.items()}
    notebooks = (exercise.pristine(), exercise.reference())
    stub, reference = (_make_fingerprints(_normalise_answers(answers_of(notebook))) for notebook in notebooks)
    shared = _merge_fingerprints(stub) | _merge_fingerprints(reference) | _find_common(merged.values())
    own = {learner: shingles - shared for learner, shingles in merged.items()}
    own = {learner: shingles for learner, shingles in own.items() if len(shingles) >= FEWEST_SHINGLES}
    pairs = []
    for first, second in _candidate_pairs(own, at_least):
        alike = len(own[first] & own[second]) / len(own[first] | own[second])
        if alike >= at_least:
            both = prints[first], prints[second]
            cells = [name for name in sorted(stub) if _compare_cell(*both, name, shared) >= at_least]
            pairs.append(Pair(exercise.slug, first, second, round(alike, 3), tuple(cells)))
    return sorted(pairs, key=lambda pair: (-pair.alike, pair.first, pair.second))


def _normalise_answers(answers: Mapping[str, str]) -> AnswerTokens:
    return {name: _normalise_code(answer) for name, answer in answers.items()}


def _make_fingerprints(answers: AnswerTokens) -> Fingerprints:
    return {name: _make_shingles(tokens) for name, tokens in answers.items()}


def _merge_fingerprints(prints: Fingerprints) -> Shingles:
    return frozenset().union(*prints.values())


def _find_common(fingerprints: Iterable[Shingles]) -> Shingles:
    """Return the shingles that so many share that they say nothing about any two of them."""
    everyone = list(fingerprints)
    if len(everyone) < FEWEST_IN_CROWD:
        return frozenset()
    counts = Counter(shingle for shingles in everyone for shingle in shingles)
    return frozenset(shingle for shingle, count in counts.items() if count > COMMON_SHARE * len(everyone))


def _compare_cell(one: Fingerprints, other: Fingerprints, name: str, shared: Shingles) -> float:
    first, second = (prints.get(name, frozenset()) - shared for prints in (one, other))
    return len(first & second) / len(first | second) if first and second else 0.0


def _candidate_pairs(own: Mapping[str, Shingles], at_least: float) -> list[tuple[str, str]]:
    """Return the pairs worth comparing in full: in a large class MinHash finds them without trying each."""
    if len(own) <= MOST_IN_FULL:
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
