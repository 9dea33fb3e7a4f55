"""The ``course`` command."""

from course_grader.cli.app import main

__all__ = ["main"]
