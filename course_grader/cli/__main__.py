"""Run the command as ``python -m course_grader.cli``."""

from course_grader.cli import main

main()
