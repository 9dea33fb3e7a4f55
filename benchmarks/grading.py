"""What does grading a class cost? nbgrader, otter-grader and this course's grader, side by side on the same class.

Each gets the same exercises (one with NumPy, one with torch), the same right answers thirty times, and the very same
hidden tests. Ours runs with everything on: sandbox, visible checks under nbval, hidden tests, gradebook, reports. The
peers run in environments of their own, nbgrader by ``autograde``, otter by ``otter run``, its local run.

    python -m benchmarks.grading                    # all: about half an hour, and root for its control groups
    python -m benchmarks.grading --class-size 5 --graders ours
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.graders import classes
from benchmarks.graders.measure import cost, peak
from course_grader.grading.exercises.exercise import Exercise, find_exercise

__all__ = ["main"]

T = TypeVar("T")
ROOT = Path(__file__).parents[1]
PEERS = {"nbgrader": "nbgrader==0.9.6", "otter": "otter-grader==7.0.0"}
EXERCISES = {"NumPy": "two_layer_gradients", "torch": "custom_function"}
# How many times fewer CPU seconds per submission ours must take than the peer.
TARGETS = {("NumPy", "nbgrader"): 3, ("NumPy", "otter"): 10, ("torch", "nbgrader"): 8, ("torch", "otter"): 8}


def environment(peer: str, folder: Path) -> Path:
    """Return the ``bin`` of the peer's own environment, made if it is not there: the same NumPy and torch as ours."""
    place = folder / peer
    if not (place / "bin" / peer).exists():
        print(f"Installing {PEERS[peer]} into {place}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        same = [f"{name}=={importlib.metadata.version(name).partition('+')[0]}" for name in ("numpy", "torch")]
        subprocess.run([place / "bin" / "pip", "install", "--quiet", PEERS[peer], "ipykernel", *same], check=True)
    return place / "bin"


def graded(grader: str, exercise: Exercise, count: int, peers: Path, measure: Callable[..., T]) -> T:
    """Lay out the class, grade it, see that every submission got every point, and return what was measured."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if grader == "ours":
            commands = classes.ours(exercise, folder, count)
            path = os.environ["PATH"]
        else:
            place = environment(grader, peers)
            commands = getattr(classes, grader)(exercise, folder, count, place)
            path = f"{place}:{os.environ['PATH']}"
        measured = measure(commands, cwd=folder, env=os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)})
        points = getattr(classes, f"{grader}_points")(folder)
        if len(points) != count or min(points) < 1:
            raise RuntimeError(f"{grader} did not give all {count} right submissions all points: {points}")
    return measured


def grade(grader: str, exercise: Exercise, count: int, peers: Path) -> dict[str, float]:
    """Grade the class twice, once for the time a submission takes, and once for the memory all take together."""
    cpu_seconds, wall_seconds = graded(grader, exercise, count, peers, cost)
    return {
        "cpu_seconds": round(cpu_seconds / count, 3),
        "wall_seconds": round(wall_seconds / count, 3),
        "peak_mib": round(graded(grader, exercise, count, peers, peak) / 2**20),
    }


def table(results: dict[str, dict[str, dict[str, float]]]) -> str:
    """Lay the results out for a terminal."""
    lines = [f"{'exercise':10}{'grader':12}{'CPU s':>8}{'wall s':>8}{'peak MiB':>10}  CPU beside ours"]
    for kind, graders in results.items():
        for grader, one in graders.items():
            line = f"{kind:10}{grader:12}{one['cpu_seconds']:8.2f}{one['wall_seconds']:8.2f}{one['peak_mib']:10.0f}"
            if grader in PEERS and "ours" in graders:
                ratio, target = one["cpu_seconds"] / graders["ours"]["cpu_seconds"], TARGETS[kind, grader]
                line += f"  {ratio:.1f} times (>= {target}: {'met' if ratio >= target else 'NOT MET'})"
            lines.append(line)
    return "\n".join(lines)


def versions(graders: list[str], peers: Path) -> dict[str, str]:
    """Return the versions of the graders and of what they run on."""
    found = {name: importlib.metadata.version(name) for name in ("numpy", "torch", "the-backward-pass", "ipykernel")}
    for name in graders:
        if name in PEERS:
            text = f"import importlib.metadata as m; print(m.version({PEERS[name].partition('==')[0]!r}))"
            command = [peers / name / "bin" / "python", "-c", text]
            found[name] = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return found | {"python": platform.python_version()}


def main(argv: list[str] | None = None) -> None:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--class-size", type=int, default=30)
    parser.add_argument("--graders", default=",".join(["ours", *PEERS]))
    parser.add_argument("--peers", type=Path, default=Path.home() / ".cache" / "course-peers")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "grading.json")
    args = parser.parse_args(argv)
    if os.geteuid():
        print("benchmarks.grading counts CPU in control groups, which takes root: not run")
        return
    graders, results = args.graders.split(","), dict[str, Any]()
    for kind, slug in EXERCISES.items():
        exercise = find_exercise(slug, exercises=ROOT / "exercises")
        for grader in graders:
            results.setdefault(kind, {})[grader] = grade(grader, exercise, args.class_size, args.peers)
            print(kind, grader, results[kind][grader], file=sys.stderr)
    print(table(results))
    about = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "class_size": args.class_size,
        "cores": len(os.sched_getaffinity(0)),
        "versions": versions(graders, args.peers),
        "units": "a submission: CPU seconds of all processes, wall seconds; of the whole run: peak memory in MiB",
    }
    if graders == ["ours", *PEERS]:  # a part does not replace the whole
        args.output.write_text(json.dumps(about | {"results": results}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
