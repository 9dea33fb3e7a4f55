"""What a deadline and a course need of the hand-in service, from what one hand-in was measured to cost.

Three resources, each used in proportion to the hand-ins: cores that grade, cores that answer, cores of the database. To
each hand-in belong some reads of a page.
On one machine all three share its cores. That is all of the model, and :func:`predict_jobs_per_second` holds it against
what was measured.
"""

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["SCENARIOS", "Costs", "Scenario", "predict_jobs_per_second", "scenario_table"]

READS = 5  # of a page, for each hand-in
BUSY = 0.7  # of a core may be used on average: beyond, waiting grows without bound
GIB = 2**30


@dataclass(frozen=True)
class Costs:
    """What one hand-in costs: CPU seconds of each part, seconds from press to marks alone, bytes kept; and one read."""

    worker: float
    web: float
    database: float
    alone_seconds: float
    stored_bytes: float
    read_web: float
    read_database: float

    def all(self, *, reads: float) -> float:
        """Return the CPU seconds of all parts, for a hand-in and so many reads."""
        return self.worker + self.web + self.database + reads * (self.read_web + self.read_database)


@dataclass(frozen=True)
class Scenario:
    """So many hand-ins in so many seconds, on top of what is stored in a term."""

    name: str
    hand_ins: int
    seconds: float
    stored: int


SCENARIOS = (
    Scenario("a class of 300, all in the last ten minutes", 300, 600, 300 * 15 * 3),
    Scenario("20,000 hand-ins in the hour before a deadline", 20_000, 3600, 20_000 * 15),
    Scenario("of these, half in the last ten minutes", 10_000, 600, 20_000 * 15),
    # 15 exercises, 3 attempts; two weeks for each exercise, in which hand-ins come evenly, or a third in one hour
    Scenario("100,000 learners, an ordinary day", 300_000 // 14, 86_400, 100_000 * 45),
    Scenario("100,000 learners, the hour before a deadline", 100_000, 3600, 100_000 * 45),
)


def predict_jobs_per_second(costs: Costs, *, jobs: int, cores: int, reads_a_second: float) -> float:
    """Return how many hand-ins in a second a machine grades: limited by those graded at once, or by its cores.

    Parameters
    ----------
    costs : Costs
        What was measured.
    jobs : int
        How many its workers grade at the same time.
    cores : int
        How many it has, for workers, web server and database together.
    reads_a_second : float
        How many pages are read meanwhile.
    """
    left = cores - reads_a_second * (costs.read_web + costs.read_database)
    return max(0, min(jobs / costs.alone_seconds, left / costs.all(reads=0)))


def scenario_table(costs: Costs, scenarios: Iterable[Scenario] = SCENARIOS) -> list[dict[str, float | str]]:
    """Return, for each scenario, the cores that each part needs so that nothing piles up, and the disk of a term."""
    rows: list[dict[str, float | str]] = []
    for each in scenarios:
        rate = each.hand_ins / each.seconds
        rows.append(
            {
                "scenario": each.name,
                "hand-ins a second": round(rate, 2),
                "worker cores": round(rate * costs.worker / BUSY, 1),
                "web cores": round(rate * (costs.web + READS * costs.read_web) / BUSY, 1),
                "database cores": round(rate * (costs.database + READS * costs.read_database) / BUSY, 1),
                "GiB a term": round(each.stored * costs.stored_bytes / GIB, 1),
                # With the two cores of a small machine, what has piled up at the end is graded in so many minutes.
                "minutes behind with two cores": round(
                    max(0, each.hand_ins * costs.all(reads=READS) / 2 - each.seconds) / 60
                ),
            }
        )
    return rows
