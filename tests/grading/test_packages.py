"""What is packaged grades as here: on Gradescope's layout of folders, and from a repository learners cannot touch."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
import yaml

from course_grader.grading.packages import build_autograder, build_classroom
from course_lib.errors import InputError

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def package(exercise, tmp_path_factory):
    """Return the autograder's zip."""
    build_autograder(exercise, path := tmp_path_factory.mktemp("zip") / "autograder.zip")
    return path


@pytest.fixture
def place(package, tmp_path):
    """Gradescope's layout of folders, with the package unpacked and nothing handed in yet."""
    for name in ("submission", "results"):
        (tmp_path / name).mkdir()
    with zipfile.ZipFile(package) as archive:
        for entry in archive.infolist():
            path = Path(archive.extract(entry, tmp_path / "source"))
            path.chmod(entry.external_attr >> 16)
    (tmp_path / "submission_metadata.json").write_text(json.dumps({"users": [{"id": 7}, {"id": 3}]}))
    return tmp_path


def autograde(place, **environment):
    """Run the autograder as Gradescope does, with this interpreter for the one its set-up makes; return the result."""
    for name in ("settings.json", "requirements.txt", "setup.sh"):
        assert (place / "source" / name).is_file()
    env = {**os.environ, "AUTOGRADER_ROOT": str(place), "AUTOGRADER_PYTHON": sys.executable, **environment}
    done = subprocess.run([place / "source" / "run_autograder"], capture_output=True, text=True, env=env, cwd=place)
    assert done.returncode == 0, done.stderr
    return json.loads((place / "results" / "results.json").read_text()), done


def hand_in(place, exercise, name="double.ipynb", **answers):
    """Put a notebook where Gradescope puts it."""
    notebook = exercise.reference()
    for cell in notebook.cells:
        cell.source = answers.get(cell.id, cell.source)
    nbformat.write(notebook, place / "submission" / name)


def test_the_autograder_grades_with_what_was_packaged(place, exercise):
    """In the sandbox, with the library in the zip and not the one that is installed."""
    marked = place / "source" / "library" / "course_lib" / "__init__.py"
    marked.write_text(re.sub(r'__version__ = ".*"', '__version__ = "0.0.packaged"', marked.read_text()))
    hand_in(place, exercise, "my homework.ipynb", halve="def halve(x): return x")
    results, _ = autograde(place)
    assert results["score"] == 2
    assert results["output"] == "`halve` does not halve"
    assert [(test["name"], test["score"], test["max_score"]) for test in results["tests"] if "score" in test] == [
        ("Doubling works for any shape.", 2, 2),
        ("Halving works.", 0, 1),
    ]
    assert results["extra_data"] == {
        "exercise": "double",
        "status": "graded",
        "sandbox": "bubblewrap",
        "grader_version": "0.0.packaged",
    }


@pytest.mark.parametrize("allowed", [False, True])
def test_where_no_sandbox_can_be_made_it_says_so(place, exercise, allowed):
    """Without leave nothing is run and nobody gets points; with leave every result says that there was none."""
    settings = json.loads((path := place / "source" / "settings.json").read_text())
    path.write_text(json.dumps(settings | {"sandbox": not allowed}))
    hand_in(place, exercise)
    (empty := place / "bin").mkdir()
    for name in ("bash", "env"):
        (empty / name).symlink_to(f"/usr/bin/{name}")
    results, _ = autograde(place, PATH=str(empty))
    assert results["score"] == (3 if allowed else 0)
    assert results["extra_data"]["sandbox"] == ("none" if allowed else "")
    said = "graded without a sandbox" if allowed else "not graded: this machine cannot run your code in a sandbox"
    assert results["output"].startswith(said)


def test_whatever_is_handed_in_there_is_a_result(place, exercise):
    """Nothing, several notebooks, a broken one: the learner is told what was expected."""
    assert autograde(place)[0]["output"].startswith("expected double.ipynb, found no notebook")
    hand_in(place, exercise, "a.ipynb")
    hand_in(place, exercise, "b.ipynb")
    assert "found a.ipynb, b.ipynb; hand in" in autograde(place)[0]["output"]
    other = (place / "submission" / "b.ipynb").read_text().replace('"double"', '"triple"')
    (place / "submission" / "b.ipynb").write_text(other)
    assert autograde(place)[0]["output"].startswith("a.ipynb was graded, but not b.ipynb")
    (place / "submission" / "double.ipynb").write_text("{")
    said = autograde(place)[0]["output"]
    assert said.startswith("double.ipynb was graded, but not a.ipynb, b.ipynb; if another was meant, give it")
    assert "found text that is not JSON" in said


def test_a_broken_key_is_not_the_learners_fault(place, exercise):
    """The learner is told whom to tell; the traceback is where only the instructor looks."""
    (place / "source" / "key" / "double" / "test_hidden.py").write_text("SECRET = 41.5 / 0\n")
    hand_in(place, exercise)
    results, done = autograde(place)
    assert results["output"] == "grading failed, not your answer: tell your instructor"
    assert "41.5" not in json.dumps(results)
    assert "Traceback" in done.stderr


