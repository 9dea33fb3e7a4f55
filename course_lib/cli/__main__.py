"""Run the command as ``python -m course_lib.cli``."""

from course_lib.cli import main

main()
