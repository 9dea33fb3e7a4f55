"""Run hidden tests in one pytest session, and keep a row of each."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pluggy
import pytest

from course_grader.grading.authoring.learner import AnswersRequests, Learner, random_generator
from course_grader.grading.authoring.learner_words import show_confided
from course_grader.grading.exercises.ungraded_cells import UngradedCells
from course_grader.grading.grade_one.award_points import award_points
from course_grader.grading.grade_one.pytest_isolation import forget_module, isolated_pytest
from course_grader.grading.grade_one.report import Row
from course_grader.grading.text import excerpt

__all__ = ["KeyFailure", "TestsPlugin", "collect_tests", "run_session"]

TESTS = "tests"  # what pytest is told to collect; without a suffix, so that nothing else takes it for its own
# Parts of pytest that write files, watch over this process, or cost each submission time and are for other uses.
UNUSED = (
    *("cacheprovider", "faulthandler", "unraisableexception", "threadexception", "doctest", "junitxml", "logging"),
    *("pastebin", "stepwise", "setuponly", "setupplan", "recwarn", "subtests", "warnings"),
    *("debugging", "unittest"),
)


class _TestFile(pytest.File):
    """A file of tests in a folder that pytest need not search: it would list every folder on the way there."""

    place: Path

    def collect(self) -> Iterator[pytest.Module]:
        """Yield the module."""
        yield pytest.Module.from_parent(self, path=self.place)


class KeyFailure(Exception):  # noqa: N818 - a state of the key, reported and not handled
    """The hidden tests cannot be run; the text is for the instructor."""


@dataclass(eq=False)  # pytest 8.0 keeps plugins in a set
class TestsPlugin:
    """A pytest plugin that runs the hidden tests on one learner's functions, and keeps a row of each.

    ``process`` is where those functions are; without one, nothing is run. ``last_requests`` holds the last request of
    each test that failed. ``ungraded`` are the cells beside the answers, which may define a name that an answer lacks.
    """

    __test__: ClassVar[bool] = False  # pytest takes the name for that of a class of tests
    placeholders: ClassVar[tuple[str, ...]] = (TESTS,)
    tells_all: ClassVar[bool] = True  # a learner who runs the tests may know what was said in them

    tests: Path
    process: AnswersRequests | None = None
    answers: dict[str, str] = field(default_factory=dict)
    seed: tuple[str, ...] = ()
    ungraded: UngradedCells = field(default_factory=UngradedCells)
    collection_errors: list[str] = field(default_factory=list)
    last_requests: dict[str, str] = field(default_factory=dict)
    _rows: dict[str, Row] = field(default_factory=dict)

    @property
    def rows(self) -> list[Row]:
        """One row for each item, in the order they ran."""
        return list(self._rows.values())

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect the hidden tests where they lie, for their placeholder."""
        if file_path.name != TESTS:
            return None
        tests: Any = _TestFile.from_parent(parent, path=file_path)
        tests.place = self.tests
        return tests  # type: ignore[no-any-return] # pytest's is untyped

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pluggy.Result[pytest.TestReport], None]:
        """Turn each outcome into a row."""
        report: pytest.TestReport = (yield).get_result()
        error = call.excinfo.value if call.excinfo is not None else None
        # A row is written when the test is called, and again if setting it up or tearing it down fails.
        if call.when == "call" or error is not None:
            detail = excerpt(show_confided(str(report.longrepr))) if error is not None else ""
            if error is not None and self.process is not None:
                self.last_requests[item.name] = self.process.activity
            self._rows[item.nodeid] = replace(self.make_row(item, error, detail), seconds=call.duration)

    def make_row(self, item: pytest.Item, error: BaseException | None, detail: str) -> Row:
        """Return the row of a test by what it raised; ``detail`` is for the instructor."""
        return award_points(item, error, detail, self.ungraded, tells_all=self.tells_all)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record why a test file cannot be imported."""
        if report.failed:
            self.collection_errors.append(str(report.longrepr))

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Record a row for each hidden test when none is to be run."""
        if self.process is None:
            self._rows = {
                item.nodeid: replace(award_points(item, None, "", self.ungraded), status="not run", points=0)
                for item in items
            }

    @pytest.fixture(name="learner")
    def learner_fixture(self) -> Learner:
        """Return the submission, to be called."""
        assert self.process is not None  # without one, nothing is run
        return Learner(self.process, self.answers)

    @pytest.fixture
    def rng(self, request: pytest.FixtureRequest) -> np.random.Generator:
        """Return a random generator seeded by this learner, key and notebook, and by this test."""
        return random_generator(*self.seed, request.node.name)


def run_session(plugin: TestsPlugin, *, folder: Path, compiled: Path, extra: Sequence[str] = ()) -> list[Row]:
    """Run what a plugin collects in one pytest session, and return the rows, in the order they ran.

    Parameters
    ----------
    plugin : TestsPlugin
        The hidden tests, and where to run them.
    folder : Path
        An empty folder for pytest to call its root, so that it finds no one's settings.
    compiled : Path
        A folder for the tests' bytecode.
    extra : sequence of str
        More options of pytest.

    Raises
    ------
    KeyFailure
        If the hidden tests cannot be collected.
    """
    (settings := folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    off = [f"-pno:{name}" for name in UNUSED]
    options = ["-c", str(settings), "--rootdir", str(folder), f"--confcutdir={folder}", "-q", "--capture=no"]
    options += ["--import-mode=importlib", "--color=no", *off, *extra]
    for name in plugin.placeholders:
        (folder / name).touch()
    with isolated_pytest(compiled) as output, forget_module(plugin.tests):
        code = pytest.main([*options, *(str(folder / name) for name in plugin.placeholders)], plugins=[plugin])
    if plugin.collection_errors:
        raise KeyFailure("\n".join(plugin.collection_errors))
    if code == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR):
        raise KeyFailure(f"pytest could not run: {output.getvalue()[-2000:]}")
    return plugin.rows


def collect_tests(tests: Path, *, folder: Path, compiled: Path) -> list[Row]:
    """Return a row for each hidden test, none of them run.

    Raises
    ------
    KeyFailure
        If they cannot be collected, or none of them is worth a point.
    """
    rows = run_session(TestsPlugin(tests), folder=folder, compiled=compiled, extra=["--collect-only"])
    if not sum(row.max_points for row in rows):
        raise KeyFailure("no test in it has @points")
    return rows
