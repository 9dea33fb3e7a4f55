"""Answers are found by whatever name survived the learner's editor, and nothing else is taken."""

import json

import nbformat
import pytest

from course_grader.grading.exercises.answers import (
    AnswerFault,
    Fault,
    answers_of,
    check_exercise,
    collect_answers,
    insert_answers,
)
from course_grader.grading.exercises.submitted_notebook import parse_submission
from course_grader.grading.grade_one.grade_submission import grade_submission
from course_grader.grading.grade_one.learner_messages import report_fault
from course_lib.errors import NotebookError
from tests.grading.conftest import SOURCE


@pytest.fixture
def handed_in(exercise):
    """Return a function that edits the reference notebook as JSON and reads it back."""

    def read(edit):
        notebook = json.loads(nbformat.writes(exercise.reference()))
        edit(notebook)
        return parse_submission(json.dumps(notebook).encode())

    return read


def drop_ids(notebook):
    """What nbformat 4.4 does."""
    notebook["nbformat_minor"] = 4
    for cell in notebook["cells"]:
        del cell["id"]


def colab(notebook):
    """What Colab does: ids move into the metadata, and all other metadata may go."""
    notebook["metadata"] = {"colab": {"provenance": []}}
    for cell in notebook["cells"]:
        cell["metadata"] = {"id": cell.pop("id")}


def new_ids(notebook):
    """What copying every cell into another notebook does."""
    for number, cell in enumerate(notebook["cells"]):
        cell["id"] = f"cell-{number}"


def reorder(notebook):
    """What a restless learner does."""
    notebook["cells"].reverse()


def copy_with_new_id(notebook):
    """What copy and paste of a cell does: the metadata come along, the id does not."""
    answer = next(cell for cell in notebook["cells"] if cell["id"] == "double")
    notebook["cells"].insert(0, answer | {"id": "f00", "source": "scratch"})


@pytest.mark.parametrize("edit", [lambda n: None, drop_ids, colab, new_ids, reorder, copy_with_new_id])
def test_answers_are_found_however_the_notebook_was_saved(handed_in, exercise, edit):
    """Cell ids, the course's metadata and Colab's are tried in this order."""
    answers, faults = collect_answers(handed_in(edit), answers_of(exercise.pristine()))
    assert answers == {"double": "def double(x):\n    return 2 * x", "halve": "def halve(x):\n    return x / 2"}
    assert len(faults) == (edit is copy_with_new_id)  # of which it is said that there is another


def test_a_missing_answer_is_named_and_the_others_are_taken(handed_in, exercise):
    """One deleted cell costs that answer only."""
    submission = handed_in(lambda n: n["cells"].pop(next(i for i, c in enumerate(n["cells"]) if c["id"] == "double")))
    answers, faults = collect_answers(submission, answers_of(exercise.pristine()))
    assert list(answers) == ["halve"]
    assert faults == [AnswerFault("double", Fault.MISSING)]
    assert report_fault(*faults) == "the answer cell `double` is missing, so it counts as unanswered: put it back"


def test_an_answer_that_is_there_twice_is_not_guessed(handed_in, exercise):
    """Two different cells of one name count as none; two equal ones as one."""

    def twice(source):
        def edit(notebook):
            answer = next(cell for cell in notebook["cells"] if cell["id"] == "double")
            notebook["cells"].append(answer | {"source": source or answer["source"]})

        return handed_in(edit)

    answers, faults = collect_answers(twice("def double(x): return 3 * x"), answers_of(exercise.pristine()))
    assert list(answers) == ["halve"]
    assert faults == [AnswerFault("double", Fault.AMBIGUOUS, 2)]
    assert report_fault(*faults) == "the answer cell `double` is there 2 times, so it counts as unanswered: keep one"
    assert list(collect_answers(twice(""), answers_of(exercise.pristine()))[0]) == ["double", "halve"]


def test_a_part_of_an_answer_in_a_second_cell_is_named(handed_in, exercise):
    """Splitting a cell leaves its id to one part, and the other part would be missing without a word."""

    def split(notebook):
        answer = next(cell for cell in notebook["cells"] if cell["id"] == "double")
        notebook["cells"].append(answer | {"id": "new", "source": "HELP = 2"})

    answers, faults = collect_answers(handed_in(split), answers_of(exercise.pristine()))
    assert list(answers) == ["double", "halve"]
    assert faults == [AnswerFault("double", Fault.SPLIT, 2)]
    assert report_fault(*faults) == (
        "the answer cell `double` is there 2 times, and only the one that was handed out is graded: keep one, with all "
        "of the answer"
    )


def test_another_exercises_notebook_is_named(handed_in):
    """The message says which exercise came and which was expected."""
    submission = handed_in(lambda n: None)
    with pytest.raises(
        NotebookError, match=r"expected the notebook of triple, found the one of double; hand in triple"
    ):
        check_exercise(submission, "triple")


