"""Compute the grades of a class: those of the learners who have changed, and the others as they were computed last."""

import functools
import hashlib
import heapq
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from typing import TypeVar

import course_lib
from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.gradebook.attempts import Attempt, ManualPoints
from course_grader.grading.gradebook.final_grade import DIGEST_CHARS, FinalGrade, compute_final_grade
from course_grader.grading.gradebook.gradebook import Gradebook
from course_grader.grading.gradebook.late_policy import Policies, Policy
from course_grader.grading.gradebook.standing import KeptStanding, Standing

__all__ = ["LEARNERS_AT_ONCE", "Standings", "batched", "compute_final_grades", "is_unrecorded"]

ABSENT = "nothing was handed in"
NOBODY = ("", "")  # comes before every learner and exercise
ROWS_AT_ONCE = 2_000
LEARNERS_AT_ONCE = 200
RECORDED = ("graded", "stopped")
T = TypeVar("T")


class Standings:
    """The grades of a class in a gradebook; to be read as often as one likes, in bounded memory.

    Iterating yields a line for each learner and exercise, in this order: what the gradebook keeps of those that have
    not changed, and what is computed now, and kept, of the others.

    Parameters
    ----------
    book : Gradebook
        Open for as long as they are read.
    reports : iterable of SubmissionReport
        Those of this run: who handed nothing in, and where grading itself failed, is in no gradebook.
    policies : Policies
        The rules. Everyone in its roster has a line at every exercise.

    Examples
    --------
    >>> from course_grader.grading.gradebook import Gradebook
    >>> with Gradebook(":memory:") as book:
    ...     [line.status for line in Standings(book, [SubmissionReport("ada", "double", "missing", 0, 2)])]
    ['missing']
    """

    def __init__(
        self, book: Gradebook, reports: Iterable[SubmissionReport] = (), policies: Policies | None = None
    ) -> None:
        self._book, self._policies = book, policies or Policies()
        self._came = _index_reports(reports)
        self._worth = book.max_points()
        came = [report for theirs in self._came.values() for report in theirs.values()]
        graded = set(self._worth)
        for report in came:
            if report.exercise not in graded:
                self._worth[report.exercise] = max(report.max_points, self._worth.get(report.exercise, 0))
        self.exercises = sorted({*book.exercises(), *(report.exercise for report in came)} - {""})
        self._shared_rules = dict[str, str]()
        self._extended = {learner for learner, _ in self._policies.extensions}
        self._enrolled = {entry.username for entry in self._policies.roster}

    def final_grades(
        self, learners: Collection[str], *, exercise: str | None = None, with_rows: bool = True
    ) -> list[FinalGrade]:
        """Compute the grades of some learners, by learner and exercise, with the results of tests and cells or not."""
        made = self._book.attempts(exercise=exercise, learner=learners, with_rows=with_rows)
        given = self._book.manual_points(exercise=exercise, learner=learners)
        attempts, manual = _group(made, _pair_of_attempt), _group(given, attrgetter("learner", "exercise"))
        pairs = {*attempts, *manual}
        for learner in learners:
            theirs = (*self._came.get(learner, ()), *(self.exercises if learner in self._enrolled else ()))
            pairs |= {(learner, slug) for slug in theirs if exercise in (None, slug)}
        return [
            self._compute(pair, attempts.get(pair, ()), manual.get(pair, ()), self._came.get(pair[0], {}).get(pair[1]))
            for pair in sorted(pairs)
        ]

    def _compute(
        self,
        pair: tuple[str, str],
        attempts: Sequence[Attempt],
        manual: Sequence[ManualPoints],
        came: SubmissionReport | None = None,
    ) -> FinalGrade:
        learner, exercise = pair
        report = came or SubmissionReport(*pair, "missing", 0, self._worth.get(exercise, 0), (ABSENT,))
        return compute_final_grade(attempts, self._policies.of(exercise, learner), manual, came=report)

    def __iter__(self) -> Iterator[Standing]:
        """Yield a line for each learner and exercise."""
        this_run = self._read_this_run()
        others = {*self._enrolled, *this_run}
        stored = ((learner, list(lines)) for learner, lines in groupby(self._read_kept(), key=itemgetter(0)))
        empty = ((learner, list[Standing]()) for learner in sorted(others))
        for learner, group in groupby(heapq.merge(stored, empty, key=itemgetter(0)), key=itemgetter(0)):
            kept = [line for _, some in group for line in some]
            yield from self._complete(learner, kept, this_run) if learner in others else kept

    def _complete(
        self, learner: str, kept: Sequence[Standing], this_run: Mapping[str, Mapping[str, Standing]]
    ) -> list[Standing]:
        """Return a learner's lines with those that the gradebook does not have."""
        lines = {line.exercise: line for line in kept} | dict(this_run.get(learner, {}))
        if learner in self._enrolled:
            for exercise in self.exercises:
                lines.setdefault(exercise, self._make_absent(learner, exercise))
        return [line for _, line in sorted(lines.items())]

    def _make_absent(self, learner: str, exercise: str) -> Standing:
        worth = self._worth.get(exercise, 0)
        return Standing(learner, exercise, 0, worth, "missing", "", json.dumps([ABSENT]), 0, _digest_absent(worth))

    def _read_this_run(self) -> dict[str, dict[str, Standing]]:
        """Return the lines for which this run's reports are needed, by learner and exercise."""
        learners = [learner for learner, theirs in self._came.items() if any(map(is_unrecorded, theirs.values()))]
        found: defaultdict[str, dict[str, Standing]] = defaultdict(dict)
        for some in batched(sorted(learners), LEARNERS_AT_ONCE):
            for grade in self.final_grades(some, with_rows=False):
                came = self._came[grade.learner].get(grade.exercise)
                if came is not None and is_unrecorded(came):
                    found[grade.learner][grade.exercise] = Standing.of(grade)
        return found

    def _read_kept(self) -> Iterator[Standing]:
        """Yield the lines of all who have attempts or points by hand, as they are now, by learner and exercise."""
        after = NOBODY
        while some := self._book.standings(after=after, many=ROWS_AT_ONCE):
            after = some[-1].standing[:2]
            old = [each for each in some if each.made_from != each.changed or each.rules != self._rules_of(each)]
            renewed = self._renew(old) if old else {}
            lines = (renewed.get(each.pair, each.standing) if renewed else each.standing for each in some)
            yield from (line for line in lines if line is not None)

    def _rules_of(self, kept: KeptStanding) -> str:
        """Return the name of the rules by which this grade is computed now."""
        learner, exercise, *_ = kept.standing
        if (name := self._shared_rules.get(exercise)) is None:
            name = self._shared_rules[exercise] = _name_rules(self._policies.of(exercise))
        return _name_rules(self._policies.of(exercise, learner)) if learner in self._extended else name

    def _renew(self, old: Sequence[KeptStanding]) -> dict[tuple[str, str], Standing | None]:
        """Compute standings anew and keep them; None is for those who have nothing left.

        Those without an attempt are not kept: what the exercise is worth is told by the attempts of others.
        """
        learners = {each.standing.learner for each in old}
        attempts = _group(self._book.attempts(learner=learners, with_rows=False), _pair_of_attempt)
        manual = _group(self._book.manual_points(learner=learners), attrgetter("learner", "exercise"))
        found = dict[tuple[str, str], Standing | None]()
        kept = list[KeptStanding]()
        for each in old:
            theirs, given = attempts.get(each.pair, ()), manual.get(each.pair, ())
            line = Standing.of(self._compute(each.pair, theirs, given)) if theirs or given else None
            found[each.pair] = line
            if line is not None and theirs:
                kept.append(KeptStanding(line, each.changed, each.changed, self._rules_of(each)))
        if kept:
            self._book.save_standings(kept)
        return found


