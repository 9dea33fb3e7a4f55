"""`pytest --nbval chapters` compares what pages print, tabulate and draw, and says what differs where."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

from course_grader.notebooks.compare_outputs import find_differences

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "chapters").glob("*/*.ipynb"))
NUMBER = re.compile(r"(?<![\w.#&])\d[.,]?\d[\d.,]*")


def outputs(page: Path):
    """Yield the text of every output that is compared, and whether it is markup."""
    for cell in nbformat.read(page, as_version=4).cells:
        if cell.cell_type == "code" and "nbval-ignore-output" not in cell.metadata.get("tags", []):
            for output in cell.outputs:
                if output.output_type == "stream":
                    yield output.text, False
                elif output.output_type == "error":
                    yield output.evalue, False
                else:
                    yield from ((text, kind == "text/html") for kind, text in output.data.items())


def change_second_digit(text: str, number: re.Match[str]) -> str:
    """Make it as near as can be."""
    at = number.start() + (1 if text[number.start() + 1].isdigit() else 2)
    digit = int(text[at])
    return f"{text[:at]}{digit - 1 if digit else 1}{text[at + 1 :]}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_number_that_is_wrong_in_its_second_digit_is_seen(page):
    """Printed, in a table, in a chart: a few of each output."""
    changes = 0
    for text, markup in outputs(page):
        numbers = list(NUMBER.finditer(text))
        for number in numbers[:: len(numbers) // 4 + 1]:
            changes += 1
            assert find_differences(text, change_second_digit(text, number), markup=markup), number
    assert changes > 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_ids_of_a_page_are_its_figures_own(page):
    """None twice, and none that is made from coordinates: matplotlib's are a letter and ten hexadecimal digits."""
    cells = [cell for cell in nbformat.read(page, as_version=4).cells if cell.cell_type == "code"]
    drawn = [output.get("data", {}).get("text/html", "") for cell in cells for output in cell.outputs]
    ids = [found for markup in drawn for found in re.findall(r'\sid="([^"]*)"', markup)]
    assert len(ids) == len(set(ids))
    assert [each for each in ids if not re.fullmatch(r"bp-[0-9a-f]{8}-\d+-\d+", each)] == []


@pytest.fixture
def nbval(tmp_path):
    """Return a function that commits a page with one output, runs it as anybody would, and returns what pytest said."""

    def run(source: str, output: object, *, tags: tuple[str, ...] = ()) -> str:
        page = v4.new_notebook(cells=[v4.new_code_cell(source, id="one", execution_count=1, outputs=[output])])
        page.cells[0].metadata["tags"] = list(tags)
        (tmp_path / "chapters").mkdir()
        (tmp_path / "chapters" / "conftest.py").write_text((ROOT / "chapters" / "conftest.py").read_text())
        nbformat.write(page, tmp_path / "chapters" / "page.ipynb")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "--nbval",
            "--nbval-current-env",
            "-p",
            "no:cacheprovider",
            "chapters",
        ]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout

    return run


def test_pytest_compares_a_page_by_its_numbers(nbval):
    """The last digit, which is the processor's, passes; the tag of a page widens it."""
    committed = v4.new_output("stream", name="stdout", text="loss 1.2346, or 7.891\n")
    said = nbval("print('loss 1.2345, or 7.898')", committed, tags=("within:0.5%:rounds in another order",))
    assert "1 passed" in said, said


def test_a_difference_says_which_cell_and_both_outputs(nbval):
    """What was committed, and what came."""
    said = nbval("print('loss 1.2345')", v4.new_output("stream", name="stdout", text="loss 1.2945\n"))
    assert "1 failed" in said
    for part in ("In cell 'one'", "stdout, committed: 'loss 1.2945", "came: 'loss 1.2345"):
        assert part in said, said
