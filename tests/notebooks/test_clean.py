"""What another run would not repeat is dropped; what must not be kept is refused."""

from pathlib import Path

import pytest
from nbformat import v4

from course_lib.errors import NotebookError
from course_lib.notebooks import clean_outputs


def notebook(*outputs):
    cell = v4.new_code_cell("print(1)", id="one", execution_count=7, outputs=list(outputs))
    cell.metadata["execution"] = {"iopub.execute_input": "2026-01-01T00:00:00Z"}
    return v4.new_notebook(cells=[v4.new_markdown_cell("words"), cell])


def stream(text, name="stdout"):
    return v4.new_output("stream", name=name, text=text)


def test_counts_start_at_one_and_timings_go(tmp_path):
    """Two runs of one notebook differ in neither."""
    book = notebook(v4.new_output("execute_result", data={"text/plain": "1"}, execution_count=7))
    clean_outputs(book, root=tmp_path)
    cell = book.cells[1]
    assert (cell.execution_count, cell.outputs[0].execution_count, dict(cell.metadata)) == (1, 1, {})


def test_pieces_of_a_stream_are_joined(tmp_path):
    """How a kernel cuts its output up is chance."""
    book = notebook(stream("a\n"), stream("b\n"))
    clean_outputs(book, root=tmp_path)
    assert [o.text for o in book.cells[1].outputs] == ["a\nb\n"]


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (stream("careful", name="stderr"), "wrote to stderr: 'careful'"),
        (v4.new_output("error", ename="ValueError", evalue="no", traceback=[]), "raised ValueError: no"),
        (stream("<object at 0x7f00aa00bb00>"), "prints a memory address"),
        (stream("done at 2026-01-02 03:04"), "prints a time"),
        (stream(f"{Path.home()}/data"), "prints a path of this machine"),
        (v4.new_output("display_data", data={"text/html": "<i>0x7f00aa00bb00</i>"}), "prints a memory address"),
    ],
)
def test_what_belongs_to_this_machine_is_refused(tmp_path, output, message):
    """The message names the cell and what was found."""
    with pytest.raises(NotebookError, match=message):
        clean_outputs(notebook(output), root=tmp_path)


def test_the_projects_own_path_is_refused(tmp_path):
    """The root counts as a path of this machine wherever it is."""
    with pytest.raises(NotebookError, match=r"cell 'one' \('print\(1\)'\) prints a path of this machine"):
        clean_outputs(notebook(stream(f"{tmp_path}/x")), root=tmp_path)
