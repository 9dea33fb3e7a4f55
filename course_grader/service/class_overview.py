"""How a class stands in an exercise: how the points are spread, which tests are hard, which messages are frequent."""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from course_grader.grading.gradebook.final_grade import DECIMALS, FinalGrade

__all__ = ["ClassOverview", "TestOverview", "overview_of"]

BINS = 10
MOST_MESSAGES = 20


@dataclass(frozen=True)
class TestOverview:
    """A test: how many of those who handed in pass it, and how long it runs, in the middle and at most.

    Of attempts from before this was noted the seconds are not known.
    """

    __test__ = False  # pytest takes the name for that of a class of tests

    title: str
    passed: int
    of: int
    median_seconds: float | None
    most_seconds: float | None


@dataclass(frozen=True)
class ClassOverview:
    """Of the attempts that count: ``bins`` are how many have up to a tenth of the points, up to two, and so on."""

    handed_in: int
    mean: float | None
    bins: Sequence[int]
    hardest: Sequence[TestOverview]
    messages: Sequence[tuple[str, int]]

    @property
    def slowest(self) -> TestOverview | None:
        """The test that runs longest, in the middle."""
        timed = [test for test in self.hardest if test.median_seconds is not None]
        return max(timed, key=lambda test: test.median_seconds or 0, default=None)


def overview_of(grades: Sequence[FinalGrade], max_points: float) -> ClassOverview:
    """Return how those stand who have handed in."""
    came = [each for each in grades if each.counted]
    bins = [0] * BINS
    for each in came:
        share = each.points / max_points if max_points else 0
        bins[min(BINS, max(1, math.ceil(round(share * BINS, DECIMALS)))) - 1] += 1
    seen: Counter[tuple[str, str]] = Counter()
    passed: Counter[tuple[str, str]] = Counter()
    seconds: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    messages: Counter[str] = Counter()
    for each in came:
        tests = [row for row in each.report.rows if row.kind == "test"]
        seen.update((row.name, row.title or row.name) for row in tests)
        passed.update((row.name, row.title or row.name) for row in tests if row.status == "passed")
        for row in tests:
            if row.seconds is not None:
                seconds[row.name, row.title or row.name].append(row.seconds)
        messages.update({row.message for row in each.report.rows if row.message and row.status != "passed"})
    found = (
        TestOverview(
            key[1],
            passed[key],
            count,
            *((statistics.median(took), max(took)) if (took := seconds[key]) else (None, None)),
        )
        for key, count in seen.items()
    )
    hardest = sorted(found, key=_pass_rate)
    mean = sum(each.points for each in came) / len(came) if came else None
    return ClassOverview(len(came), mean, bins, hardest, messages.most_common(MOST_MESSAGES))


def _pass_rate(test: TestOverview) -> float:
    return test.passed / test.of