def test_the_zip_is_what_gradescope_unpacks(package, exercise):
    """Both scripts in its root and executable, no known-wrong answers, the same bytes every time."""
    with zipfile.ZipFile(package) as archive:
        names = archive.namelist()
        assert {archive.getinfo(name).external_attr >> 16 & 0o111 for name in ("setup.sh", "run_autograder")} == {0o111}
        required = archive.read("requirements.txt").decode()
        (script := package.parent / "setup.sh").write_bytes(archive.read("setup.sh"))
    assert {
        "key/double/source.md",
        "key/double/test_hidden.py",
        "library/course_grader/grading/reports/learner_page.py",
    } <= set(names)
    assert not [name for name in names if "/wrong/" in name or "__pycache__" in name]
    assert re.search(r"^numpy==[\d.]+$", required, flags=re.MULTILINE)
    assert subprocess.run(["bash", "-n", script]).returncode == 0
    build_autograder(exercise, again := package.parent / "again.zip")
    assert again.read_bytes() == package.read_bytes()


def test_the_classroom_is_graded_from_a_place_of_its_own(exercise, tmp_path):
    """Started by the clock or by hand, actions pinned to commits, one secret for one step, all it needs beside it."""
    build_classroom(exercise, folder := tmp_path / "grading")
    text = (folder / ".github" / "workflows" / "grade.yml").read_text()
    workflow = yaml.safe_load(text)
    assert set(workflow[True]) == {"workflow_dispatch", "schedule"}  # YAML reads the key `on` as true
    assert workflow["permissions"] == {"contents": "read", "actions": "read"}
    steps = workflow["jobs"]["grade"]["steps"]
    used = [step["uses"] for step in steps if "uses" in step]
    assert used
    assert all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", name) for name in used)
    assert [step["name"] for step in steps if "secrets." in json.dumps(step)] == ["Fetch what was handed in"]
    assert "@EXERCISE@" not in text
    assert "pull_request" not in text
    for step in steps:
        if "run" in step:
            assert "${{" not in step["run"]  # nothing from outside is pasted into a script
            assert subprocess.run(["bash", "-n"], input=step["run"], text=True).returncode == 0
    assert (folder / "key" / "double" / "test_hidden.py").read_bytes() == exercise.tests.read_bytes()
    assert (folder / "library" / "course_grader" / "cli" / "entry_point.py").is_file()


# GitHub's command line, as far as the workflow asks it: what a path answers is a file of that name, and an error is one
# that ends in .error. What --jq would choose is in the file already.
GH = """#!/bin/sh
for word in "$@"; do case "$word" in /*) path="$(echo "${word%%[?]*}" | tr / _)" ;; esac; done
if [ -f "$ANSWERS/$path.error" ]; then cat "$ANSWERS/$path.error" >&2; exit 1; fi
cat "$ANSWERS/$path"
"""


@pytest.fixture
def classroom_step(exercise, tmp_path):
    """Return a function that runs a step of the workflow as GitHub does, and the folder of GitHub's answers."""
    build_classroom(exercise, folder := tmp_path / "grading")
    workflow = yaml.safe_load((folder / ".github" / "workflows" / "grade.yml").read_text())
    steps = {step["name"]: step for step in workflow["jobs"]["grade"]["steps"] if "name" in step}
    (answers := tmp_path / "answers").mkdir()
    for path, text in {
        tmp_path / "bin" / "gh": GH,
        tmp_path / "venv" / "bin" / "python": f'#!/bin/sh\nexec "{sys.executable}" "$@"\n',
    }.items():
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(0o755)

    def run(name, **environment):
        env = os.environ | {"RUNNER_TEMP": str(tmp_path), "ANSWERS": str(answers), "ORGANIZATION": "o", "PREFIX": "hw"}
        env |= {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "GITHUB_REPOSITORY": "o/grading", **environment}
        env["PYTHONPATH"] = os.pathsep.join([steps["Grade"]["env"]["PYTHONPATH"], os.environ.get("PYTHONPATH", "")])
        return subprocess.run(["bash", "-ec", steps[name]["run"]], cwd=folder, env=env, capture_output=True, text=True)

    return run, answers


def grades_of(folder):
    """Return learners, points and statuses as grades.json has them."""
    submissions = json.loads((folder / "grades" / "grades.json").read_text())["submissions"]
    return [(each["learner"], each["points"], each["status"]) for each in submissions]


def test_the_classrooms_command_grades(classroom_step, exercise, tmp_path):
    """The last step's own words, on a folder as the step before leaves it."""
    run, _ = classroom_step
    (tmp_path / "submissions" / "ada").mkdir(parents=True)
    (tmp_path / "submissions" / "bob").mkdir()
    nbformat.write(exercise.reference(), tmp_path / "submissions" / "ada" / "double.ipynb")
    done = run("Grade")
    assert done.returncode == 0, done.stderr
    assert grades_of(tmp_path) == [("ada", 3, "graded"), ("bob", 0, "missing")]
    assert (tmp_path / "grades" / "junit.xml").is_file()


