"""``course_grader.hand_in()``, against the service itself."""

import json
import re
import subprocess
import sys
import types
from pathlib import Path

import nbformat
import pytest

import course_grader
from course_grader.grading.exercises.exercise import load_exercise
from course_grader.grading.grade_class.roster import RosterEntry
from course_grader.service.database import open_service_database
from course_grader.service.people import People
from course_grader.service.tables import CredentialKind
from course_lib.errors import InputError

EXERCISE = Path(__file__).parents[2] / "exercises" / "two_layer_gradients" / "key"


@pytest.fixture(scope="module")
def service(new_database, tmp_path_factory):
    """Run ``course serve`` with one exercise; return its address and that of its database."""
    database = new_database()
    (folder := tmp_path_factory.mktemp("exercises") / "two_layer_gradients").mkdir()
    (folder / "key").symlink_to(EXERCISE)
    command = [sys.executable, "-m", "course_grader.cli", "serve", "--database", database, "--port", "0"]
    command += ["--exercises", folder.parent, "--jobs", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield re.search(r"http\S+", process.stdout.readline())[0], database
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def token(service):
    """Return Ada's token."""
    url, database = service
    people = People(engine := open_service_database(database))
    people.add([RosterEntry("ada")])
    secret = people.make_secret("ada", CredentialKind.TOKEN)
    engine.dispose()
    return f"{url}#{secret}"


@pytest.fixture
def notebook(tmp_path):
    """Write the reference, as a browser or Colab calls a second copy."""

    def write(**answers: str) -> Path:
        made = load_exercise(EXERCISE).reference()
        for cell in made.cells:
            cell.source = answers.get(cell.id, cell.source)
        nbformat.write(made, path := tmp_path / "Copy of two_layer_gradients (1).ipynb")
        return path

    return write


def test_marks_come_back_and_say_what_is_wrong(notebook, token, capsys):
    """A right notebook has all points; with one answer spoilt, the part that is wrong says so."""
    right = course_grader.hand_in(notebook=notebook(), token=token)
    assert (right.passed, right.points, right.max_points) == (True, 10, 10)
    assert "handed in" in capsys.readouterr().out
    wrong = course_grader.hand_in(notebook=notebook(forward="def forward(x, params):\n    return 1, 2"), token=token)
    assert wrong.points < 10
    assert any("forward" in row.message for row in wrong.rows if row.status != "passed")
    assert "handed in as saved at" in repr(wrong)


def test_the_same_notebook_twice_is_one_hand_in(notebook, token):
    """The marks are the same, and the queue saw one job: a learner presses twice, or a network repeats."""
    first, second = (course_grader.hand_in(notebook=notebook(), token=token) for _ in range(2))
    assert first.points == second.points == 10


def test_the_token_comes_from_colabs_secrets(notebook, token, monkeypatch):
    """There the page's own text is handed in, and the token is found where Colab keeps it."""
    text = json.loads(notebook().read_text())
    asked = []
    colab = {
        "google.colab": types.ModuleType("google.colab"),
        "google.colab.userdata": types.SimpleNamespace(get=lambda name: asked.append(name) or token),
        "google.colab._message": types.SimpleNamespace(blocking_request=lambda *_, **__: {"ipynb": text}),
    }
    for name, module in colab.items():
        monkeypatch.setitem(sys.modules, name, module)
    assert course_grader.hand_in().passed
    assert asked == ["COURSE_TOKEN"]


@pytest.mark.parametrize(
    ("token", "says"),
    [
        ("a secret alone", "ADDRESS#SECRET"),
        ("ftp://course#secret", "ADDRESS#SECRET"),
        ("{url}#another", "expected a token that holds"),
    ],
)
def test_a_token_that_is_none_is_told_so(notebook, service, token, says):
    """One sentence each, without the secret in it."""
    with pytest.raises(InputError, match=says) as told:
        course_grader.hand_in(notebook=notebook(), token=token.format(url=service[0]))
    assert "secret" not in str(told.value).replace("SECRET", "")


def test_a_service_that_is_away_is_told(notebook, monkeypatch):
    """After some tries, with its address and what to check."""
    monkeypatch.setattr("course_grader.learner.service_client.AGAIN_SECONDS", 0)
    with pytest.raises(InputError, match=r"an answer from http://127\.0\.0\.1:1, found"):
        course_grader.hand_in(notebook=notebook(), token="http://127.0.0.1:1#x")


def test_another_exercise_is_refused_by_name(notebook, token):
    """The sentence names those there are."""
    with pytest.raises(InputError, match="must be one of two_layer_gradients"):
        course_grader.hand_in("another", notebook=notebook(), token=token)
