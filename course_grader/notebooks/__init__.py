"""Notebooks are made from text: MyST Markdown in, executed and cleaned ``.ipynb`` out."""

from course_grader.notebooks.build import Built, build, generate, sources
from course_grader.notebooks.clean import clean_outputs
from course_grader.notebooks.repository import Repository
from course_grader.notebooks.text import read_text

__all__ = ["Built", "Repository", "build", "clean_outputs", "generate", "read_text", "sources"]