def test_the_gradebook_of_the_last_run_goes_on(classroom_step, exercise, tmp_path):
    """Whoever handed in something worse since keeps the best; a gradebook that is gone stops the run."""
    run, answers = classroom_step
    (path := tmp_path / "submissions" / "ada" / "double.ipynb").parent.mkdir(parents=True)
    nbformat.write(exercise.reference(), path)
    (answers / "_repos_o_grading_actions_artifacts").write_text("")
    (runs := answers / "_repos_o_grading_actions_workflows_grade.yml_runs").write_text("0\n")
    assert (run("Restore the gradebook").returncode, run("Grade").returncode) == (0, 0)
    with zipfile.ZipFile(answers / "_repos_o_grading_actions_artifacts_12_zip", "w") as artifact:
        artifact.write(tmp_path / "grades" / "gradebook.sqlite", "gradebook.sqlite")
        artifact.writestr("grades.csv", "old")
    shutil.rmtree(tmp_path / "grades")
    runs.write_text("1\n")
    lost = run("Restore the gradebook")
    assert lost.returncode == 1
    assert "::error::expected the gradebook of an earlier run" in lost.stdout
    assert run("Restore the gradebook", BEGIN_ANEW="true").returncode == 0
    (answers / "_repos_o_grading_actions_artifacts").write_text("12\n")
    assert run("Restore the gradebook").returncode == 0
    assert [found.name for found in (tmp_path / "grades").iterdir()] == ["gradebook.sqlite"]
    nbformat.write(exercise.pristine(), path)
    given = run("Give points by hand", LEARNER="ada", POINTS="-0.5", WHY="a loan")
    assert (given.returncode, run("Grade").returncode) == (0, 0), given.stderr
    assert grades_of(tmp_path) == [("ada", 2.5, "graded")]


def test_a_gradebook_that_comes_in_part_is_not_taken(classroom_step, tmp_path):
    """Nothing of it is where the next run would look."""
    run, answers = classroom_step
    (answers / "_repos_o_grading_actions_artifacts").write_text("12\n")
    (answers / "_repos_o_grading_actions_artifacts_12_zip").write_bytes(b"PK\x03\x04 cut off")
    assert run("Restore the gradebook").returncode != 0
    assert not list((tmp_path / "grades").iterdir())


def test_only_a_repository_that_can_be_read_can_be_without_a_notebook(classroom_step, tmp_path):
    """No such file in its list, or nothing in it at all: nothing was handed in; any other failure ends the run."""
    run, answers = classroom_step
    (answers / "_orgs_o_repos").write_text("hw-ada\nhw-bob\nhw-cem\nother\n")
    (answers / "_repos_o_hw-ada_contents").write_text("README.md\ndouble.ipynb\n")
    (answers / "_repos_o_hw-ada_contents_double.ipynb").write_text("{}")
    (answers / "_repos_o_hw-bob_contents").write_text("my double.ipynb\n")
    (answers / "_repos_o_hw-cem_contents.error").write_text("gh: This repository is empty. (HTTP 404)\n")
    done = run("Fetch what was handed in")
    assert (done.returncode, done.stdout) == (0, "")
    found = sorted(str(path.relative_to(tmp_path / "submissions")) for path in (tmp_path / "submissions").rglob("*"))
    assert found == ["ada", "ada/double.ipynb", "bob", "cem"]
    for path, said in {
        "_repos_o_hw-bob_contents": "gh: Not Found (HTTP 404)",
        "_repos_o_hw-ada_contents_double.ipynb": "gh: Server Error (HTTP 502)",
    }.items():
        (error := answers / f"{path}.error").write_text(said)
        done = run("Fetch what was handed in")
        assert done.returncode == 1
        assert f"could not: {path.split('_')[3]};" in done.stdout
        error.unlink()
    (answers / "_orgs_o_repos.error").write_text("gh: Bad credentials (HTTP 401)")
    assert run("Fetch what was handed in").returncode != 0


def test_nothing_is_overwritten(exercise, tmp_path):
    """A name that is taken, or that lies nowhere, is refused in one sentence."""
    (tmp_path / "taken.zip").write_text("kept")
    for out, came in {
        "taken.zip": "found something at",
        "none/a.zip": "found none; make it",
        "a.tar": "end it in .zip",
    }.items():
        with pytest.raises(InputError, match=came):
            build_autograder(exercise, tmp_path / out)
    with pytest.raises(InputError, match="found something at"):
        build_classroom(exercise, tmp_path / "taken.zip")
    assert (tmp_path / "taken.zip").read_text() == "kept"
    assert [path.name for path in tmp_path.iterdir()] == ["taken.zip"]
