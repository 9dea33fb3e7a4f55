"""Put what a class handed in where grading expects it: ``<out>/<learner>/<exercise>.ipynb``."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path, PurePosixPath

from course_grader.grading.collect.learning_systems import HandIn, read_hand_ins
from course_grader.grading.collect.match_roster import RosterIndex
from course_grader.grading.exercises.submitted_notebook import MAX_BYTES
from course_grader.grading.grade_class.choose_notebook import SUFFIXES, clean_name, drop_copies, read_claim
from course_grader.grading.grade_class.roster import RosterEntry
from course_grader.grading.reports.safe_files import write_atomically
from course_grader.grading.text import join_names
from course_lib.errors import InputError

__all__ = ["Collected", "Result", "collect_class"]

MOST_FILES = 10  # of one learner, where none of them can be the notebook
NAME_CHARS = 60  # of up to four bytes each


class Result(StrEnum):
    """What became of one learner's hand-in, as the table says it."""

    COLLECTED = "collected"
    NO_NOTEBOOK = "no notebook"
    MISSING = "missing"
    UNKNOWN = "not in the roster"


@dataclass(frozen=True)
class Collected:
    """One line of the outcome: a learner, or whom the download has in place of one; and the names of their files."""

    learner: str
    result: Result
    files: tuple[str, ...] = ()
    note: str = ""


@dataclass
class _Plan:
    """What is to be written, and the outcome if it is."""

    lines: list[Collected] = field(default_factory=list)
    sources: dict[Path, tuple[Path, HandIn]] = field(default_factory=dict)


def collect_class(
    files: Mapping[str, Path], roster: Sequence[RosterEntry], *, exercise: str, out: Path, overwrite: bool = False
) -> tuple[str, list[Collected]]:
    """Collect the notebooks of one exercise; nothing is written if something else would be lost by it.

    Parameters
    ----------
    files : mapping
        The files of a download, from :func:`course_grader.grading.collect.unpack_safely.open_download`.
    roster : sequence of RosterEntry
        The learners of the course.
    exercise : str
        The exercise that the download is of.
    out : Path
        The class's submissions.
    overwrite : bool
        Whether a notebook of an earlier download gives way to a different one.

    Returns
    -------
    str, list of Collected
        The learning system, and a line for each learner of the roster and for each hand-in that is nobody's.

    Raises
    ------
    InputError
        If no system names files in this way, or without ``overwrite`` if another file is in the way.
    """
    system, hand_ins = read_hand_ins(files)
    plan = _make_plan(hand_ins, roster, exercise, out)
    changed = [target for target, (source, _) in plan.sources.items() if not _is_same(target, source)]
    taken = [target.relative_to(out).as_posix() for target in changed if target.exists() or target.is_symlink()]
    if taken and not overwrite:
        raise InputError(
            f"expected no other files in {out}, found another {join_names(taken)}; pass --replace if this download is "
            "the newer one, or name another --out"
        )
    for target in changed:
        source, hand_in = plan.sources[target]
        with source.open("rb") as file:
            write_atomically(target, file.read(MAX_BYTES + 1))
        time = hand_in.submitted_at.timestamp() if hand_in.submitted_at else source.stat().st_mtime
        os.utime(target, (time, time))
    order = list(Result)  # what is to be looked at comes last, where one looks
    return system, sorted(plan.lines, key=lambda line: (order.index(line.result), line.learner))


def _make_plan(hand_ins: Sequence[HandIn], roster: Sequence[RosterEntry], exercise: str, out: Path) -> _Plan:
    plan, matched = _Plan(), _match(hand_ins, RosterIndex(roster))
    times = Counter(owner for owner, _ in matched if owner)
    for owner, hand_in in matched:
        names = tuple(clean_name(name) for name in hand_in.files)
        if owner is None or times[owner] > 1:
            note = f"{owner.username} or someone else of that name" if owner else ""
            plan.lines.append(Collected(clean_name(hand_in.shown), Result.UNKNOWN, names, note))
            continue
        chosen, late = _choose(hand_in.files, exercise), "late" if hand_in.late else ""
        result = Result.COLLECTED if chosen else Result.NO_NOTEBOOK
        plan.lines.append(Collected(owner.username, result, names, late))
        named = {f"{exercise}.ipynb": hand_in.files[chosen]} if chosen else _safe_names(hand_in.files)
        plan.sources |= {out / owner.username / name: (path, hand_in) for name, path in named.items()}
    plan.lines += [Collected(entry.username, Result.MISSING) for entry in roster if entry not in times]
    return plan


def _match(hand_ins: Sequence[HandIn], index: RosterIndex) -> list[tuple[RosterEntry | None, HandIn]]:
    """Return hand-ins with their learners; what the download has under the same name and number is one hand-in."""
    found: dict[tuple[RosterEntry | None, str], HandIn] = {}
    for hand_in in hand_ins:
        key = index.find(hand_in.keys, hand_in.name), hand_in.shown
        before = found.get(key)
        found[key] = replace(before, files={**before.files, **hand_in.files}) if before else hand_in
    return [(owner, hand_in) for (owner, _), hand_in in found.items()]


def _choose(files: Mapping[str, Path], exercise: str) -> str | None:
    """Choose by the exercise's name, by what only one notebook says, or because there is only one; else none."""
    texts = [name for name in files if name.strip().casefold().endswith(SUFFIXES)]
    named = [name for name in files if PurePosixPath(name).name == f"{exercise}.ipynb"]
    claiming = [name for name in texts[:MOST_FILES] if read_claim(files[name]) == exercise]
    only = [name for name in files if name.casefold().endswith(".ipynb")]
    for names in (named, claiming, only):
        if len(drop_copies([files[name] for name in names])) == 1:
            return names[0]
    return None


def _safe_names(files: Mapping[str, Path]) -> dict[str, Path]:
    """Return files under names that are no paths: grading tells the learner what came in place of a notebook."""
    return {
        clean_name(name.replace("/", "-"))[-NAME_CHARS:].strip(" ."): path
        for name, path in islice(files.items(), MOST_FILES)
    }


def _is_same(target: Path, source: Path) -> bool:
    return target.is_file() and not target.is_symlink() and target.read_bytes() == source.read_bytes()
