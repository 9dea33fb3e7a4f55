"""The ``course`` command."""

from course_lib.cli.app import main

__all__ = ["main"]
