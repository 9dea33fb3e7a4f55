"""A folder of submissions becomes tasks, whatever is in it."""

import os
import shutil
import unicodedata

import nbformat
import pytest

from course_grader.grading import reports
from course_grader.grading.exercises.submitted_notebook import parse_submission
from course_grader.grading.grade_class import choose_notebook
from course_grader.grading.grade_class.find_submissions import find_strays, find_submissions
from course_lib.errors import InputError
from tests.grading.conftest import SOURCE


def test_a_flat_folder_is_called_after_learners(tmp_path, exercises, hand_in):
    """With an exercise named, ``<learner>.ipynb`` will do; without, the message says so."""
    folder = tmp_path / "flat"
    folder.mkdir()
    hand_in().rename(folder / "ada.ipynb")
    [task] = find_submissions(folder, exercises=exercises, slug="double")
    assert (task.learner, task.exercise.slug) == ("ada", "double")
    with pytest.raises(InputError, match=r"found the notebook ada\.ipynb; say with --exercise"):
        find_submissions(folder, exercises=exercises)


def test_exercises_are_known_by_the_files_names(classroom, exercises):
    """Without an exercise named, each notebook is graded as what it is called, or as what it says it is."""
    tasks = find_submissions(classroom, exercises=exercises)
    assert {task.learner for task in tasks if task.exercise} == {
        "=cmd()",
        "ada",
        "bob",
        "cut off",
        "empty",
        "fay",
        "hal",
        "jon",
    }


OTHER_NAMES = (
    "Copy of double.ipynb",
    "double (1).ipynb",
    "double .ipynb",
    "double.IPYNB",
    "Untitled.ipynb.txt",
    "x.json",
)


@pytest.mark.parametrize("name", OTHER_NAMES)
@pytest.mark.parametrize("slug", ["double", None])
def test_a_notebook_under_another_name_is_known_by_what_it_says(classroom, exercises, hand_in, name, slug):
    """The only one of its exercise is graded, whatever it is called; the learner is told how it should be called."""
    (classroom / "gil" / name).write_bytes(hand_in().read_bytes())
    tasks = {task.learner: task for task in find_submissions(classroom, exercises=exercises, slug=slug)}
    task = tasks["gil"]
    assert (task.exercise.slug, task.path.name, task.ungraded_names) == ("double", name, ())
    assert f"{name} was graded" in task.message
    assert "call it double.ipynb" in task.message


def test_of_two_that_say_so_the_one_with_the_name_is_taken(classroom, exercises, hand_in):
    """And the learner is told of the other."""
    (classroom / "ada" / "double (1).ipynb").write_bytes(hand_in().read_bytes())
    tasks = {task.learner: task for task in find_submissions(classroom, exercises=exercises)}
    assert tasks["ada"].path.name == "double.ipynb"
    assert "double.ipynb was graded, and not double (1).ipynb" in tasks["ada"].message


def test_of_two_that_say_so_and_have_other_names_none_is_taken(classroom, exercises, hand_in):
    """Which one was meant nobody can know; both are named, and how to say it."""
    for name in ("double (1).ipynb", "Copy of double.ipynb"):
        (classroom / "gil" / name).write_bytes(hand_in().read_bytes() + b" " * len(name))
    tasks = {task.learner: task for task in find_submissions(classroom, exercises=exercises)}
    assert (tasks["gil"].path, tasks["gil"].exercise.slug) == (None, "double")
    assert "found Copy of double.ipynb and double (1).ipynb; hand in the one that is meant" in tasks["gil"].message


def test_of_two_copies_either_will_do(classroom, exercises, hand_in):
    """As they are when a notebook was uploaded twice."""
    for name in ("double (1).ipynb", "double (2).ipynb"):
        (classroom / "gil" / name).write_bytes(hand_in().read_bytes())
    tasks = {task.learner: task for task in find_submissions(classroom, exercises=exercises)}
    assert (tasks["gil"].path.name, tasks["gil"].ungraded_names) == ("double (1).ipynb", ("double (2).ipynb",))
    assert tasks["gil"].message.startswith("double (1).ipynb was graded: it says")


