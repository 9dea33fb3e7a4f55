"""By hand means by hand: where an exercise says so, nothing that differentiates is there, whatever looks for it."""

import nbformat
import pytest

from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_class.graders import Graders
from course_grader.grading.protocol.codec import encode
from course_grader.grading.sandbox.bubblewrap import BUBBLEWRAP, WARM
from course_grader.learner.own_process import OwnProcess
from course_lib.errors import InputError
from tests.grading.conftest import SOURCE

BY_HAND = SOURCE.replace("  timeout_seconds", "  by_hand: true\n  timeout_seconds")
HONEST = "\ndef double(x):\n    return 2 * x\n"
# Each leaves what it found in `found`.
SEARCHES = {
    "importlib": """
import importlib, pkgutil
for name in ["to" + "rch", "j" + "ax", "jax" + "lib", "course" + "_lib.autograd", "auto" + "grad", "func" + "torch"]:
    for way in (importlib.import_module, pkgutil.resolve_name, __import__):
        try:
            found.append(way(name))
        except ModuleNotFoundError as error:
            assert "is done by hand" in str(error), error
""",
    "another path": """
import glob, importlib.machinery, site, sys
folders = [f for pattern in ("/usr/lib*/python3*/*", "/usr/local/lib*/python3*/*") for f in glob.glob(pattern)]
sys.meta_path[:] = [importlib.machinery.PathFinder]
for name in ("torch", "jax", "course_lib"):
    for folder in [*sys.path, *site.getsitepackages(), *folders]:
        sys.path[:0] = [folder]
        importlib.invalidate_caches()
        try:
            found.append(vars(importlib.import_module(name))["__version__"])
        except (ImportError, KeyError):
            pass
        del sys.path[0]
""",
    "the files": """
import os, sys
for place in {sys.prefix, sys.base_prefix, "/usr/lib", "/usr/local/lib", "/tmp", "/home"}:
    for folder, _, names in os.walk(place):
        inside = folder.endswith(("-packages/torch", "-packages/jax", "-packages/jaxlib", "/course_lib"))
        names = [n for n in names if n.startswith(("libtorch", "libjax")) or inside and n != "__init__.py"]
        found += [f"{folder}/{n}" for n in names]
""",
    "another process": """
import subprocess, sys
for flags in ([], ["-I"], ["-S", "-E"]):
    code = "import sys; sys.path += " + repr(sys.path) + "; import torch; print(torch.Tensor)"
    found += subprocess.run([sys.executable, *flags, "-c", code], capture_output=True).stdout.splitlines()
""",
    "taking the cover away": """
import ctypes, os, shutil, sys
libc = ctypes.CDLL(None)
for folder in (path + "/torch" for path in sys.path if os.path.isdir(path + "/torch")):
    if libc.umount2(folder.encode(), 2) == 0 or libc.mount(b"none", folder.encode(), b"tmpfs", 0, None) == 0:
        found.append(folder)
    try:
        shutil.rmtree(folder)
        found.append(folder)
    except OSError:
        pass
""",
}


@pytest.fixture(scope="module")
def exercise(make_exercise):
    """The tiny exercise, done by hand."""
    return make_exercise(source=BY_HAND)


@pytest.fixture(scope="module", params=["cold", "warm"])
def grade_all(request, exercise, tmp_path_factory):
    """Return the reports of answers that look for a library and fail if they find one."""
    tasks = []
    for name, search in SEARCHES.items():
        notebook = exercise.reference()
        code = f"found = []\n{search}\nassert not found, found\n{HONEST}"
        next(cell for cell in notebook.cells if cell.id == "double").source = code
        nbformat.write(notebook, path := tmp_path_factory.mktemp("answer") / "double.ipynb")
        tasks.append(Task(name, exercise, path))
    with Graders(jobs=1, warm=request.param == "warm") as graders:
        graders.prepare(tasks)
        reports = {task.learner: report for task, report in graders.grade(tasks)}
    assert {report.sandbox for report in reports.values()} == {WARM if request.param == "warm" else BUBBLEWRAP}
    return reports


@pytest.mark.parametrize("search", SEARCHES)
def test_nothing_that_differentiates_is_to_be_had(grade_all, search):
    """It is not to be imported, not to be read, and what covers it stays; the answer itself is right."""
    report = grade_all[search]
    assert report.messages == ()
    assert report.points == 3


def test_marking_oneself_refuses_the_same(exercise):
    """What is loaded already is not given out, and is loaded as before when the answers have run."""
    import torch

    process = OwnProcess(exercise.limits)
    with pytest.raises(ModuleNotFoundError, match="no `torch` where this is graded: it is done by hand"):
        process.run_cell("double", "import torch")
    process.run_cell("double", "def double(x):\n    import torch.nn\n    return x")
    call = encode({"args": [1], "kwargs": {}})
    assert process.request({"name": "double", "call": call})["type"] == "ModuleNotFoundError"
    import torch as again

    assert again is torch


def test_an_exercise_by_hand_gives_nothing_that_differentiates(make_exercise):
    """Else its own cells could not run where it is graded."""
    with pytest.raises(InputError, match="imports torch; take one of the two out"):
        make_exercise(source=BY_HAND.replace("import numpy as np", "import numpy as np, torch"))


def test_by_hand_is_yes_or_no(make_exercise):
    """Anything else is refused."""
    with pytest.raises(InputError, match="by_hand: in the front matter must be true or false"):
        make_exercise(source=BY_HAND.replace("by_hand: true", "by_hand: [torch]"))
