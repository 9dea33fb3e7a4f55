"""What learning systems let instructors download becomes the folders that grading expects, and nothing else happens."""

import io
import zipfile
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from course_grader.grading.collect import Result, collect_class, open_download
from course_grader.grading.grade_class.find_submissions import find_submissions
from course_grader.grading.grade_class.roster import RosterEntry
from course_lib.errors import InputError

ROSTER = [
    RosterEntry("ada", "Lovelace, Ada King", "ada@uni.example", "4711", "s1"),
    RosterEntry("bob", "Bob O'Brien-Smith", "bob@uni.example", "4712", "s2"),
    RosterEntry("zoe", "Zo\N{LATIN SMALL LETTER E WITH DIAERESIS} M\u00fcller", "zoe@uni.example", "4713", "s3"),
    RosterEntry("kim", "Kim Lee", "kim@uni.example", "4714", "s4"),
    RosterEntry("lee", "Lee, Kim", "lee@uni.example", "4715", "s5"),
]
CANVAS = {
    "lovelaceadaking_4711_901_Copy of double-1.ipynb": "double",
    "lovelaceadaking_4711_902_notes.pdf": "",
    "obriensmithbob_LATE_4712_903_double.ipynb": "double",
    "m\u00fcllerzoe\u0308_4713_text.html": "",
    "strangerstan_99_905_double.ipynb": "double",
    "anon_Xy12z_906_double.ipynb": "double",
}
MOODLE = {
    "CS-1/Ada King Lovelace_31_assignsubmission_file_/double (2).ipynb": "double",
    "CS-1/Bob OBrien-Smith_32_assignsubmission_file/src/double.ipynb": "double",
    "CS-1/Zo\u00eb M\u00fcller_33_assignsubmission_onlinetext/onlinetext.html": "",
    "CS-1/Kim Lee_34_assignsubmission_file/double.ipynb": "double",
    "CS-1/Stan Stranger_35_assignsubmission_file/double.ipynb": "double",
    "CS-1/Participant_36_assignsubmission_file/double.ipynb": "double",
}
METADATA = """---
submission_1:
  :submitters:
  - :name: Ada Lovelace
    :sid: s1
    :email: Ada@uni.example
  - :name: B. OBrien
    :sid: s2
  :created_at: 2026-10-05 23:10:00.500000000 +02:00
  :results: !ruby/hash:ActiveSupport::HashWithIndifferentAccess
    tests: []
submission_2:
  :submitters:
  - :name: Zo\u00eb M\u00fcller
  :created_at: 2026-10-05 12:00:00 Z
submission_3:
  :submitters:
  - :name: Stan Stranger
    :email: stan@uni.example
submission_4: 7
"""
GRADESCOPE = {
    "assignment_5_export/submission_metadata.yml": METADATA,
    "assignment_5_export/submission_1/double.ipynb": "double",
    "assignment_5_export/submission_2/essay.docx": "",
    "assignment_5_export/submission_3/double.ipynb": "double",
    "assignment_5_export/submission_4/double.ipynb": "double",
}
DOWNLOADS = {"Canvas": CANVAS, "Moodle": MOODLE, "Gradescope": GRADESCOPE}


@pytest.fixture
def download(tmp_path, hand_in):
    """Return a function that makes a download, as a zip file or as its folder."""
    raw = hand_in().read_bytes()
    notebooks = {"double": raw, "triple": raw.replace(b'"double"', b'"triple"'), "other": raw + b" "}

    def make(names, *, packed=True):
        texts = {name: notebooks.get(kind) or kind.encode() or b"%PDF" for name, kind in names.items()}
        place = tmp_path / ("download.zip" if packed else "download")
        if packed:
            with zipfile.ZipFile(place, "w") as archive:
                for name, text in texts.items():
                    archive.writestr(zipfile.ZipInfo(name, (2026, 10, 5, 12, 0, 0)), text)
        else:
            for name, text in texts.items():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).write_bytes(text)
        return place

    return make


