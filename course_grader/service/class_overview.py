"""How a class stands in an exercise: how the points are spread, which tests are hard, which messages are frequent."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from course_grader.grading.gradebook.final_grade import DECIMALS, FinalGrade

__all__ = ["ClassOverview", "HardTest", "overview_of"]

BINS = 10
MOST_MESSAGES = 20


@dataclass(frozen=True)
class HardTest:
    """A test, by how many of those who handed in it is passed."""

    title: str
    passed: int
    of: int


@dataclass(frozen=True)
class ClassOverview:
    """Of the attempts that count: ``bins`` are how many have up to a tenth of the points, up to two, and so on."""

    handed_in: int
    mean: float | None
    bins: Sequence[int]
    hardest: Sequence[HardTest]
    messages: Sequence[tuple[str, int]]


def overview_of(grades: Sequence[FinalGrade], max_points: float) -> ClassOverview:
    """Return how those stand who have handed in."""
    came = [each for each in grades if each.counted]
    bins = [0] * BINS
    for each in came:
        share = each.points / max_points if max_points else 0
        bins[min(BINS, max(1, math.ceil(round(share * BINS, DECIMALS)))) - 1] += 1
    seen: Counter[tuple[str, str]] = Counter()
    passed: Counter[tuple[str, str]] = Counter()
    messages: Counter[str] = Counter()
    for each in came:
        tests = [row for row in each.report.rows if row.kind == "test"]
        seen.update((row.name, row.title or row.name) for row in tests)
        passed.update((row.name, row.title or row.name) for row in tests if row.status == "passed")
        messages.update({row.message for row in each.report.rows if row.message and row.status != "passed"})
    hardest = sorted((HardTest(key[1], passed[key], count) for key, count in seen.items()), key=_pass_rate)
    mean = sum(each.points for each in came) / len(came) if came else None
    return ClassOverview(len(came), mean, bins, hardest, messages.most_common(MOST_MESSAGES))


def _pass_rate(test: HardTest) -> float:
    return test.passed / test.of