def test_a_notebook_without_any_answer_is_refused(handed_in, exercise):
    """A notebook that has nothing of the exercise in it is not graded as unanswered."""
    submission = handed_in(lambda n: n.update(cells=[], metadata={}))
    with pytest.raises(NotebookError, match="expected the answer cells double, halve, found none of them"):
        collect_answers(submission, answers_of(exercise.pristine()))


def test_only_answers_are_taken(handed_in, exercise):
    """Checks, given code, outputs and tags come from the pristine notebook."""

    def forge(notebook):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell["source"] = "# NBVAL_SKIP\nforged"
                cell["metadata"]["tags"] = ["nbval-skip", "raises-exception"]
                cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "forged"}]

    answers, _ = collect_answers(handed_in(forge), answers_of(exercise.pristine()))
    merged, pristine = insert_answers(exercise.pristine(), answers), exercise.pristine()
    for came, given in zip(merged.cells, pristine.cells, strict=True):
        forged = came.pop("source", None), given.pop("source", None)
        assert came == given
        assert forged[0] == forged[1] or given.id in ("double", "halve")


def last_name(notebook):
    """What a detour through Colab may leave: another id, another course's metadata, and its own."""
    for number, cell in enumerate(notebook["cells"]):
        cell["metadata"] = {"course": {"cell": f"other{number}"}, "id": cell["id"]}
        cell["id"] = f"new{number}"


def test_answers_are_found_by_the_last_of_their_names(handed_in, exercise):
    """Where the others are nobody's."""
    answers, faults = collect_answers(handed_in(last_name), answers_of(exercise.pristine()))
    assert (list(answers), faults) == (["double", "halve"], [])


def test_answers_that_are_all_there_twice_are_not_called_missing(handed_in, exercise):
    """They count as unanswered, and what to do is said of each."""

    def twice(notebook):
        answers = [cell for cell in notebook["cells"] if cell["id"] in ("double", "halve")]
        notebook["cells"] += [answer | {"source": "another"} for answer in answers]

    answers, faults = collect_answers(handed_in(twice), answers_of(exercise.pristine()))
    assert answers == {}
    assert faults == [AnswerFault(name, Fault.AMBIGUOUS, 2) for name in ("double", "halve")]


def test_a_notebook_that_says_nothing_of_its_exercise_may_be_this_ones(handed_in):
    """As after Colab; one that says more than one thing may be, too."""
    check_exercise(handed_in(colab), "triple")
    check_exercise(handed_in(lambda n: n["cells"][-1]["metadata"]["course"].update(exercise="triple")), "triple")


def test_the_name_of_another_exercise_is_shown_as_text(handed_in):
    """Whatever is written there, and however long."""

    def rename(notebook):
        for part in (notebook, *notebook["cells"]):
            part["metadata"] = {"course": {"exercise": "\x1b[2J" + "x" * 1000}}

    with pytest.raises(NotebookError, match=r"found the one of \ufffd\[2Jx+\u2026; hand in triple") as caught:
        check_exercise(handed_in(rename), "triple")
    assert len(str(caught.value)) < 200


def test_an_answer_called_missing_that_is_there_twice_is_reported_as_there_twice(make_exercise, tmp_path):
    """The notebook has the answer cell, so it is graded: the cell's name says nothing of what is wrong with it."""
    only_answer = SOURCE.partition("```{code-cell} ipython3\n:name: halve")[0]
    exercise = make_exercise(only_answer.replace(":name: double", ":name: missing_mask"))
    notebook = json.loads(nbformat.writes(exercise.reference()))
    answer = next(cell for cell in notebook["cells"] if cell["id"] == "missing_mask")
    notebook["cells"].append(answer | {"source": "def double(x): return x"})
    (path := tmp_path / "double.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    report = grade_submission(path, learner="ada", exercise=exercise)
    assert report.status == "graded"
    assert report.messages[0] == (
        "the answer cell `missing_mask` is there 2 times, so it counts as unanswered: keep one"
    )


def test_an_answer_as_long_as_a_book_is_not_graded_and_says_so(hand_in, exercise):
    """It would be read again for each call that fails; the other keeps its points."""
    bomb = "def double(x):\n    return 2 * x\n" + ("!" + "a=b;" * 4_900 + "\n") * 20
    report = grade_submission(hand_in(double=bomb), learner="eve", exercise=exercise)
    assert (report.status, report.points) == ("graded", 1)
    assert report.messages == (
        f"the answer cell `double` has {len(bomb):,} characters, and an answer may have 20,000, so it counts as "
        "unanswered: take out what it does not need",
        "`double` is not written yet",
    )
