"""A question says what each mistake was; its right answer is what the page itself computes."""

import re
from pathlib import Path

import pytest

from course_grader.notebooks.generate import book_notebook
from course_grader.notebooks.myst_text import read_text
from course_grader.notebooks.portable import BOX, PlainMarkdown
from course_grader.notebooks.typed_answers import split_answer
from course_lib.errors import NotebookError

ROOT = Path(__file__).parents[2]
PAGES = [page for page in sorted((ROOT / "chapters").glob("*/*.md")) if "## Check yourself" in page.read_text("utf-8")]
PRINTED = re.compile(r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?(?:e[-+]?\d+)?")
NUMBER = ":number: `a` = 48 ± 0.5 MiB\n- 24 -> Half.\n- > 60 -> So\n  much.\n\nWords."
CHOICE = ":choice:\n- [ ] It halves. -> It is added.\n- [x] It doubles\n\nWords."


def test_a_number_has_a_label_a_tolerance_a_unit_and_mistakes():
    """A mistake is a number, or all of them on one side; its diagnosis may take several lines."""
    [field], words = split_answer(NUMBER)
    assert (field.label, field.unit, field.right, words) == ("`a`", "MiB", 0, "Words.")
    assert [option.span for option in field.options][:2] == [(47.5, 48.5), (24, 24)]
    assert (field.options[2].text, field.options[2].why) == ("more than 60 MiB", "So much.")


@pytest.mark.parametrize(("written", "low", "high"), [("0.74", 0.735, 0.745), ("2e6", 2e6, 2e6), ("-9", -9, -9)])
def test_a_number_holds_as_far_as_its_last_digit_after_the_point(written, low, high):
    """Who computes 0.7432 has it; a count is exact."""
    [field], _ = split_answer(f":number: {written}\n- 5 -> Why.\n\nWords.")
    assert field.options[0].span == pytest.approx((low, high))


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (":choice:\n- [ ] A -> No.\n- [ ] B -> Neither.\n\nWords.", "one answer is right"),
        (":choice:\n- [x] A\n- [x] B\n\nWords.", "one answer is right"),
        (":choice:\n- [x] A\n- [ ] B -> No.\n- [ ] C -> No.\n\nWords.", "of its own"),
        (":choice:\n- [x] A\n- [ ] B\n\nWords.", "what was missed"),
        (":number: 3\n\nWords.", "one answer is right"),
        (":number: 3.0\n- > 2 -> Why.\n\nWords.", "holds the right answer"),
        (":number: three\n- 2 -> Why.\n\nWords.", "three"),
        (":number: 3\n- 2 -> Why.", "in words"),
        (":number: 3\nWhy.\n\nWords.", "indent"),
    ],
)
def test_a_field_that_leaves_somebody_without_a_diagnosis_is_refused(block, said):
    """As is one without a right answer, and one whose mistake is none."""
    with pytest.raises(NotebookError, match=said):
        split_answer(block)


def test_on_colab_the_choices_stand_above_the_fold_and_the_right_one_is_not_marked():
    """The fold has the words, and what each mistake was; a number has nothing above it."""
    plain = PlainMarkdown("https://site/", "chapters/part", {}, {})
    above, _, folded = plain(f":::{{answer}} 1\n{CHOICE}\n:::").partition("<details>")
    assert above.strip() == "- It halves.\n- It doubles"
    assert folded.index("Words.") < folded.index("- **It halves**: It is added.")
    above, _, folded = plain(f":::{{answer}} 1\n{NUMBER}\n:::").partition("<details>")
    assert above == ""
    assert "- **24 MiB**: Half." in folded


def questions(notebook):
    """Yield the fields of each question, and what the cells in its answer printed, of which nothing varies."""
    for i, cell in enumerate(notebook.cells):
        boxes = BOX.findall(cell.source) if cell.cell_type == "markdown" else []
        for at, (*_, body) in enumerate(body for body in boxes if body[1] == "answer"):
            printed, after = [], notebook.cells[i + 1 :] if at == len(boxes) - 1 else []
            for below in after:
                tags = below.metadata.get("tags", [])
                if "in-answer" not in tags:
                    break
                if not any(tag.startswith("varies:") for tag in tags):
                    printed += [output.get("text", "") for output in below.get("outputs", [])]
            yield split_answer(body.strip())[0], "".join(printed)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_each_page_asks_at_least_two_questions_that_take_an_answer(path):
    """And the right choice is not always the first."""
    asked = [fields for fields, _ in questions(read_text(path)) if fields]
    assert len(asked) >= 2
    places = {field.right for fields in asked for field in fields if field.kind == "choice"}
    assert places != {0}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_number_that_is_right_is_printed_by_the_cell_in_its_answer(path):
    """Where a cell prints anything: so the number is the page's, and stays so."""
    for fields, printed in questions(book_notebook(path, root=ROOT)):
        found = [float(number.replace(",", "")) for number in PRINTED.findall(printed)]
        for field in fields:
            low, high = field.options[0].span or (0, 0)
            hits = [number for number in found if low - 1e-9 <= number <= high + 1e-9]
            assert field.kind == "choice" or not found or hits, f"{field.options[0].text} is not among {found}"