def test_what_a_notebook_says_leads_to_no_key_elsewhere(classroom, exercises, exercise):
    """A learner who hands in a key of their own, and a notebook that names its path, is graded by none."""
    own = shutil.copytree(exercise.key, classroom / "gil" / "mine" / "key").parent
    slug = os.path.relpath(own, exercises)
    (own / "key" / "source.md").write_text(SOURCE.replace("exercise: double", f"exercise: {slug}"), encoding="utf-8")
    notebook = exercise.reference()
    notebook.metadata.course = {"exercise": slug}
    nbformat.write(notebook, classroom / "gil" / "any.ipynb")
    tasks = {task.learner: task for task in find_submissions(classroom, exercises=exercises)}
    assert (tasks["gil"].path, tasks["gil"].exercise) == (None, None)


def test_of_one_learners_files_a_bounded_part_is_read(classroom, exercises, hand_in, monkeypatch):
    """A folder can hold any number of them; the exercise's own name is found whatever lies before it."""
    read = []
    monkeypatch.setattr(choose_notebook, "parse_submission", lambda raw: read.append(len(raw)) or parse_submission(raw))
    for number in range(30):
        (classroom / "gil" / f"{number:02}.ipynb").write_bytes(b" " * (4 << 20))
    (classroom / "gil" / "double.ipynb").write_bytes(hand_in().read_bytes())
    tasks = {task.learner: task for task in find_submissions(classroom, exercises=exercises)}
    assert tasks["gil"].path.name == "double.ipynb"
    assert read.count(4 << 20) == 4


@pytest.mark.parametrize("flat", [True, False])
def test_a_name_in_two_encodings_is_one_learner(tmp_path, exercises, hand_in, flat):
    """As a folder from a Mac and one from Windows have it: one name in the gradebook, and both at once are refused."""
    raw = hand_in().read_bytes()
    for form in ("NFD", "NFC"):
        name = unicodedata.normalize(form, "Zo\N{LATIN SMALL LETTER E WITH DIAERESIS}")
        path = tmp_path / form / (f"{name}.ipynb" if flat else f"{name}/double.ipynb")
        path.parent.mkdir(parents=True)
        path.write_bytes(raw)
        [task] = find_submissions(tmp_path / form, exercises=exercises, slug="double")
        assert task.learner == "Zo\N{LATIN SMALL LETTER E WITH DIAERESIS}"
        shutil.copytree(tmp_path / form, tmp_path / "both", dirs_exist_ok=True)
    with pytest.raises(InputError, match=r"found two for Zo.*, 'Zo.*' and 'Zo.*'.*; move all into one") as caught:
        find_submissions(tmp_path / "both", exercises=exercises, slug="double")
    assert "\\u0308" in str(caught.value)


@pytest.mark.parametrize("slug", ["double", None])
def test_notebooks_under_other_names_are_kept_count_of(classroom, exercises, hand_in, tmp_path, slug):
    """And files of other kinds, beside one that is graded or a folder deeper; not other exercises' and hidden ones."""
    exercises = shutil.copytree(exercises, tmp_path / "exercises")
    (exercises / "triple").mkdir()
    for name in ("double (1).ipynb", "a\x1bb.ipynb", "triple.ipynb", ".double.ipynb", "double.txt"):
        (classroom / "ada" / name).write_bytes(hand_in().read_bytes())
    for name in ("deep/er/triple.ipynb", "__MACOSX/double.ipynb", "none/.hidden"):
        (classroom / "ada" / name).parent.mkdir(parents=True)
        (classroom / "ada" / name).touch()
    tasks = {task.learner: task for task in find_submissions(classroom, exercises=exercises, slug=slug)}
    assert (tasks["ada"].path.name, tasks["ada"].ungraded_names) == (
        "double.ipynb",
        ("a\N{REPLACEMENT CHARACTER}b.ipynb", "deep/er", "double (1).ipynb", "double.txt", "none"),
    )
    assert {learner for learner, task in tasks.items() if task.ungraded_names} == {"ada"}
    assert (
        "double.ipynb was graded, and not a\N{REPLACEMENT CHARACTER}b.ipynb, double (1).ipynb" in tasks["ada"].message
    )