def collect(place, out, *, roster=ROSTER, **options):
    """Collect and return the system, and each learner's result."""
    with open_download(place) as files:
        system, lines = collect_class(files, roster, exercise="double", out=out, **options)
    return system, {line.learner: line for line in lines}


def tree(folder):
    """Return the files of a folder."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("system", DOWNLOADS)
def test_a_download_becomes_folders(download, tmp_path, exercises, system, packed):
    """Everyone is found under the roster's name; whoever it does not know, or might be two, gets no folder."""
    found, lines = collect(download(DOWNLOADS[system], packed=packed), out := tmp_path / "out")
    assert found == system
    assert (lines["ada"].result, lines["bob"].result, lines["zoe"].result) == (
        Result.COLLECTED,
        Result.COLLECTED,
        Result.NO_NOTEBOOK,
    )
    assert (lines["kim"].result, lines["lee"].result) == (Result.MISSING, Result.MISSING)
    unknown = [line for line in lines.values() if line.result is Result.UNKNOWN]
    assert len(unknown) == {"Canvas": 2, "Moodle": 3, "Gradescope": 2}[system]
    assert len(lines) == 5 + len(unknown)
    wrong = {"Canvas": "text.html", "Moodle": "onlinetext.html", "Gradescope": "essay.docx"}[system]
    assert tree(out) == {"ada/double.ipynb", "bob/double.ipynb", f"zoe/{wrong}"}
    tasks = {task.learner: task for task in find_submissions(out, exercises=exercises, slug="double")}
    assert tasks["ada"].path == out / "ada" / "double.ipynb"
    assert f"found {wrong}" in tasks["zoe"].message


def test_what_a_download_says_of_time_is_kept(download, tmp_path):
    """Gradescope's in the file, which grading goes by; Canvas's as a word in the table; else the archive's."""
    _, lines = collect(download(GRADESCOPE), tmp_path / "a")
    came = datetime(2026, 10, 5, 21, 10, 0, 500_000, tzinfo=UTC).timestamp()
    assert (tmp_path / "a" / "bob" / "double.ipynb").stat().st_mtime == came
    _, lines = collect(download(CANVAS), tmp_path / "b")
    assert (lines["bob"].note, lines["ada"].note) == ("late", "")
    noon = datetime(2026, 10, 5, 12).timestamp()
    assert (tmp_path / "b" / "bob" / "double.ipynb").stat().st_mtime == noon


def test_nothing_is_overwritten_unless_told(download, tmp_path):
    """A second time nothing changes; a newer notebook is refused with all who have one, and nobody's is written."""
    out = tmp_path / "out"
    collect(download(CANVAS), out)
    collect(download(CANVAS), out)
    before = {path: path.read_bytes() for path in out.rglob("*.ipynb")}
    newer = {name: "triple" if "_4711_901_" in name else kind for name, kind in CANVAS.items()}
    newer["leekim_4714_907_double.ipynb"] = "double"  # kim or lee by the name, kim by the number
    with pytest.raises(InputError, match=r"found another ada/double\.ipynb; pass --replace"):
        collect(download(newer), out)
    assert {path: path.read_bytes() for path in out.rglob("*.ipynb")} == before
    _, lines = collect(download(newer), out, overwrite=True)
    assert lines["kim"].result is Result.COLLECTED
    assert b'"triple"' in (out / "ada" / "double.ipynb").read_bytes()


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ({"double.ipynb": "triple", "other.ipynb": "double"}, "double.ipynb"),
        ({"a.ipynb": "double", "b.ipynb": "triple"}, "a.ipynb"),
        ({"broken.ipynb": "{", "c.pdf": ""}, "broken.ipynb"),
        ({"a.ipynb": "double", "b.ipynb": "double"}, "a.ipynb"),
        ({"a.ipynb": "double", "b.ipynb": "other"}, None),
        ({"._double.ipynb": "{", "c.pdf": ""}, None),
        ({"a.zip": "PK"}, None),
    ],
)
def test_of_several_files_the_notebook_is_chosen(download, tmp_path, given, chosen):
    """By its name, by what it says, because it is the only one; where that leaves two, both are there to look at."""
    names = {f"lovelaceadaking_4711_{number}_{name}": kind for number, (name, kind) in enumerate(given.items())}
    _, lines = collect(download(names), out := tmp_path / "out")
    assert lines["ada"].result is (Result.COLLECTED if chosen else Result.NO_NOTEBOOK)
    left = {f"ada/{name}" for name in given if not name.startswith("._")}
    assert tree(out) == ({"ada/double.ipynb"} if chosen else left)


