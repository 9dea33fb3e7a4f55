"""How the service is doing: what waits, for how long, and who works."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Engine, text

from course_grader.grading.gradebook.database import explain, retry_and_explain
from course_grader.service.tables import State

__all__ = ["QueueState", "Watch"]

ALIVE_SECONDS = 20  # since a worker was heard of
WAITING = text("SELECT id FROM hand_ins WHERE state = 'waiting' ORDER BY id")
HAND_INS = text("SELECT state, count(*) AS number FROM hand_ins GROUP BY state")
JOBS = text(
    "SELECT count(*) FILTER (WHERE status = 'todo'), count(*) FILTER (WHERE status = 'doing') FROM procrastinate_jobs"
)
WORKERS = text(
    "SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > now() - make_interval(secs => :seconds)"
)
# Since it was queued, and not since it was handed in, which for one that is graded anew may be long ago.
OLDEST = text(
    "SELECT extract(epoch FROM now() - min(event.at)) FROM procrastinate_jobs job"
    " JOIN procrastinate_events event ON event.job_id = job.id AND event.type = 'deferred'"
    " WHERE job.status IN ('todo', 'doing')"
)


@dataclass(frozen=True)
class QueueState:
    """What an operator watches."""

    hand_ins: Mapping[State, int]
    jobs_waiting: int
    jobs_begun: int
    workers: int
    oldest_seconds: float


class Watch:
    """Looks at a service's database, as it is now: it does not wait for one that is away."""

    def __init__(self, engine: Engine) -> None:
        self.address, self._engine = str(engine.url), engine

    @explain
    def check(self) -> None:
        """Ask the database for an answer.

        Raises
        ------
        UnavailableError
            If there is none.
        """
        with self._engine.connect() as connection:
            connection.execute(text("SELECT 1"))

    @explain
    def read(self) -> QueueState:
        """Count what there is."""
        with self._engine.connect() as connection:
            found = {row.state: row.number for row in connection.execute(HAND_INS)}
            waiting, begun = connection.execute(JOBS).one()
            workers = connection.scalar(WORKERS, {"seconds": ALIVE_SECONDS}) or 0
            oldest = float(connection.scalar(OLDEST) or 0)
        return QueueState({state: found.get(state, 0) for state in State}, waiting, begun, workers, oldest)

    @retry_and_explain
    def waiting(self) -> list[int]:
        """Return the numbers of all that waits, in their order; a place in this list is one in the queue."""
        with self._engine.connect() as connection:
            return list(connection.scalars(WAITING))
