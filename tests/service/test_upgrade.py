"""A service's database of an older version is taken along by whoever opens it first; one of a newer is refused."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from course_grader.grading.grade_class.roster import RosterEntry
from course_grader.service import tables
from course_grader.service.course import Course
from course_grader.service.database import open_service_database
from course_grader.service.tables import CredentialKind, ExerciseRow, ServiceTables
from course_lib.errors import InputError

BACK_TO_1 = "DROP TABLE service_version; CREATE TABLE service (number INT PRIMARY KEY); INSERT INTO service VALUES (1)"


@pytest.fixture
def old(address):
    """The address of a database as version 1 left it, with one hand-in that waits; and the learner's secret."""
    course = Course(address)
    course.people.add([RosterEntry("ada")])
    secret = course.people.make_secret("ada", CredentialKind.TOKEN)
    course.hand_ins.publish([ExerciseRow(slug="double", title="Doubling", max_points=3, key_hash="k")])
    course.hand_in("ada", "double", b"waiting")
    course.close()
    with psycopg.connect(address) as connection:
        connection.execute(BACK_TO_1)
    return address, secret


def test_an_older_database_is_gone_on_with(old):
    """By a web server and workers that start at once: one migrates it, and the others wait."""
    address, secret = old
    with ThreadPoolExecutor(4) as pool:
        courses = list(pool.map(Course, [address] * 4))
    assert {course.people.who(secret, CredentialKind.TOKEN).name for course in courses} == {"ada"}
    assert courses[0].hand_ins.counts()["double"].waiting == 1
    for course in courses:
        course.close()


def test_its_tables_are_then_those_of_a_new_one(old):
    """As Alembic compares them; and the last step is the revision that new ones are given."""
    ours = {"include_name": lambda name, kind, _: kind != "table" or name in ServiceTables.metadata.tables}
    engine = open_service_database(old[0])
    with engine.begin() as connection:
        assert compare_metadata(MigrationContext.configure(connection, opts=ours), ServiceTables.metadata) == []
    engine.dispose()
    steps = Path(tables.__file__).parent / "migrations"
    assert ScriptDirectory(steps, version_locations=[steps]).get_current_head() == tables.REVISION


def test_a_newer_database_is_refused(address):
    """In one sentence, and nothing is changed."""
    open_service_database(address).dispose()
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE service_version SET version_num = '1000'")
    with pytest.raises(InputError, match=r"expected version \d+ of the service's tables.*found 1000"):
        open_service_database(address)