def test_a_number_of_another_system_is_nobodys(download, tmp_path):
    """4711 is ada's in the roster, and someone else's in this download."""
    _, lines = collect(download({"strangerstan_4711_1_double.ipynb": "double"}), tmp_path / "out")
    assert lines["strangerstan 4711"].result is Result.UNKNOWN
    assert lines["ada"].result is Result.MISSING
    assert not (tmp_path / "out").exists()


FORGED = {
    # A learner of Canvas's who took ada's name and number for a name; 4712 is bob.
    "lovelaceadaking_4711_4712_901_double.ipynb": ("bob", "ada"),
    # Files of zoe's that look like what the system itself writes, or like another system.
    "Zo\u00eb M\u00fcller_33_assignsubmission_file/submission_metadata.yml": ("ada", "bob"),
    "Zo\u00eb M\u00fcller_33_assignsubmission_file_Kim Lee_1_assignsubmission_file_double.ipynb": ("kim", "lee"),
    "M\u00fcllerzo\u00eb_4713_1_x_4711_2_double.ipynb": ("ada", "bob"),
    "M\u00fcllerzo\u00eb_4713_1_Bob OBrien-Smith_1_assignsubmission_file_double.ipynb": ("ada", "bob"),
    "export/submission_9/submission_metadata.yml": ("ada", "bob"),
    "export/submission_9/Bob OBrien-Smith_1_assignsubmission_file/double.ipynb": ("ada", "bob"),
}


@pytest.mark.parametrize(("forged", "others"), FORGED.items())
def test_nobody_hands_in_for_another(download, tmp_path, forged, others):
    """Names that learners choose, of files or of themselves, lead to nobody else's folder."""
    text = METADATA.replace("submission_1", "submission_8") if forged.endswith(".yml") else "double"
    names = {forged: text}
    if "assignsubmission_file/" in forged and not forged.startswith("export"):
        names["Zo\u00eb M\u00fcller_33_assignsubmission_file/submission_8/double.ipynb"] = "double"
    if forged.startswith("export"):
        names["export/submission_9/submission_8/double.ipynb"] = "double"
        names["export/submission_metadata.yml"] = "submission_9: {':submitters': [{':name': Zo\u00eb M\u00fcller}]}"
    _, lines = collect(download(names), out := tmp_path / "out")
    assert not [learner for learner in others if (out / learner).exists()]
    assert all(lines[learner].result is Result.MISSING for learner in others)
    in_doubt = "_4711_" in forged
    assert (lines["zoe"].result is Result.MISSING) is in_doubt


def test_without_numbers_in_the_roster_a_name_with_a_number_is_nobodys(download, tmp_path):
    """Canvas's names alone do not tell ada's file from that of one who is called ``ada_4711`` there."""
    names = {"lovelaceadaking_4711_66_901_double.ipynb": "double", "obriensmithbob_4712_902_double.ipynb": "double"}
    roster = [replace(entry, id="") for entry in ROSTER]
    _, lines = collect(download(names), tmp_path / "out", roster=roster)
    assert (lines["ada"].result, lines["bob"].result) == (Result.MISSING, Result.COLLECTED)


def test_a_file_with_numbers_in_its_name_is_its_learners(download, tmp_path):
    """Beside others of the same learner, of whose number there is then no doubt."""
    names = {"lovelaceadaking_4711_901_double.ipynb": "double", "lovelaceadaking_4711_902_1_plot.png": ""}
    _, lines = collect(download(names), tmp_path / "out")
    assert (lines["ada"].result, lines["ada"].files) == (Result.COLLECTED, ("double.ipynb", "1_plot.png"))


