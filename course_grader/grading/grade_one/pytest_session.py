"""Run one pytest session per submission: the notebook's cells under nbval, then the hidden tests, in one kernel."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pluggy
import pytest
from nbformat import NotebookNode
from nbval import plugin as nbval

from course_grader.grading.authoring.learner import Learner, random_generator
from course_grader.grading.exercises.ungraded_cells import UngradedCells
from course_grader.grading.grade_one.award_points import award_points
from course_grader.grading.grade_one.cell_items import CellItem, NotebookFile
from course_grader.grading.grade_one.learner_messages import explain_missing
from course_grader.grading.grade_one.pytest_isolation import forget_module, isolated_pytest
from course_grader.grading.grade_one.report import Row
from course_grader.grading.kernel.kernel import Kernel, KernelStopped
from course_grader.grading.sandbox.memory_cap import cap_memory
from course_grader.grading.text import excerpt

__all__ = ["KeyFailure", "NotebookPlugin", "collect_tests", "run_session"]

# What pytest is told to collect; names without a suffix, so that nothing but this plugin takes them for its own.
NOTEBOOK, TESTS = "notebook", "tests"
# Parts of pytest that write files, watch over this process, or cost each submission time and are for other uses.
UNUSED = (
    *("cacheprovider", "faulthandler", "unraisableexception", "threadexception", "doctest", "junitxml", "logging"),
    *("pastebin", "stepwise", "setuponly", "setupplan", "recwarn", "subtests", "warnings"),
    *("debugging", "unittest"),
)
# Of nbval's plugin nothing else is used, and pytest would look at each name in it for every submission.
OPTIONS = SimpleNamespace(pytest_addoption=nbval.pytest_addoption)


class _TestFile(pytest.File):
    """A file of tests in a folder that pytest need not search: it would list every folder on the way there."""

    place: Path

    def collect(self) -> Iterator[pytest.Module]:
        """Yield the module."""
        yield pytest.Module.from_parent(self, path=self.place)


class KeyFailure(Exception):  # noqa: N818 - a state of the key, reported and not handled
    """The hidden tests cannot be run; the text is for the instructor."""


@dataclass
class NotebookPlugin:
    """A pytest plugin that runs one notebook and the hidden tests, and keeps a row of each.

    ``last_requests`` holds the last request to the kernel of each test that failed. ``ungraded`` are the cells beside
    the answers, which may define a name that an answer lacks.
    """

    notebook: NotebookNode
    tests: Path | None = None
    kernel: Kernel | None = None
    answers: dict[str, str] = field(default_factory=dict)
    learner: str = ""
    ungraded: UngradedCells = field(default_factory=UngradedCells)
    collection_errors: list[str] = field(default_factory=list)
    last_requests: dict[str, str] = field(default_factory=dict)
    _rows: dict[str, Row] = field(default_factory=dict)

    @property
    def rows(self) -> list[Row]:
        """One row for each cell and test, in the order they ran."""
        return list(self._rows.values())

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect the notebook in memory and the hidden tests where they lie, each for its placeholder."""
        if file_path.name == NOTEBOOK:
            file: Any = NotebookFile.from_parent(parent, path=file_path)
            file.notebook, file.kernel = self.notebook, self.kernel
            return file  # type: ignore[no-any-return] # pytest's is untyped
        if file_path.name == TESTS and self.tests is not None:
            tests: Any = _TestFile.from_parent(parent, path=file_path)
            tests.place = self.tests
            return tests  # type: ignore[no-any-return] # pytest's is untyped
        return None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        """Bound the memory that a test may take with a learner's values."""
        with cap_memory():
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pluggy.Result[pytest.TestReport], None]:
        """Turn each outcome into a row."""
        report: pytest.TestReport = (yield).get_result()
        error = call.excinfo.value if call.excinfo is not None else None
        # A row is written when the test is called, and again if setting it up or tearing it down fails.
        if call.when == "call" or error is not None:
            detail = excerpt(str(report.longrepr)) if error is not None else ""
            if error is not None and self.kernel is not None:
                self.last_requests[item.name] = self.kernel.activity
            self._rows[item.nodeid] = (
                self._cell_row(item, error)
                if isinstance(item, CellItem)
                else award_points(item, error, detail, self.ungraded)
            )

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record why a test file cannot be imported."""
        if report.failed:
            self.collection_errors.append(str(report.longrepr))

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Record a row for each hidden test when none is to be run."""
        if self.kernel is None:
            self._rows = {
                item.nodeid: replace(award_points(item, None, "", self.ungraded), status="not run", points=0)
                for item in items
            }

    @pytest.fixture(name="learner")
    def learner_fixture(self) -> Learner:
        """Return the submission, to be called."""
        assert self.kernel is not None  # without one, nothing is run
        return Learner(self.kernel, self.answers)

    @pytest.fixture
    def rng(self, request: pytest.FixtureRequest) -> np.random.Generator:
        """Return a random generator seeded by this learner and this test."""
        return random_generator(self.learner, request.node.name)

    def _cell_row(self, cell: CellItem, error: BaseException | None) -> Row:
        kind = str(cell.cell.metadata.course.kind)
        if error is None:
            return Row(name=cell.name, kind=kind, status="passed")
        status = "not run" if isinstance(error, KernelStopped) and error.later else "failed"
        message = explain_missing(*cell.learner_message(error), self.ungraded)
        return Row(name=cell.name, kind=kind, status=status, message=message)


def run_session(plugin: NotebookPlugin, *, folder: Path) -> list[Row]:
    """Run a notebook and its hidden tests in one pytest session, and return their rows, cells first.

    Parameters
    ----------
    plugin : NotebookPlugin
        The notebook, the kernel to run it in, and the hidden tests, without which only the notebook is run.
    folder : Path
        An empty folder for pytest to call its root, so that it finds no one's settings.

    Raises
    ------
    KeyFailure
        If the hidden tests cannot be collected.
    """
    _run_pytest(plugin, [NOTEBOOK, *([TESTS] if plugin.tests else [])], folder=folder)
    return plugin.rows


def collect_tests(tests: Path, *, folder: Path) -> list[Row]:
    """Return a row for each hidden test, none of them run.

    Raises
    ------
    KeyFailure
        If they cannot be collected, or none of them is worth a point.
    """
    plugin = NotebookPlugin(notebook=NotebookNode(cells=[]), tests=tests)
    _run_pytest(plugin, [TESTS], folder=folder, extra=["--collect-only"])
    if not sum(row.max_points for row in plugin.rows):
        raise KeyFailure("no test in it has @points")
    return plugin.rows


def _run_pytest(plugin: NotebookPlugin, placeholders: list[str], *, folder: Path, extra: Sequence[str] = ()) -> None:
    (settings := folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    off = [f"-pno:{name}" for name in UNUSED]
    options = ["-c", str(settings), "--rootdir", str(folder), f"--confcutdir={folder}", "-q", "--capture=no"]
    options += ["--import-mode=importlib", "--color=no", *off, *extra]
    for name in placeholders:
        (folder / name).touch()
    with isolated_pytest() as output, forget_module(plugin.tests):
        code = pytest.main([*options, *(str(folder / name) for name in placeholders)], plugins=[plugin, OPTIONS])
    if plugin.collection_errors:
        raise KeyFailure("\n".join(plugin.collection_errors))
    if code == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR):
        raise KeyFailure(f"pytest could not run: {output.getvalue()[-2000:]}")
