"""Run a training script under the doctor: ``python -m course_lib.doctor [--report FILE] train.py [its arguments]``."""

import argparse
import sys
from pathlib import Path

from course_lib.doctor.report.report_file import check_report_path
from course_lib.doctor.script import run_script
from course_lib.errors import CourseError

REPORT, BAD_INPUT = "doctor.html", 2


def main() -> int:
    """Read the command line, and run the script."""
    parser = argparse.ArgumentParser(
        prog="course doctor",
        description="Run a training script of torch as it is, and report on its gradients, time and memory.",
    )
    parser.add_argument("--report", default=REPORT, help="the report's file: .html, .md or .txt (%(default)s)")
    parser.add_argument("script", type=Path, help="the script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")
    given = parser.parse_args()
    try:
        return run_script(given.script, given.arguments, write_to=check_report_path(given.report))
    except CourseError as error:
        print(f"course doctor: {error}", file=sys.stderr)
        return BAD_INPUT


if __name__ == "__main__":
    sys.exit(main())
