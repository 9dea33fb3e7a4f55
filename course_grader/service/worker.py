"""A worker: takes jobs from the queue and grades them; run as many as you like, on any number of machines."""

import asyncio
import logging
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_grader.grading.exercises.exercise import load_exercise
from course_grader.grading.exercises.hashes import hash_key, hash_key_folder
from course_grader.grading.grade_class.standby_graders import StandbyGraders
from course_grader.grading.gradebook.database import UnavailableError
from course_grader.grading.gradebook.gradebook import Gradebook
from course_grader.service.comparisons import Comparisons, compare_notebooks
from course_grader.service.database import COMPARE, GRADE, GRADE_QUEUE, libpq_address, make_queue, open_service_database
from course_grader.service.grade_job import GradeJobs, OutdatedKeyError, WorkedExercise
from course_grader.service.hand_ins import HandIns
from course_grader.service.tables import ExerciseRow
from course_lib.errors import CourseError, InputError
from course_lib.extras import load

if TYPE_CHECKING:
    from procrastinate import App

__all__ = ["run_worker"]

log = logging.getLogger("course.work")
HEARTBEAT_SECONDS, STALLED_SECONDS = 5.0, 20.0
SWEEP_SECONDS = 5.0
AGAIN_SECONDS = 2.0  # after the database went away
MOST_COMPARISONS = 2  # are begun; one that fails each time, or ends its worker, is given up
# What was left by a worker that died has this lock, and is done one at a time: one that kills its worker each time
# takes others along once, and then itself alone.
LEFT = "left by a worker that died"


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
    # Told to stop before it works, it has nothing to finish.
    with suppress(KeyboardInterrupt), StandbyGraders(jobs=jobs) as graders, Gradebook(address) as book:
        keys = _Keys(exercises, key)
        worked = _load_exercises(keys, graders)
        hand_ins.publish(
            ExerciseRow(slug=slug, title=each.exercise.title, max_points=each.max_points, key_hash=each.key_hash)
            for slug, each in worked.items()
        )
        comparisons = Comparisons(engine)

        def compare(exercise: str, *, tries: int) -> None:
            able = exercise in worked and tries < MOST_COMPARISONS
            comparisons.write(exercise, compare_notebooks(book, worked[exercise].exercise) if able else None)

        worker = _Worker(libpq_address(engine), hand_ins, GradeJobs(hand_ins, book, graders, worked), keys, jobs)
        worker.add_task(COMPARE, compare)
        try:
            return asyncio.run(worker.run())
        finally:
            engine.dispose()
    return False


class _Keys:
    """The folders with keys, and what was in them when the worker started."""

    def __init__(self, exercises: Path, key: Path | None) -> None:
        self.exercises, self._key = exercises, key
        self.hashes = self._read()

    def have_changed(self) -> bool:
        """Whether a key has changed since, come or gone; those that could not be used count as well."""
        try:
            return self._read() != self.hashes
        except OSError:  # a file that goes away while it is read
            return True

    def _read(self) -> dict[Path, str]:
        sources = {*self.exercises.glob("*/key/source.md"), *(self._key.glob("**/source.md") if self._key else ())}
        return {source.parent.resolve(): hash_key_folder(source.parent) for source in sorted(sources)}


def _load_exercises(keys: _Keys, graders: StandbyGraders) -> dict[str, WorkedExercise]:
    """Load all exercises that have a key; leave out, with a line in the log, those whose key cannot be used."""
    found: dict[str, WorkedExercise] = {}
    for folder in keys.hashes:
        try:
            exercise = load_exercise(folder)
            found[exercise.slug] = WorkedExercise(exercise, graders.add_up_points(exercise), hash_key(exercise))
        except CourseError as error:
            log.error("%s is left out: %s", folder, error)
    if not found:
        wrong = f"expected exercises with their keys in {keys.exercises}, found none"
        raise InputError(f"{wrong}; say where with --exercises")
    return found


