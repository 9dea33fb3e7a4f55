"""Package the grader: an autograder for Gradescope, and a repository that grades a GitHub Classroom."""

from course_grader.grading.packages.build_packages import build_autograder, build_classroom

__all__ = ["build_autograder", "build_classroom"]
