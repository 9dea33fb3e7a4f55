"""Run ``course grade``: check the request, grade into the gradebook, report."""

import contextlib
import functools
import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import typer

from course_grader.cli.name_notes import note_names
from course_grader.cli.progress import Progress
from course_grader.cli.result_tables import grades_table, similar_pairs_table
from course_grader.cli.terminal_output import make_console
from course_grader.grading import reports
from course_grader.grading.exercises.exercise import find_exercise
from course_grader.grading.grade_class.find_submissions import Task, find_strays
from course_grader.grading.grade_class.grade_task import GradesTasks
from course_grader.grading.grade_class.similarity import Comparison
from course_grader.grading.gradebook import (
    Gradebook,
    KeptAttempts,
    Outcome,
    Policies,
    Standings,
    count_outdated,
    find_kept_attempts,
    find_policies,
    grade_into,
    read_times,
)
from course_grader.grading.gradebook.database import database_url
from course_grader.grading.gradebook.standing import GradeLine
from course_grader.grading.gradebook.standings import is_unrecorded
from course_grader.grading.gradebook.submission_times import SubmissionTimes
from course_grader.grading.text import join_names
from course_lib.errors import InputError

__all__ = ["BOOK", "GradingRun"]

BOOK = "gradebook.sqlite"
INTERRUPTED = 130


