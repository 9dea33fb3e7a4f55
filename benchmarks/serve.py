"""What does the hand-in service carry? A class that presses *hand in* at once: marks, page reads meanwhile, and CPU.

Real exercises' references are handed in by many learners at the same moment, through HTTP, to a web server, one worker
and then two, and a PostgreSQL of their own, all on this machine, as is the load. Each learner waits for the marks, as
``hand_in()`` does, while others read their standings. Then a small model, held against the measurement, says what a
deadline hour takes.

    python -m benchmarks.serve                      # about ten minutes
    python -m benchmarks.serve --learners 20 --workers 1 --output ""
"""

import argparse
import datetime
import itertools
import json
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import nbformat
import psycopg

from benchmarks.running_service import RunningService
from benchmarks.serve_model import Costs, predict_jobs_per_second, scenario_table
from course_grader.grading.exercises.exercise import find_exercise
from course_grader.service.embedded_postgres import embedded_postgres
from course_grader.service.tables import State

__all__ = ["main"]

ROOT = Path(__file__).parents[1]
EXERCISES = ["two_layer_gradients", "clip_by_global_norm"]
ALONE, READS_ALONE = 7, 100
READS_A_SECOND, READERS = 20, 10
P95_TARGET_MS = 100


def _notebooks(slugs: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield references without end, no two with the same bytes."""
    texts = [(slug, nbformat.writes(find_exercise(slug, exercises=ROOT / "exercises").reference())) for slug in slugs]
    for number, (slug, text) in enumerate(itertools.cycle(texts)):
        yield slug, f"{text}{' ' * number}\n".encode()


class _Reader(threading.Thread):
    """Reads standings at a steady rate, and notes how long each took since it was due, also if it was sent late."""

    def __init__(self, service: RunningService, tokens: Sequence[str]) -> None:
        super().__init__()
        self._service, self._tokens, self._over = service, tokens, threading.Event()
        self.milliseconds: list[float] = []

    def run(self) -> None:
        """Read until told to stop."""
        start = time.perf_counter()
        with ThreadPoolExecutor(READERS) as pool:
            for number in itertools.count():
                due = start + number / READS_A_SECOND
                if self._over.wait(max(0, due - time.perf_counter())):
                    return
                pool.submit(self._read, self._tokens[number % len(self._tokens)], due)

    def _read(self, token: str, due: float) -> None:
        self._service.ask(token, "me")
        self.milliseconds.append(1000 * (time.perf_counter() - due))

    def stop(self) -> list[float]:
        """Stop, and return the times in milliseconds."""
        self._over.set()
        self.join()
        return self.milliseconds


def measure(workers: int, learners: int, slugs: Sequence[str]) -> dict[str, Any]:
    """Measure a service with so many workers: some hand-ins alone, then all at once."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, ExitStack() as stack:
        address = stack.enter_context(embedded_postgres(Path(folder)))
        service = RunningService(address, workers, stack)
        names = [f"learner{number:04}" for number in range(learners)]
        tokens, readers, notebooks = (
            service.tokens(names),
            service.tokens(["r1", "r2", "r3", "r4", "r5"]),
            _notebooks(slugs),
        )
        alone = [service.hand_in(readers[0], *next(notebooks))[0] for _ in range(len(slugs) + ALONE)][len(slugs) :]
        handed_in = list(itertools.islice(notebooks, learners))
        read = _read_costs(service, readers)
        size, cpu = _database_bytes(address), service.cpu_seconds()
        reader = _Reader(service, readers)
        reader.start()
        start = time.perf_counter()
        with ThreadPoolExecutor(learners) as pool:
            futures = [
                pool.submit(service.hand_in, token, *each) for token, each in zip(tokens, handed_in, strict=True)
            ]
            seconds, states = zip(*(future.result() for future in futures), strict=True)
        elapsed = time.perf_counter() - start
        connections = _count_connections(address)
        reads = reader.stop()
        used = {part: after - cpu[part] - len(reads) * read[part] for part, after in service.cpu_seconds().items()}
        spent = {part: max(0, seconds) / learners for part, seconds in used.items()}
        attempts = [service.course.book.attempts(exercise=slug, with_rows=False) for slug in slugs]
        recorded = [each.report.learner for each in itertools.chain(*attempts) if each.report.learner in set(names)]
        full = sum(each.report.points == each.report.max_points for each in itertools.chain(*attempts))
        return {
            "workers": workers,
            "hand_ins": learners,
            "lost_or_doubled": learners - len(set(recorded)) + len(recorded) - len(set(recorded)),
            "not_graded": sum(state != State.GRADED for state in states),
            "not_full_marks": len(alone) + len(slugs) + learners - full,
            "jobs_per_second": learners / elapsed,
            "alone_seconds": statistics.median(alone),
            "median_seconds": statistics.median(seconds),
            "last_seconds": max(seconds),
            "reads_a_second": len(reads) / elapsed,
            "read_p50_ms": statistics.median(reads),
            "read_p95_ms": statistics.quantiles(reads, n=20)[-1],
            "cpu_seconds": spent,
            "read_cpu_seconds": {part: read[part] for part in ("web", "database")},
            "cores_busy": (sum(spent.values()) * learners + len(reads) * sum(read.values())) / elapsed,
            "database_connections": connections,
            "stored_bytes": (_database_bytes(address) - size) / learners,
        }


def _read_costs(service: RunningService, tokens: Sequence[str]) -> dict[str, float]:
    """Return the CPU seconds that each part takes for one read, while nothing else is asked."""
    before = service.cpu_seconds()
    for number in range(READS_ALONE):
        service.ask(tokens[number % len(tokens)], "me")
    after = service.cpu_seconds()
    return {part: (after[part] - before[part]) / READS_ALONE for part in before}


def _count_connections(address: str) -> int:
    with psycopg.connect(address) as connection:
        found = connection.execute("SELECT count(*) - 1 FROM pg_stat_activity WHERE backend_type = 'client backend'")
        [number] = found.fetchone() or [0]
        return int(number)


def _database_bytes(address: str) -> int:
    with psycopg.connect(address) as connection:
        found = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        assert found is not None
        return int(found[0])


def compare(found: dict[str, Any], cores: int) -> dict[str, float | str]:
    """Hold the model against a measurement, and say what was used up first."""
    costs = _costs(found)
    jobs = found["workers"]
    predicted = predict_jobs_per_second(costs, jobs=jobs, cores=cores, reads_a_second=found["reads_a_second"])
    limited_by_cores = predicted < jobs / costs.alone_seconds
    first = max(found["cpu_seconds"], key=found["cpu_seconds"].get) if limited_by_cores else "jobs at once"
    return {"workers": found["workers"], "measured": found["jobs_per_second"], "model": predicted, "first": first}


def _costs(found: dict[str, Any]) -> Costs:
    spent, read = found["cpu_seconds"], {f"read_{part}": each for part, each in found["read_cpu_seconds"].items()}
    return Costs(
        spent["worker"], spent["web"], spent["database"], found["alone_seconds"], found["stored_bytes"], **read
    )


def _rounded(value: Any) -> Any:
    match value:
        case dict():
            return {name: _rounded(each) for name, each in value.items()}
        case list():
            return [_rounded(each) for each in value]
        case float():
            return round(value, 4 - len(str(int(abs(value)))) if abs(value) < 1000 else 0)
    return value


def main(argv: list[str] | None = None) -> int:
    """Measure, print, and write the results; the status is 1 if something was lost or reads were too slow."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learners", type=int, default=200)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--exercises", nargs="+", default=EXERCISES)
    parser.add_argument("--output", default=str(Path(__file__).parent / "results" / "serve.json"))
    args = parser.parse_args(argv)
    cores = len(os.sched_getaffinity(0))
    measured = [measure(workers, args.learners, args.exercises) for workers in args.workers]
    results = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "cores": cores,
        "exercises": args.exercises,
        "units": "seconds from press to marks; CPU seconds a hand-in; stored bytes a hand-in, compressed and indexed",
        "measured": measured,
        "model": [compare(each, cores) for each in measured],
        "needs": scenario_table(_costs(measured[-1])),
    }
    text = json.dumps(_rounded(results), indent=1)
    print(text)
    if args.output:
        Path(args.output).write_text(text + "\n", encoding="utf-8")
    lost = sum(each["lost_or_doubled"] + each["not_graded"] + each["not_full_marks"] for each in measured)
    slow = [each["workers"] for each in measured if each["read_p95_ms"] > P95_TARGET_MS]
    print(
        f"lost, doubled or not graded: {lost}; page reads above {P95_TARGET_MS} ms (p95) with workers: {slow or 'none'}"
    )
    return bool(lost or slow)


if __name__ == "__main__":
    raise SystemExit(main())
