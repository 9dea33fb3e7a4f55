"""Collect what a class handed in from a learning system's download, into the folders that grading expects."""

from course_grader.grading.collect.collect_class import Collected, Result, collect_class
from course_grader.grading.collect.unpack_safely import open_download

__all__ = ["Collected", "Result", "collect_class", "open_download"]
