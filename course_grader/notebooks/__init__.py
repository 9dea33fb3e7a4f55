"""Build notebooks from text: MyST Markdown in, executed and cleaned ``.ipynb`` out."""

from course_grader.notebooks.build import BuiltNotebook, build_notebooks
from course_grader.notebooks.clean import clean_outputs
from course_grader.notebooks.generate import generate_notebook, notebook_sources
from course_grader.notebooks.myst_text import read_text
from course_grader.notebooks.repository import Repository

__all__ = [
    "BuiltNotebook",
    "Repository",
    "build_notebooks",
    "clean_outputs",
    "generate_notebook",
    "notebook_sources",
    "read_text",
]
