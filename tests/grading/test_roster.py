"""A roster is read as learning systems export it, and what cannot be used in it is named with its line."""

import pytest

from course_grader.grading.grade_class.roster import RosterEntry, read_roster
from course_lib.errors import InputError

CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,Double (881)
,,,,,Manual Posting
    Points Possible,,,,,3.00
"Lovelace, Ada",4711,s0001,ada,A and B,2.50
"Student, Test",4799,,0f3a,A,
"""
MOODLE = 'First name,Last name,Username,ID number,"Email address"\r\nZoe\u0308,Müller,zoe,77,zoe@uni.example\r\n\r\n'
GRADESCOPE = "Name,SID,Email,Role\nAda Lovelace,1,ada@uni.example,Student\nTim Teach,2,tim@uni.example,Instructor\n"
CLASSROOM = '"identifier","github_username","github_id","name"\n"s1","ada-l","99",""\n'


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        (CANVAS, RosterEntry("ada", "Lovelace, Ada", "", "4711", "s0001", "A and B")),
        (MOODLE, RosterEntry("zoe", "Zoë Müller", "zoe@uni.example", "", "77")),
        (MOODLE.replace(",", ";"), RosterEntry("zoe", "Zoë Müller", "zoe@uni.example", "", "77")),
        (GRADESCOPE, RosterEntry("ada@uni.example", "Ada Lovelace", "ada@uni.example", "", "1")),
        (CLASSROOM, RosterEntry("ada-l", "", "", "99", "s1")),
        ("learner\nada", RosterEntry("ada")),
        ("\ufeffE-Mail\tName\nada@uni.example\tAda\n", RosterEntry("ada@uni.example", "Ada", "ada@uni.example")),
    ],
    ids=["Canvas", "Moodle", "semicolons", "Gradescope", "GitHub Classroom", "one column", "tabs"],
)
def test_a_roster_is_read_as_it_is_exported(tmp_path, text, entry):
    """Lines that are nobody's, and teachers, are left out; names are in the form that folders get (NFC)."""
    (path := tmp_path / "roster.csv").write_bytes(text.encode())
    assert read_roster(path) == [entry]


@pytest.mark.parametrize(
    ("text", "came"),
    [
        ("", "line 1: expected a column that says what each learner's folder is called (username, learner, "),
        ("Name,ID\nAda,1\n", "found 'Name,ID'; name the columns there"),
        ("username\n", "expected a line for each learner, found none"),
        ("name,username\nAda,\n", "line 2: expected what the learner's folder is called, found nothing"),
        ("username\n../ada\n", "line 2: expected what the learner's folder is called, found '../ada'"),
        ("username\nada\n\nADA\n", "line 4: expected one line for each learner, found 'ADA' here and 'ada' in "),
        ('username\n"ada\n', "expected a CSV file at"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(tmp_path, text, came):
    """With what must stand there, and what to do."""
    (path := tmp_path / "roster.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        read_roster(path)
    assert came in str(caught.value)
    assert ";" in str(caught.value)