def test_two_of_one_name_are_neither(download, tmp_path):
    """In the download as in the roster."""
    names = {f"Ada King Lovelace_{number}_assignsubmission_file/double.ipynb": "double" for number in (1, 2)}
    _, lines = collect(download(names), tmp_path / "out")
    assert [line.result for line in lines.values()].count(Result.UNKNOWN) == 2
    assert lines["Ada King Lovelace 1"].note == "ada or someone else of that name"
    assert not (tmp_path / "out").exists()


def bomb(path):
    """Pack a gigabyte of zeros, in files that each are small enough, into a megabyte."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(16):
            archive.writestr(f"a_1_{number}_double.ipynb", bytes(8 << 20))


def name_outside(path, name="../../a_1_2_double.ipynb"):
    """Pack a file whose name leads out of the folder."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, "x")


def link(path):
    """Pack a symbolic link."""
    with zipfile.ZipFile(path, "w") as archive:
        (entry := zipfile.ZipInfo("a_1_2_double.ipynb")).external_attr = 0o120777 << 16
        archive.writestr(entry, "/etc/passwd")


def lie(path):
    """Pack a file that is larger than the archive says."""
    with zipfile.ZipFile(whole := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a_1_2_double.ipynb", bytes(1 << 20))
    size = (1 << 20).to_bytes(4, "little")
    path.write_bytes(whole.getvalue().replace(size, (1 << 10).to_bytes(4, "little")))


HOSTILE = {
    "found 16 files of 128 MiB": bomb,
    "found ../../a_1_2_double.ipynb; this is no download": name_outside,
    "found /a_1_2_double.ipynb; this is no download": lambda path: name_outside(path, "/a_1_2_double.ipynb"),
    r"found a\..\b; this is no download": lambda path: name_outside(path, r"a\..\b"),
    "found the link a_1_2_double.ipynb": link,
    "can be unpacked at": lie,
    "found a file of another kind": lambda path: path.write_bytes(b"Rar!"),
    "found nothing": lambda path: None,
    "found x.ipynb; give that download as it is": lambda path: name_outside(path, "x.ipynb"),
    "found no files; give that download": lambda path: path.mkdir(),
    "found the link x": lambda path: (path.mkdir(), (path / "x").symlink_to("/etc/passwd")),
}


@pytest.mark.parametrize(("came", "make"), HOSTILE.items(), ids=[make.__name__ for make in HOSTILE.values()])
def test_what_is_no_download_is_refused(tmp_path, came, make):
    """In one sentence, before anything is written anywhere."""
    make(place := tmp_path / "download.zip")
    with pytest.raises(InputError) as caught:
        collect(place, tmp_path / "out")
    assert came in str(caught.value)
    assert ";" in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] in ([], ["download.zip"])


def test_gradescopes_own_file_makes_no_objects(download, tmp_path):
    """YAML can ask for any of Python's: this one is read as data, or refused."""
    text = f"submission_1: !!python/object/apply:pathlib.Path.touch [{tmp_path / 'touched'}]"
    names = {"submission_metadata.yml": text, "submission_1/double.ipynb": "double"}
    with pytest.raises(InputError, match="expected YAML in Gradescope's"):
        collect(download(names), tmp_path / "out")
    assert not (tmp_path / "touched").exists()


def test_a_file_that_is_too_large_is_told_so_by_grading(tmp_path):
    """It takes no more room than it may, and two of them cost nobody else anything."""
    with zipfile.ZipFile(tmp_path / "download.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in ("lovelaceadaking_4711_1_double", "obriensmithbob_4712_2_a", "obriensmithbob_4712_3_b"):
            archive.writestr(f"{name}.ipynb", bytes(17 << 20))
    _, lines = collect(tmp_path / "download.zip", out := tmp_path / "out")
    assert (lines["ada"].result, lines["bob"].result) == (Result.COLLECTED, Result.NO_NOTEBOOK)
    assert (out / "ada" / "double.ipynb").stat().st_size == (16 << 20) + 1
