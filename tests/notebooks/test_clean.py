"""What another run would not repeat is dropped; what must not be kept is refused."""

from pathlib import Path

import pytest
from nbformat import v4

from course_grader.notebooks import clean_outputs
from course_lib.errors import NotebookError


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


def tagged(tag, *outputs):
    book = notebook(*outputs)
    book.cells[1].metadata["tags"] = [tag]
    return book


def test_an_announced_exception_keeps_its_last_line(tmp_path):
    """The traceback names files of this machine."""
    book = tagged("raises-exception", v4.new_output("error", ename="ValueError", evalue="no", traceback=["/x", "y"]))
    clean_outputs(book, root=tmp_path)
    assert book.cells[1].outputs[0].traceback == ["ValueError: no"]


def test_an_output_that_is_neither_shown_nor_compared_goes(tmp_path):
    """So it may name this machine; one that is compared may not."""
    book = tagged("remove-output", stream(f"{tmp_path}/x"))
    with pytest.raises(NotebookError):
        clean_outputs(book, root=tmp_path)
    book.cells[1].metadata["tags"].append("nbval-ignore-output")
    clean_outputs(book, root=tmp_path)
    assert book.cells[1].outputs == []


def test_an_announced_warning_keeps_what_it_says(tmp_path):
    """Where it came from differs from run to run."""
    text = "/tmp/ipykernel_7/12.py:3: UserWarning: careful,\nindeed (Triggered internally at /a/b.cpp:1.)\n  f(x)\n"
    book = tagged("warns", stream(text, name="stderr"))
    clean_outputs(book, root=tmp_path)
    assert book.cells[1].outputs[0].text == "UserWarning: careful,\nindeed\n"


@pytest.mark.parametrize("tag", ["raises-exception", "warns"])
def test_what_is_announced_must_come(tmp_path, tag):
    """A cell that no longer raises, or warns, is no example of it."""
    with pytest.raises(NotebookError, match=f"tagged {tag}"):
        clean_outputs(tagged(tag, stream("fine")), root=tmp_path)


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


def test_only_streams_that_follow_each_other_under_one_name_are_joined(tmp_path):
    """A figure between two pieces stays there, and a warning is no part of what was printed before it."""
    figure = v4.new_output("display_data", data={"text/plain": "figure"})
    book = notebook(stream("a\n"), figure, stream("b\n"))
    clean_outputs(book, root=tmp_path)
    assert [o.output_type for o in book.cells[1].outputs] == ["stream", "display_data", "stream"]
    with pytest.raises(NotebookError, match="wrote to stderr: 'careful'"):
        clean_outputs(notebook(stream("a\n"), stream("careful", name="stderr")), root=tmp_path)


def test_what_a_display_was_for_only_while_it_was_running_goes(tmp_path):
    """Its number differs from run to run."""
    book = notebook(v4.new_output("display_data", data={"text/plain": "figure"}))
    book.cells[1].outputs[0]["transient"] = {"display_id": "7f00aa00bb00"}
    clean_outputs(book, root=tmp_path)
    assert set(book.cells[1].outputs[0]) == {"output_type", "data", "metadata"}


def test_a_picture_is_not_read_as_text(tmp_path):
    """By chance its letters may look like an address."""
    picture = {"image/png": "iVBOR/0x7f00aa00bb00/", "text/plain": "figure"}
    clean_outputs(notebook(v4.new_output("display_data", data=picture)), root=tmp_path)


@pytest.mark.parametrize("text", ["0xffff", "2026-01-02", "1:30", f"{Path.home()}stock"])
def test_what_only_looks_like_a_mark_of_this_machine_is_kept(tmp_path, text):
    """A short number in hexadecimal is no address, a day no moment, and a longer word no path."""
    clean_outputs(notebook(stream(text)), root=tmp_path)


@pytest.mark.parametrize("text", ["2026-01-02T03:04:05", "2026-01-02 03:04"])
def test_a_moment_is_refused_in_either_form(tmp_path, text):
    """As programs write it, and as people do."""
    with pytest.raises(NotebookError, match=rf"prints a time \('{text[:16]}'\)"):
        clean_outputs(notebook(stream(text)), root=tmp_path)


@pytest.mark.parametrize(("user", "refused"), [("lovelace", True), ("ada", False), ("root", False)])
def test_a_users_name_is_refused_where_it_can_be_nothing_else(tmp_path, monkeypatch, user, refused):
    """A name of three letters may be a word, and root is everybody's."""
    monkeypatch.setenv("LOGNAME", user)
    book = notebook(stream(f"written by {user}\n"))
    clean_outputs(notebook(stream(f"written by {user}s\n")), root=tmp_path)
    if refused:
        with pytest.raises(NotebookError, match=r"prints a user's name \('lovelace'\)"):
            clean_outputs(book, root=tmp_path)
    else:
        clean_outputs(book, root=tmp_path)


def test_cells_are_numbered_in_their_order(tmp_path):
    """Those of words are not counted."""
    cells = [v4.new_code_cell("1"), v4.new_markdown_cell("words"), v4.new_code_cell("2", execution_count=9)]
    book = v4.new_notebook(cells=cells)
    clean_outputs(book, root=tmp_path)
    assert [c.get("execution_count") for c in book.cells] == [1, None, 2]
