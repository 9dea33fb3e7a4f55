"""The ``course`` command."""

from course_grader.cli.entry_point import main

__all__ = ["main"]
