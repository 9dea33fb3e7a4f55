"""A worker: takes jobs from the queue and grades them; run as many as you like, on any number of machines."""

import asyncio
import logging
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from course_grader.grading.exercises.exercise import load_exercise
from course_grader.grading.exercises.hashes import hash_key
from course_grader.grading.grade_class.standby_graders import StandbyGraders
from course_grader.grading.gradebook.gradebook import Gradebook
from course_grader.service.comparisons import Comparisons, compare_notebooks
from course_grader.service.database import COMPARE, GRADE, GRADE_QUEUE, libpq_address, make_queue, open_service_database
from course_grader.service.grade_job import GradeJobs, WorkedExercise
from course_grader.service.hand_ins import HandIns
from course_grader.service.tables import ExerciseRow
from course_lib.errors import CourseError, InputError
from course_lib.extras import load

__all__ = ["run_worker"]

log = logging.getLogger("course.work")
HEARTBEAT_SECONDS, STALLED_SECONDS = 5.0, 20.0
SWEEP_SECONDS = 5.0
AGAIN_SECONDS = 2.0  # after the database went away


def run_worker(address: str, *, exercises: Path, key: Path | None, jobs: int) -> bool:
    """Work until SIGTERM or Ctrl-C, and finish what was begun; return whether to start anew, since a key has changed.

    Parameters
    ----------
    address : str
        The service's database.
    exercises : Path
        The folder of exercises, with their keys.
    key : Path, optional
        Where private keys lie instead.
    jobs : int
        How many to grade at the same time.

    Raises
    ------
    InputError
        If there is no exercise with a key, the database cannot be used, or this machine cannot make a sandbox.
    """
    engine = open_service_database(address)
    hand_ins = HandIns(engine)
    with StandbyGraders(jobs=jobs) as graders, Gradebook(address) as book:
        worked = _load_exercises(exercises, key, graders)
        hand_ins.publish(
            ExerciseRow(slug=slug, title=each.exercise.title, max_points=each.max_points, key_hash=each.key_hash)
            for slug, each in worked.items()
        )
        comparisons = Comparisons(engine)

        def compare(exercise: str) -> None:
            if exercise in worked:
                comparisons.write(exercise, compare_notebooks(book, worked[exercise].exercise))

        worker = _Worker(libpq_address(engine), hand_ins, GradeJobs(hand_ins, book, graders, worked), worked, jobs)
        worker.add_task(COMPARE, compare)
        try:
            return asyncio.run(worker.run())
        finally:
            engine.dispose()


def _load_exercises(exercises: Path, key: Path | None, graders: StandbyGraders) -> dict[str, WorkedExercise]:
    """Load all exercises that have a key; leave out, with a line in the log, those whose key cannot be used."""
    found: dict[str, WorkedExercise] = {}
    for source in sorted({*exercises.glob("*/key/source.md"), *(key.glob("**/source.md") if key else ())}):
        try:
            exercise = load_exercise(source.parent.resolve())
            found[exercise.slug] = WorkedExercise(exercise, graders.add_up_points(exercise), hash_key(exercise))
        except CourseError as error:
            log.error("%s is left out: %s", source.parent, error)
    if not found:
        raise InputError(f"expected exercises with their keys in {exercises}, found none; say where with --exercises")
    return found


class _Worker:
    """The event loop of a worker, around Procrastinate's."""

    def __init__(
        self, address: str, hand_ins: HandIns, grade_jobs: GradeJobs, worked: dict[str, WorkedExercise], jobs: int
    ) -> None:
        self._queue = make_queue(address, asynchronous=True)
        self._hand_ins, self._worked, self._jobs = hand_ins, worked, jobs
        self._stopping, self._outdated = asyncio.Event(), False

        def grade(context: Any, hand_in: int) -> None:
            grade_jobs.grade(hand_in, tries=context.job.attempts)

        procrastinate: Any = load("procrastinate", extra="serve")
        retry = procrastinate.RetryStrategy(max_attempts=10, wait=5)
        self._queue.task(name=GRADE, queue=GRADE_QUEUE, retry=retry, pass_context=True)(grade)

    def add_task(self, name: str, work: Callable[..., None]) -> None:
        """Have it do another kind of job as well; one that fails is given up."""
        self._queue.task(name=name, queue=GRADE_QUEUE)(work)

    async def run(self) -> bool:
        """Work until told to stop; when the database goes away, wait until it is back."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._stopping.set)
        log.info("grading %d at a time: %s", self._jobs, ", ".join(self._worked))
        psycopg, exceptions = load("psycopg", extra="grade"), load("procrastinate", extra="serve").exceptions
        while not self._stopping.is_set():
            try:
                await self._work()
            except (psycopg.Error, exceptions.ConnectorException, OSError) as error:
                log.warning("the database went away (%s); trying again", type(error).__name__)
                await self._pause(AGAIN_SECONDS)
        return self._outdated

    async def _work(self) -> None:
        async with self._queue.open_async():
            working = asyncio.create_task(
                self._queue.run_worker_async(
                    queues=[GRADE_QUEUE],
                    concurrency=self._jobs,
                    wait=True,
                    fetch_job_polling_interval=2.0,
                    install_signal_handlers=False,
                    update_heartbeat_interval=HEARTBEAT_SECONDS,
                    stalled_worker_timeout=STALLED_SECONDS,
                    delete_jobs="successful",
                )
            )
            watching = asyncio.create_task(self._watch())
            await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
            watching.cancel()
            working.cancel()  # which is how it is asked to finish what it has begun, and to begin nothing more
            for result in await asyncio.gather(working, watching, return_exceptions=True):
                if isinstance(result, Exception):
                    raise result

    async def _watch(self) -> None:
        """Put back what other workers left when they died, until it is time to stop."""
        while not self._stopping.is_set():
            for job in await self._queue.job_manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_SECONDS):
                log.warning("job %s was left by a worker that is gone; it goes back into the queue", job.id)
                await self._queue.job_manager.retry_job(job)
            await asyncio.to_thread(self._hand_ins.sweep)
            if not await asyncio.to_thread(self._is_current):
                log.info("a key has changed: starting anew")
                self._outdated = True
                self._stopping.set()
            await self._pause(SWEEP_SECONDS)

    def _is_current(self) -> bool:
        return all(each.is_current for each in self._worked.values())

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            pass
