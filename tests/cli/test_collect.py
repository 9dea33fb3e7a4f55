"""From a learning system's download to marks, as an instructor types it."""

import zipfile
from pathlib import Path

import pytest

from tests.grading.conftest import read_details

ROSTER = (
    'Student,ID,SIS Login ID\n    Points Possible,,\n"Lovelace, Ada",4711,ada\n"O\'Brien, Bob",4712,bob\nZed,4713,zed\n'
)


@pytest.fixture
def download(classroom):
    """A download of Canvas's in the working directory, and the roster, which the course's rules name."""
    raw = (classroom / "submissions" / "ada" / "double.ipynb").read_bytes()
    (classroom / "roster.csv").write_text(ROSTER)
    (classroom / "course.toml").write_text('roster = "roster.csv"\n')
    with zipfile.ZipFile("submissions.zip", "w") as archive:
        archive.writestr("lovelaceada_4711_901_double (1).ipynb", raw)
        archive.writestr("obrienbob_LATE_4712_902_double.ipynb", b"PK\x03\x04")
        archive.writestr("strangerstan_99_903_double.ipynb", raw)
    return ["collect", "submissions.zip", "--exercise", "double", "--out", "class"]


def test_a_download_is_collected_and_graded(course, download):
    """Each learner has a line that says what became of theirs, and their mark under the roster's name."""
    status, out, err = course(*download)
    assert (status, err.count("\n")) == (0, 1)
    assert "Canvas's download does not say when" in err
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if line.startswith("│")]
    assert rows == [
        ["ada", "collected", "double (1).ipynb"],
        ["bob", "collected", "double.ipynb; late"],
        ["zed", "missing", ""],
        ["strangerstan 99", "not in the roster", "double.ipynb"],
    ]
    assert out.splitlines()[0] == "double, from Canvas, into class"
    assert out.splitlines()[-1] == "2 collected, 1 missing, 1 not in the roster"
    assert course("grade", "class", "-j", 1)[0] == 0
    entries = read_details(Path("grades"))
    graded = {entry["learner"]: entry for entry in entries}
    assert {learner: entry["points"] for learner, entry in graded.items()} == {"ada": 3, "bob": 0, "zed": 0}
    assert "found a zip archive under its name" in graded["bob"]["messages"][0]


def test_what_cannot_be_collected_is_one_line(course, download, classroom):
    """And the folders stay as they are."""
    assert course(*download)[0] == 0
    (classroom / "class" / "ada" / "double.ipynb").write_text("mine")
    before = {path: path.read_bytes() for path in classroom.rglob("*") if path.is_file()}
    for change, came in (
        ([], "found another ada/double.ipynb; pass --replace"),
        (["--roster", "none.csv"], "none.csv"),
        (["--exercise", "duoble"], "expected the text of exercise 'duoble'"),
        (["--out", "submissions.zip"], "expected --out outside of the download"),
    ):
        status, out, err = course(*download, *change)
        assert (status, out, err.count("\n")) == (2, "", 1), err
        assert err.startswith("course: ")
        assert came in err
    assert {path: path.read_bytes() for path in classroom.rglob("*") if path.is_file()} == before
    assert course(*download, "--replace", "--roster", "roster.csv")[0] == 0
    (classroom / "course.toml").unlink()
    assert "expected a roster, found none in course.toml here; name the CSV file with --roster" in course(*download)[2]