@pytest.mark.parametrize(
    ("names", "came"),
    [
        ([], "found no notebook; hand in the notebook under its own name"),
        (["double (1).ipynb", "triple.ipynb"], "found double (1).ipynb and triple.ipynb; hand in the notebook under"),
        (["double.zip"], "found double.zip; hand in the notebook itself, under its own name, not packed and not"),
        (["double.IPYNB"], "found double.IPYNB; hand in the notebook itself"),
        (["sub/double.ipynb", "double.ipynb.txt"], "found double.ipynb.txt and sub/double.ipynb; hand in the notebook"),
        ([f"{number}.png" for number in range(9)], "found 0.png, 1.png, 2.png, 3.png, 4.png and 4 more; hand in"),
    ],
)
def test_where_a_notebook_is_missing_what_lies_there_is_named(classroom, exercises, names, came):
    """With what to do about it."""
    for name in names:
        (path := classroom / "gil" / name).parent.mkdir(exist_ok=True)
        path.touch()
    tasks = {task.learner: task for task in find_submissions(classroom, exercises=exercises, slug="double")}
    assert tasks["gil"].path is None
    assert f"expected double.ipynb, {came}" in tasks["gil"].message


def test_files_among_the_learners_are_named(classroom, exercises, tmp_path):
    """As strays beside a class, and in the sentence that says that there is none."""
    for folder in (classroom, empty := tmp_path / "empty"):
        folder.mkdir(exist_ok=True)
        for name in ("ada.zip", "carl.IPYNB", "dora.ipynb.txt", ".DS_Store"):
            (folder / name).touch()
    assert find_strays(classroom) == ("ada.zip", "carl.IPYNB", "dora.ipynb.txt", "notes.txt")
    with pytest.raises(InputError, match=r"no such notebook, only ada\.zip, carl\.IPYNB and dora\.ipynb\.txt; check"):
        find_submissions(empty, exercises=exercises)


@pytest.mark.parametrize("named", [True, False])
def test_a_notebook_of_another_exercise_is_no_reason_to_stop(classroom, exercise, tmp_path, named):
    """Also where there is one key alone, and it is not named which exercise's it is."""
    path = classroom / "hal" / "my double.ipynb"
    path.write_text(path.read_text("utf-8").replace('"double"', '"triple"'), "utf-8")
    for key in (exercise.key, exercise.key.parents[1]):
        tasks = find_submissions(classroom, exercises=tmp_path / "none", slug="double" if named else None, key=key)
        came = {task.learner: task for task in tasks}
        assert came["ada"].exercise.key == exercise.key
        assert came["hal"].path is None


def test_a_private_key_is_found(classroom, exercise, tmp_path):
    """``--key`` may name the folder of one key, or of several by exercise."""
    for key in (exercise.key, exercise.key.parents[1]):
        tasks = find_submissions(classroom, exercises=tmp_path / "none", slug="double", key=key)
        assert next(task for task in tasks if task.exercise).exercise.key == exercise.key
    with pytest.raises(InputError, match=r"expected the text of exercise 'double' at .*; check --exercises and --key"):
        find_submissions(classroom, exercises=tmp_path / "none", slug="double", key=tmp_path)


@pytest.mark.parametrize(
    ("make", "came"),
    [
        (lambda path: None, "found nothing"),
        (lambda path: path.write_text("x"), "found a file"),
        (lambda path: path.mkdir(), "found no such notebook"),
    ],
)
def test_what_is_not_a_class_is_named(tmp_path, exercises, make, came):
    """A missing folder, a file and an empty folder are told apart."""
    make(folder := tmp_path / "class")
    with pytest.raises(InputError, match=came):
        find_submissions(folder, exercises=exercises)