@dataclass
class GradingRun:
    """The request of one ``course grade``, and its outcomes so far."""

    tasks: list[Task]
    submissions: Path
    out: Path
    gradebook: str | None
    reports: list[str]
    exercises: Path = Path("exercises")
    key: Path | None = None
    policies: Policies = field(default_factory=Policies)
    times: SubmissionTimes = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    compared: Comparison = field(default_factory=Comparison)
    kept: KeptAttempts = field(default_factory=KeptAttempts)

    def read_rules(self, rules: Path | None, submitted: Path | None) -> None:
        """Read the cohort's rules and the times of submission, and check what will be written."""
        if strange := [name for name in self.reports if name not in reports.REPORT_KINDS]:
            raise InputError(
                f"expected --report to be one of {', '.join(reports.REPORT_KINDS)}, found {strange[0]!r}; correct it"
            )
        self._check_out()
        self.policies = find_policies(rules)
        if submitted is not None:
            self.times = read_times(submitted)
        self._note_ungraded_files()
        note_names(self.tasks, self.policies, self.times)
        reports.check_reports(self.out, self.reports)

    def _note_ungraded_files(self) -> None:
        """Note files that are not graded: among the learners' folders, or beside a graded notebook."""
        if loose := find_strays(self.submissions):
            typer.echo(
                f"note: {self.submissions} has {join_names(loose)}, in no learner's folder, and so not graded; if it "
                "was handed in, unpack it, or put it there as <learner>/<exercise>.ipynb",
                err=True,
            )
        graded: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for task in self.tasks:
            if task.ungraded_names and task.path is not None:
                graded.setdefault((task.learner, task.ungraded_names), []).append(task.path.name)
        for (learner, ungraded_names), names in graded.items():
            typer.echo(
                f"note: {learner}: {_names_with_verb(names)} graded, {_names_with_verb(ungraded_names)} passed over: "
                "what is graded is called <exercise>.ipynb, or is the only notebook there that says it is; "
                "if another is meant, unpack it, move it there or rename it",
                err=True,
            )

    def _check_out(self) -> None:
        """Refuse to write among the submissions: the next run would take the reports for a learner's folder."""
        folder = Path(os.path.realpath(self.out))
        if any(place.exists() and place.samefile(self.submissions) for place in (folder, *folder.parents)):
            raise InputError(
                f"expected --out outside the folder of submissions, found {self.out}; name another folder with --out"
            )

    @property
    def book(self) -> str:
        """The address of the gradebook."""
        return self.gradebook or str(self.out / BOOK)

    def _hidden_folders(self) -> list[Path]:
        """Return the folders to hide from learners' code."""
        folders = [self.submissions, self.exercises, self.out]
        folders += [self.key] if self.key else []
        url = database_url(self.book)
        return [*folders, Path(url.database or "").parent] if url.get_backend_name() == "sqlite" else folders

    def grade(self, graders: GradesTasks, *, regrade: bool, only: str | None = None) -> None:
        """Grade into the gradebook, with a progress bar; Ctrl-C ends it cleanly.

        To regrade is to grade every attempt in the gradebook, at all exercises or at one only.
        """
        if not self.gradebook:
            self.out.mkdir(parents=True, exist_ok=True)
        graders.hide(self._hidden_folders())
        with Gradebook(self.book) as book:
            if regrade:
                self._find_kept(book, only)
                graders.prepare([*self.tasks, *self.kept.tasks])
            run = grade_into(book, self.tasks, graders, regrade=regrade, times=self.times, kept=self.kept.tasks)
            try:
                with closing(run), Progress(total=self._total) as progress:
                    for outcome in run:
                        self.outcomes.append(_drop_recorded(outcome))
                        progress.show(outcome)
                        if not outcome.kept:
                            self.compared.add(outcome.task)  # while others are graded
            except KeyboardInterrupt:
                self._report_interrupt()

    @property
    def _total(self) -> int:
        return len(self.tasks) + len(self.kept.tasks)

    def _find_kept(self, book: Gradebook, only: str | None) -> None:
        """Find what else the gradebook can grade again, and note what it cannot."""
        find = functools.partial(find_exercise, exercises=self.exercises, key=self.key)
        self.kept = find_kept_attempts(book, self.tasks, find=find, only=only)
        for slug, learners in self.kept.without_notebook.items():
            typer.echo(
                f"note: earlier attempts at {slug} of {join_names(learners)} keep their marks: they are from before "
                "the gradebook kept notebooks, and cannot be graded again; where you have a file, grade it once more",
                err=True,
            )
        for slug in self.kept.without_exercise:
            typer.echo(
                f"note: the attempts at {slug} keep their marks: its text was not found; say where it is with "
                "--exercises or --key",
                err=True,
            )

    def _report_interrupt(self) -> None:
        done = sum(outcome.report.status not in ("missing", "error") for outcome in self.outcomes)
        shown = self.book.split("://")[0] + "://..." if "://" in self.book else self.book
        make_console(stderr=True).print(
            f"course: stopped with {done} of {self._total} submissions in {shown}; "
            "run the same command again to go on from there",
            markup=False,
            soft_wrap=True,
        )
        raise typer.Exit(INTERRUPTED)

    def report(self) -> None:
        """Write the reports of all who are in the gradebook, and print the table of this run."""
        pairs, console = self.compared.pairs(), make_console()
        with Gradebook(self.book) as book:
            standings = Standings(book, (outcome.report for outcome in self.outcomes), self.policies)
            titles = self._titles(standings.exercises)
            seen = _Lines({(outcome.report.learner, outcome.report.exercise) for outcome in self.outcomes})
            written = reports.write_reports(
                standings, self.out, kinds=self.reports, titles=titles, pairs=pairs, look=seen.add
            )
            outdated = count_outdated(book, self.tasks)
        console.print(grades_table(seen.here, width=console.width))
        if pairs:
            console.print(similar_pairs_table(pairs))
        notes = [
            f"{self._count_known()} of {len(self.outcomes)} were in the gradebook already; --regrade grades them again",
        ] * bool(self._count_known())
        if again := sum(outcome.kept for outcome in self.outcomes):
            notes.append(f"{_count_attempts(again)} graded again from the gradebook")
        if outdated:
            notes.append(f"{_count_attempts(outdated)} graded by another key; --regrade grades all again")
        if seen.others:
            notes.append(f"the reports also have {seen.others} from the gradebook, not part of this run")
        if seen.absent:
            notes.append(f"the reports also have {seen.absent} from the roster, where nothing was handed in")
        files = [name for kind, name in reports.REPORT_KINDS.items() if kind not in self.reports and "." in name]
        if left := [str(self.out / name) for name in files if (self.out / name).is_file()]:
            notes.append(f"from an earlier run: {', '.join(left)}; name them with --report to write them anew")
        for line in notes:
            console.print(line, markup=False)
        console.print(f"written: {', '.join(map(str, written))}", markup=False, soft_wrap=True)

    def _count_known(self) -> int:
        return sum(outcome.already_graded for outcome in self.outcomes)

    def _titles(self, exercises: Sequence[str]) -> dict[str, str]:
        """Return the titles of the exercises, including those that only the gradebook has, if they can be found."""
        titles = {task.exercise.slug: task.exercise.title for task in self.tasks if task.exercise}
        for slug in set(exercises) - titles.keys():
            with contextlib.suppress(InputError):
                titles[slug] = find_exercise(slug, exercises=self.exercises, key=self.key).title
        return titles


@dataclass
class _Lines:
    """The lines of a run, and how many others there are: in the gradebook, and of whoever handed nothing in."""

    came: set[tuple[str, str]]
    here: list[GradeLine] = field(default_factory=list)
    others: int = 0
    absent: int = 0

    def add(self, line: GradeLine) -> None:
        """Add a line, or count it."""
        if (line.learner, line.exercise) in self.came:
            self.here.append(line)
        elif line.is_absent:
            self.absent += 1
        else:
            self.others += 1


def _drop_recorded(outcome: Outcome) -> Outcome:
    """Drop what the gradebook has of an outcome: the results of a large class's tests fill the memory."""
    if is_unrecorded(outcome.report):
        return outcome
    return replace(outcome, report=replace(outcome.report, rows=()))


def _count_attempts(count: int) -> str:
    """Count attempts as the subject of a sentence, with its verb."""
    return "1 earlier attempt was" if count == 1 else f"{count} earlier attempts were"


def _names_with_verb(names: Sequence[str]) -> str:
    """Join names as the subject of a sentence, with its verb."""
    return f"{join_names(names)} {'is' if len(names) == 1 else 'are'}"
