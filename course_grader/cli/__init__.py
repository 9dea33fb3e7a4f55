"""The ``course`` command line."""

from course_grader.cli.entry_point import main

__all__ = ["main"]
