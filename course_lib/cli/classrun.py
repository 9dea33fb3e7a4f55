"""One run of ``course grade``: look at what was asked for, grade into the gradebook, then report."""

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import typer

from course_lib.cli.console import make_console
from course_lib.cli.progress import Progress
from course_lib.cli.table import grades_table, pairs_table
from course_lib.errors import InputError
from course_lib.grading import reports
from course_lib.grading.classroom import Task
from course_lib.grading.gradebook import (
    Gradebook,
    Outcome,
    Policies,
    Standing,
    grade_into,
    read_policies,
    read_times,
    standings,
)
from course_lib.grading.gradebook.submitted import Times
from course_lib.grading.graders import Graders
from course_lib.grading.similarity import Comparison

__all__ = ["BOOK", "RULES", "ClassRun"]

BOOK, RULES = "gradebook.sqlite", Path("course.toml")
INTERRUPTED = 130


@dataclass
class ClassRun:
    """What was asked for, and what has come of it so far."""

    tasks: list[Task]
    submissions: Path
    out: Path
    gradebook: str | None
    reports: list[str]
    policies: Policies = field(default_factory=Policies)
    times: Times = field(default_factory=dict)
    standings: list[Standing] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    compared: Comparison = field(default_factory=Comparison)

    def read_rules(self, rules: Path | None, submitted: Path | None) -> None:
        """Read the cohort's rules and the times of submission, and check what will be written."""
        if strange := [name for name in self.reports if name not in reports.KINDS]:
            raise InputError(
                f"expected --report to be one of {', '.join(reports.KINDS)}, found {strange[0]!r}; correct it"
            )
        self._check_out()
        if rules is not None or RULES.is_file():
            self.policies = read_policies(rules or RULES)
        if submitted is not None:
            self.times = read_times(submitted)
        self._note_what_is_passed_over()
        self._note_what_applies_to_nobody()
        reports.prepare(self.out, self.reports)

    def _note_what_is_passed_over(self) -> None:
        """Say for each learner with notebooks under other names which are graded and which are not, and why."""
        graded: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for task in self.tasks:
            if task.passed_over and task.path is not None:
                graded.setdefault((task.learner, task.passed_over), []).append(task.path.name)
        for (learner, passed_over), names in graded.items():
            typer.echo(
                f"note: {learner}: {_are(names)} graded, {_are(passed_over)} passed over: a notebook is graded under "
                "its exercise's name; if another is meant, give it that name",
                err=True,
            )

    def _note_what_applies_to_nobody(self) -> None:
        """Say which rules and times are for nothing that is here: a name may be misspelled, or its turn yet to come."""
        here = {(task.learner, task.exercise.slug) for task in self.tasks if task.exercise}
        slugs = {slug for _, slug in here}
        for slug in sorted(self.policies.exercises.keys() - slugs):
            typer.echo(
                f"note: there are rules for the exercise {slug}, and no notebook of it; is its name right?", err=True
            )
        if strange := sorted(self.times.keys() - here):
            learner, slug = strange[0]
            more = f", and for {len(strange) - 1} more like it" if len(strange) > 1 else ""
            typer.echo(
                f"note: there is a time for {slug} of {learner}, and no notebook{more}; are the names right?", err=True
            )

    def _check_out(self) -> None:
        """Refuse to write where the next run would take what was written for a learner's folder."""
        folder = Path(os.path.realpath(self.out))
        if any(place.exists() and place.samefile(self.submissions) for place in (folder, *folder.parents)):
            raise InputError(
                f"expected --out outside the folder of submissions, found {self.out}; name another folder with --out"
            )

    @property
    def book(self) -> str:
        """Where the gradebook is."""
        return self.gradebook or str(self.out / BOOK)

    def grade(self, graders: Graders, *, regrade: bool) -> None:
        """Grade, with a progress bar; Ctrl-C ends it in order."""
        if not self.gradebook:
            self.out.mkdir(parents=True, exist_ok=True)
        with Gradebook(self.book) as book:
            run = grade_into(book, self.tasks, graders, regrade=regrade, times=self.times)
            try:
                with closing(run), Progress(total=len(self.tasks)) as progress:
                    for outcome in run:
                        self.outcomes.append(outcome)
                        progress.show(outcome)
                        self.compared.add(outcome.task)  # while others are graded
            except KeyboardInterrupt:
                self._stop()
            self.standings = standings(book, self.outcomes, self.policies)

    def _stop(self) -> None:
        done = sum(outcome.report.status not in ("missing", "error") for outcome in self.outcomes)
        shown = self.book.split("://")[0] + "://..." if "://" in self.book else self.book
        make_console(stderr=True).print(
            f"course: stopped with {done} of {len(self.tasks)} submissions in {shown}; "
            "run the same command again to go on from there",
            markup=False,
            soft_wrap=True,
        )
        raise typer.Exit(INTERRUPTED)

    def report(self) -> None:
        """Write the reports, and print the table."""
        titles = {task.exercise.slug: task.exercise.title for task in self.tasks if task.exercise}
        pairs = self.compared.pairs()
        written = reports.write(self.standings, self.out, kinds=self.reports, titles=titles, pairs=pairs)
        console = make_console()
        console.print(grades_table(self.standings))
        if pairs:
            console.print(pairs_table(pairs))
        counts = Counter(outcome.known for outcome in self.outcomes)
        if counts[True]:
            line = f"{counts[True]} of {len(self.outcomes)} were in the gradebook already; --regrade grades them again"
            console.print(line, markup=False)
        console.print(f"written: {', '.join(map(str, written))}", markup=False, soft_wrap=True)


def _are(names: Sequence[str]) -> str:
    """Return the names as the subject of a sentence, with its verb."""
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'}"