def compute_final_grades(
    book: Gradebook,
    reports: Iterable[SubmissionReport],
    policies: Policies,
    *,
    learners: Collection[str] | None = None,
    exercise: str | None = None,
) -> list[FinalGrade]:
    """Compute grades with all behind them, by learner and exercise: of some learners, or else of everyone.

    With ``exercise``, those of this one alone.

    Everyone is in the gradebook, in this run's reports, or in the roster; of a large class, read :class:`Standings`.
    """
    standings = Standings(book, reports, policies)
    if learners is None:
        learners = {line.learner for line in standings}
    groups = batched(sorted(learners), LEARNERS_AT_ONCE)
    return [grade for some in groups for grade in standings.final_grades(some, exercise=exercise)]


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield items in lists of so many; Python's own comes with 3.12."""
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some


def is_unrecorded(report: SubmissionReport) -> bool:
    """Tell whether the gradebook may not have what a report of this run says."""
    return report.status not in RECORDED


def _index_reports(reports: Iterable[SubmissionReport]) -> dict[str, dict[str, SubmissionReport]]:
    """Return reports by learner and exercise: of several that of a failure, which is not to be overlooked."""
    found: defaultdict[str, dict[str, SubmissionReport]] = defaultdict(dict)
    for report in reports:
        theirs = found[report.learner]
        if report.exercise not in theirs or report.status == "error":
            theirs[report.exercise] = report
    return dict(found)


def _group(items: Iterable[T], key: Callable[[T], tuple[str, str]]) -> dict[tuple[str, str], list[T]]:
    found: defaultdict[tuple[str, str], list[T]] = defaultdict(list)
    for item in items:
        found[key(item)].append(item)
    return dict(found)


def _pair_of_attempt(attempt: Attempt) -> tuple[str, str]:
    return attempt.report.learner, attempt.report.exercise


@functools.lru_cache(maxsize=1_000)
def _name_rules(policy: Policy) -> str:
    """Return a name for rules: another for others, and for another grader, who may have other words for them."""
    return hashlib.sha256(f"{course_lib.__version__} {policy!r}".encode()).hexdigest()[:DIGEST_CHARS]


@functools.cache
def _digest_absent(worth: float) -> str:
    """Return the digest of whoever handed nothing in, the same for all."""
    return FinalGrade(SubmissionReport("", "", "missing", 0, worth, (ABSENT,))).digest