class _Worker:
    """The event loop of a worker, around Procrastinate's."""

    def __init__(self, address: str, hand_ins: HandIns, grade_jobs: GradeJobs, keys: _Keys, jobs: int) -> None:
        self._address, self._hand_ins, self._grade_jobs = address, hand_ins, grade_jobs
        self._keys, self._jobs = keys, jobs
        self._stopping, self._outdated = asyncio.Event(), False

        self._more_tasks: dict[str, Callable[..., None]] = {}
        self._number = 0  # among the queue's workers, as its last job says
        self._running: set[int] = set()
        self._forgotten: set[int] = set()

    def add_task(self, name: str, work: Callable[..., None]) -> None:
        """Have it do another kind of job as well; ``work`` is told how often a worker had begun before."""

        def noted(context: Any, **named: Any) -> None:
            with self._noted(context):
                work(tries=context.job.attempts, **named)

        self._more_tasks[name] = noted

    @contextmanager
    def _noted(self, context: Any) -> Iterator[None]:
        """Note that a job is being done here."""
        self._running.add(context.job.id)
        self._number = context.job.worker_id
        try:
            yield
        finally:
            self._running.discard(context.job.id)

    async def run(self) -> bool:
        """Work until told to stop; when the database goes away, wait until it is back."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        loop.set_default_executor(ThreadPoolExecutor(self._jobs + 2))  # a thread for each job, and for what watches
        log.info("grading %d at a time: %s", self._jobs, ", ".join(self._grade_jobs.slugs))
        psycopg, exceptions = load("psycopg", extra="grade"), load("procrastinate", extra="serve").exceptions
        while not self._stopping.is_set():
            try:
                await self._work()
            except (psycopg.Error, exceptions.ConnectorException, OSError, UnavailableError) as error:
                log.warning("the database went away (%s); trying again", type(error).__name__)
                await self._pause(AGAIN_SECONDS)
        return self._outdated

    def _make_queue(self) -> "App":
        """Make the queue with its one task; anew for each connection, since one that could not be opened stays shut."""
        queue, loop = make_queue(self._address, asynchronous=True), asyncio.get_running_loop()

        def grade(context: Any, hand_in: int) -> None:
            try:
                with self._noted(context):
                    self._grade_jobs.grade(hand_in, tries=context.job.attempts)
            except OutdatedKeyError:
                loop.call_soon_threadsafe(self._start_anew)
                raise
            except Exception as error:
                log.warning("hand-in %d could not be graded, and is tried again: %s", hand_in, error)
                raise

        procrastinate: Any = load("procrastinate", extra="serve")
        retry = procrastinate.RetryStrategy(wait=2)
        queue.task(name=GRADE, queue=GRADE_QUEUE, retry=retry, pass_context=True)(grade)
        for name, work in self._more_tasks.items():
            queue.task(name=name, queue=GRADE_QUEUE, retry=retry, pass_context=True)(work)
        return queue

    async def _work(self) -> None:
        queue = self._make_queue()
        async with queue.open_async():
            working = asyncio.create_task(
                queue.run_worker_async(
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
            watching = asyncio.create_task(self._watch(queue))
            await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
            watching.cancel()
            working.cancel()  # which is how it is asked to finish what it has begun, and to begin nothing more
            for result in await asyncio.gather(working, watching, return_exceptions=True):
                if isinstance(result, Exception):
                    raise result

    async def _watch(self, queue: "App") -> None:
        """Put back what other workers left when they died, until it is time to stop."""
        exceptions = load("procrastinate", extra="serve").exceptions
        while not self._stopping.is_set():
            for job in await queue.job_manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_SECONDS):
                with suppress(exceptions.ConnectorException):  # another worker was faster
                    await queue.job_manager.retry_job(job, lock=LEFT)
                    log.warning("job %s was left by a worker that is gone; it goes back into the queue", job.id)
            await self._put_back_forgotten(queue)
            await asyncio.to_thread(self._hand_ins.sweep)
            if await asyncio.to_thread(self._keys.have_changed):
                self._start_anew()
            await self._pause(SWEEP_SECONDS)

    async def _put_back_forgotten(self, queue: "App") -> None:
        """Put back jobs that this worker has ended while the database was away: they are said to be done still."""
        manager, exceptions = queue.job_manager, load("procrastinate", extra="serve").exceptions
        doing = {
            job.id: job
            for job in await manager.list_jobs_async(status="doing", queue=GRADE_QUEUE, worker_id=self._number)
        }
        not_here = {number for number in doing if number is not None} - self._running
        for number in not_here & self._forgotten:  # the second time: it is neither just beginning nor just ending
            with suppress(exceptions.ConnectorException):
                await manager.retry_job(doing[number])
                log.warning("job %s was done, and the database did not hear of it; it goes back into the queue", number)
        self._forgotten = not_here

    def _start_anew(self) -> None:
        if not self._outdated:
            log.info("a key has changed: starting anew")
        self._outdated = True
        self._stopping.set()

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            pass
