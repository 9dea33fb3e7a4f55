"""Whatever file is handed in, reading it gives a notebook or one sentence."""

import gzip
import io
import json
import os
import zipfile

import pytest

from course_grader.grading.exercises.submitted_notebook import MAX_BYTES, parse_submission, read_submission
from course_lib.errors import NotebookError


def notebook(**changes):
    """Return the bytes of a small notebook."""
    cell = {"cell_type": "code", "id": "double", "metadata": {}, "source": "x", "outputs": [], "execution_count": None}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]} | changes).encode()


def zipped(raw):
    """Return a zip archive with the notebook in it."""
    with zipfile.ZipFile(whole := io.BytesIO(), "w") as archive:
        archive.writestr("double.ipynb", raw)
    return whole.getvalue()


@pytest.mark.parametrize(
    ("raw", "came"),
    [
        (b"", "an empty file"),
        (b" \n", "an empty file"),
        (b"\xff\xfe\x00", "other bytes"),
        (b"{", "not JSON"),
        (notebook()[:-20], "not JSON"),
        (b"print('hello')", "not JSON"),
        (b"9" * 5000, "not JSON"),
        (zipped(notebook()), "a zip archive under its name; unpack it"),
        (gzip.compress(notebook()), "a gzip archive under its name; unpack it"),
        (b"%PDF-1.7 ...", "a PDF under its name; hand in the notebook itself"),
        (b"\n<!DOCTYPE html><title>Sign in</title>", "a web page under its name; hand in the notebook itself"),
        (b"[]", "JSON of another kind"),
        (b'{"a": 1}', "JSON of another kind"),
        (b'{"nbformat": "4"}', "JSON of another kind"),
        (b"[" * 200_000 + b"]" * 200_000, "nested too deeply"),
        (b'{"a":' * 200_000 + b"1" + b"}" * 200_000, "nested too deeply"),
        (notebook(nbformat=3), "found 3, which is older"),
        (notebook(nbformat=5), "found 5, which is newer"),
        (notebook(cells=None), "a list of cells, found none"),
        (notebook(cells={}), "a list of cells, found none"),
        (notebook(cells=[1]), "a list of cells, found none"),
        (notebook(cells=[{"cell_type": "code", "source": 3}]), "text in every code cell"),
        (notebook(cells=[{"cell_type": "code", "source": ["a", 3]}]), "text in every code cell"),
        (notebook(cells=[{"cell_type": "code", "source": "\ud800"}]), "a broken character"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_a_notebook_is_named(raw, came):
    """The message is one line and says what was expected, what came and what to do."""
    with pytest.raises(NotebookError) as caught:
        parse_submission(raw)
    message = str(caught.value)
    assert message.startswith("expected ")
    assert came in message
    assert ";" in message
    assert "\n" not in message


def test_a_notebook_of_another_editor_is_read():
    """A byte-order mark, lists of lines, Windows line ends and metadata of odd types are no obstacle."""
    cells = [{"cell_type": "code", "source": ["x = 1\r\n", "y = 2"], "metadata": 3, "id": 7}, {"cell_type": "raw"}]
    submission = parse_submission(b"\xef\xbb\xbf" + notebook(cells=cells, metadata=[]))
    assert [cell.source for cell in submission.cells] == ["x = 1\ny = 2"]
    assert submission.cells[0].names == ()


@pytest.mark.parametrize(
    ("make", "came"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "a folder"),
        (lambda path: path.symlink_to("/etc/hostname"), "a link"),
        (lambda path: path.symlink_to(path), "a link"),
        (os.mkfifo, "a device or pipe"),
        (lambda path: path.write_bytes(b" " * (MAX_BYTES + 1)), "16.0 MiB"),
    ],
    ids=["missing", "folder", "link", "link to itself", "pipe", "too big"],
)
def test_what_is_not_a_file_is_named(tmp_path, make, came):
    """Links are not followed, pipes are not waited on, and size is looked at before reading."""
    make(path := tmp_path / "double.ipynb")
    with pytest.raises(NotebookError, match=came):
        read_submission(path)


def test_a_cell_has_its_names_in_the_order_of_their_worth():
    """Its id, what the course wrote into its metadata, and what Colab did; those of odd types are none."""
    metadata = {"course": {"cell": "second", "exercise": "double"}, "id": "third"}
    cells = [
        {"cell_type": "code", "source": "", "id": "first", "metadata": metadata},
        {"cell_type": "code", "source": "", "id": "third", "metadata": metadata},
        {"cell_type": "code", "source": "", "metadata": {"course": {"cell": 7}, "id": ["x"]}},
    ]
    submission = parse_submission(notebook(cells=cells))
    assert [cell.names for cell in submission.cells] == [("first", "second", "third"), ("third", "second"), ()]


def test_a_notebook_says_itself_and_by_its_cells_which_exercises_it_is_of():
    """Either may be lost on the way."""
    cell = {"cell_type": "code", "source": "", "metadata": {"course": {"exercise": "halve"}}}
    words = {"cell_type": "markdown", "source": "", "metadata": {"course": {"exercise": "third"}}}
    submission = parse_submission(notebook(cells=[cell, words], metadata={"course": {"exercise": "double"}}))
    assert submission.exercises == {"double", "halve"}
    assert parse_submission(notebook(cells=[cell])).exercises == {"halve"}
    assert parse_submission(notebook(cells=[], metadata={"course": {"exercise": 3}})).exercises == set()


def test_line_ends_of_old_are_line_ends():
    """A lone carriage return too."""
    (cell,) = parse_submission(notebook(cells=[{"cell_type": "code", "source": "x = 1\ry = 2\r\nz = 3"}])).cells
    assert cell.source == "x = 1\ny = 2\nz = 3"


def test_a_file_of_the_largest_size_is_read(tmp_path):
    """One byte more is too much."""
    path = tmp_path / "double.ipynb"
    path.write_bytes(notebook().ljust(MAX_BYTES))
    assert len(read_submission(path).cells) == 1
