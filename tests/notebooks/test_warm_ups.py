"""Every page has a warm-up early on, whose wrong guesses have their reasons; on Colab it is a list and a fold."""

import re
from pathlib import Path

import pytest

from course_grader.notebooks.myst_text import read_text
from course_grader.notebooks.portable import BOX, PlainMarkdown
from course_grader.notebooks.warm_ups import split_warm_up
from course_lib.errors import NotebookError

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "chapters").glob("*/*.md"))
LONGEST_MINUTES = 10
ROW = ":choice: `x.grad`\n- [ ] `None` -> It is a leaf.\n- [<] 48"
ORDER = ":order: Press\n- [>] Forward\n- [<] Backward -> It needs the graph.\n- [x] Step -> It needs gradients."
PUZZLE = f"Say.\n\n{ROW}\n{ORDER}\n\nSo."


def test_a_warm_up_has_a_prompt_rows_an_order_and_words():
    """Each option knows which pass it belongs to; an order is shown in another one."""
    warm_up = split_warm_up(PUZZLE)
    row, order = warm_up.fields
    assert (warm_up.prompt, warm_up.words, row.right) == ("Say.", "So.", 1)
    assert [option.tone for option in (*row.options, *order.options)] == ["", "bwd", "fwd", "bwd", ""]
    assert sorted(order.shown) == [0, 1, 2] != order.shown


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("Say.", "has fields"),
        (f"{ROW.replace(' `x.grad`', '')}\n\nSo.", "LABEL"),
        (":number: `x` = 3\n- 2 -> No.\n\nSo.", "':choice: LABEL'"),
        (f"{ROW.replace(' -> It is a leaf.', '')}\n\nSo.", "what was missed"),
        (f"{ORDER.replace(' -> It needs the graph.', '')}\n\nSo.", "why not earlier"),
        (f"{ORDER.replace('- [<]', '- [ ]')}\n\nSo.", "in an order"),
        (ROW, "in words"),
    ],
)
def test_one_that_leaves_a_guess_without_a_reason_is_refused(block, said):
    """As is one without fields, or with one to type into."""
    with pytest.raises(NotebookError, match=re.escape(said)):
        split_warm_up(block)


def test_on_colab_the_fold_has_the_order_and_what_is_right_and_nothing_above_does():
    """Choices and calls are lists above it."""
    plain = PlainMarkdown("https://site/", "chapters/part", {}, {})
    above, _, folded = plain(f":::{{warm_up}} Guess\n{PUZZLE}\n:::").partition("<details>")
    assert above.startswith("**Warm-up: Guess**\n\nSay.\n\n`x.grad`\n\n- `None`\n- 48\n\nPress\n\n- ")
    assert folded.index("So.") < folded.index("`x.grad`: **48**") < folded.index("- **`None`**: It is a leaf.")
    assert folded.index("1. **Forward**\n1. **Backward**: It needs the graph.") > 0
    assert not {"Forward", "->", "[<]"} <= set(above.split())


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_each_page_has_one_early(path):
    """Of ten minutes or less, with more than one thing to guess; the right one does not always stand first."""
    text = "\n\n".join(cell.source for cell in read_text(path).cells if cell.cell_type == "markdown")
    found = [(at.start(), split_warm_up(at[4].strip())) for at in BOX.finditer(text) if at[2] == "warm_up"]
    assert found
    start, warm_up = found[0]
    headings = [at.start() for at in re.finditer("^## ", text, re.MULTILINE)]
    assert sum(at < start for at in headings) <= len(headings) / 2
    assert 2 <= len(warm_up.fields) <= 6
    assert warm_up.minutes <= LONGEST_MINUTES
    assert {field.right for field in warm_up.fields if field.kind == "choice"} != {0}
