"""``course doctor`` runs a script as it is: output, errors and exit status are its own, and the report is written."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
import os
import sys

import torch
from torch import nn


def train(until):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    for i in range(20):
        loss = model(torch.ones(2, 4)).square().mean()
        if i == until:
            loss = loss / "a word"
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    train(int(sys.argv[1]))
    print("trained", sys.argv[1:], __file__)
    while "--wait" in sys.argv:
        print("waits", flush=True)
        sys.stdin.read()
    sys.exit(3)
"""
DOCTOR = [sys.executable, "-m", "course_lib.doctor"]
COURSE = [sys.executable, "-m", "course_grader.cli", "doctor"]
WITHOUT_TYPER = "import sys; sys.modules['typer'] = None; from course_grader.cli import main; main()"


@pytest.fixture
def script(tmp_path):
    """A script that trains."""
    path = tmp_path / "train.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


def run(command, folder):
    """Run a command there."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([*map(str, command)], cwd=folder, env=env, capture_output=True, text=True)


@pytest.mark.parametrize("command", [DOCTOR, COURSE, [sys.executable, "-c", WITHOUT_TYPER, "doctor"]])
def test_a_script_keeps_its_arguments_output_and_exit_status(script, command):
    """The report is printed beside its output, and written; the extra ``torch`` by itself is enough."""
    done = run([*command, "--report", "r.md", "train.py", "-1", "--report", "x"], script.parent)
    assert (done.returncode, done.stdout) == (3, f"trained ['-1', '--report', 'x'] {script}\n")
    assert "barely moves" in done.stderr
    assert "barely moves" in (script.parent / "r.md").read_text(encoding="utf-8")


def test_an_error_is_shown_as_python_shows_it(script):
    """The same traceback to the letter, and the report."""
    done, plain = (run([*command, "train.py", 7], script.parent) for command in (DOCTOR, [sys.executable]))
    assert (done.returncode, plain.returncode) == (1, 1)
    assert done.stderr.startswith(plain.stderr)
    assert "7 steps" in (script.parent / "doctor.html").read_text(encoding="utf-8")


def test_an_interrupt_leaves_the_report(script):
    """Ctrl-C, as a terminal sends it."""
    process = subprocess.Popen(
        [*DOCTOR, "train.py", "-1", "--wait"],
        cwd=script.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert [process.stdout.readline().split()[0] for _ in range(2)] == ["trained", "waits"]
    process.send_signal(signal.SIGINT)
    _, shown = process.communicate()
    assert process.returncode == 130
    assert "KeyboardInterrupt" in shown
    assert "20 steps" in (script.parent / "doctor.html").read_text(encoding="utf-8")


def test_what_cannot_be_run_is_one_line(tmp_path):
    """Status 2, and no traceback."""
    (tmp_path / "plain.py").write_text("print('no torch')", encoding="utf-8")
    cases = {"nowhere.py": "Check the path", "--report=r.pdf plain.py": ".html, .md or .txt"}
    for arguments, message in cases.items():
        done = run([*DOCTOR, *arguments.split()], tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
    done = run([*DOCTOR, "plain.py"], tmp_path)
    assert (done.returncode, done.stdout) == (0, "no torch\n")
    assert "never loaded torch" in done.stderr