def test_a_learners_name_can_be_any_bytes(tmp_path, exercises, hand_in):
    """A folder's name that is not text, or holds control characters, is shown as far as it can be, and never used."""
    raw = hand_in().read_bytes()
    for name in (b"caf\xe9", b"a\x1b[31mred"):
        folder = tmp_path / "class" / name.decode("utf-8", "surrogateescape")
        folder.mkdir(parents=True)
        (folder / "double.ipynb").write_bytes(raw)
    learners = [task.learner for task in find_submissions(tmp_path / "class", exercises=exercises)]
    assert learners == ["a\N{REPLACEMENT CHARACTER}[31mred (ab2940)", "caf\\udce9 (dafd66)"]


ALIKE = ("ada", "ada ", "a  b", "a b", "x\N{ZERO WIDTH SPACE}", "x\N{ZERO WIDTH NON-JOINER}", "caf\udce9", "caf\\udce9")


@pytest.mark.parametrize("flat", [True, False])
def test_learners_whose_names_look_alike_stay_two(tmp_path, exercises, hand_in, flat):
    """Blanks and characters that are not shown tell them apart; who has a plain name keeps it as it is."""
    raw = hand_in().read_bytes()
    for name in ALIKE:
        path = tmp_path / "class" / (f"{name}.ipynb" if flat else f"{name}/double.ipynb")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
    learners = {task.learner for task in find_submissions(tmp_path / "class", exercises=exercises, slug="double")}
    assert len(learners) == len(ALIKE)
    assert {"ada", "a b", "caf\\udce9"} <= learners
    assert all(len(name.encode().splitlines()) == 1 and name.isprintable() for name in learners)


def test_a_name_made_to_look_like_anothers_is_refused(tmp_path, exercises, hand_in):
    """Both are named as they are written, so that one of them can be given another name."""
    raw = hand_in().read_bytes()
    for name in ("ada ", "ada (680f1a)"):
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "double.ipynb").write_bytes(raw)
    with pytest.raises(InputError, match=r"found 'ada ' and 'ada \(680f1a\)'; rename one of them"):
        find_submissions(tmp_path / "class", exercises=exercises)


def test_a_place_that_cannot_hold_grades_is_named_before_grading(tmp_path):
    """A file where the folder should be, or above it, and a folder where a file should be."""
    (tmp_path / "file").touch()
    (tmp_path / "taken" / "grades.json").mkdir(parents=True)
    for folder, came in {"file": "found a file", "file/below": "found a file", "taken": "found a folder there"}.items():
        with pytest.raises(InputError, match=came):
            reports.check_folder(tmp_path / folder)
    reports.check_folder(tmp_path / "new" / "and" / "deep")
    assert not (tmp_path / "new").exists()


def test_of_many_files_beside_a_notebook_the_first_are_named(classroom, exercises):
    """A whole environment may have been packed with it."""
    for number in range(50):
        (classroom / "ada" / f"{number:02}.txt").touch()
    tasks = {task.learner: task for task in find_submissions(classroom, exercises=exercises, slug="double")}
    assert tasks["ada"].ungraded_names == tuple(f"{number:02}.txt" for number in range(20))


def test_a_notebook_in_a_folder_of_its_own_is_to_be_taken_out_of_it(classroom, exercises):
    """Its name is right, and its place is not."""
    (path := classroom / "gil" / "sub" / "double.ipynb").parent.mkdir()
    path.touch()
    tasks = {task.learner: task for task in find_submissions(classroom, exercises=exercises, slug="double")}
    assert "found sub/double.ipynb; hand in the notebook itself" in tasks["gil"].message
    assert tasks["gil"].message.endswith("not packed and not in another folder")
