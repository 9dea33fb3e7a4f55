"""``course_grader.hand_in()``: hand in the notebook that is open, wait for its marks, and show them."""

import getpass
import importlib
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from course_grader.grading.exercises.submitted_notebook import parse_submission
from course_grader.grading.grade_one.report import Row
from course_grader.learner.in_notebook import notebook_names, shown_as_sentence
from course_grader.learner.mark import Mark
from course_grader.learner.open_notebook import read_open_notebook
from course_grader.learner.public_key import exercise_of
from course_lib.errors import InputError

__all__ = ["hand_in"]

SECRET = "COURSE_TOKEN"  # noqa: S105 - its name, in Colab's secrets and in the environment
WAIT_SECONDS, ANSWER_SECONDS, AGAIN_SECONDS = 20, 60, 2.0
TRIES = 5  # after the first: while the service starts anew
ROWS = ("name", "kind", "status", "points", "max_points", "title", "message")
MAKE_ONE = "make one on your page of the course's service"


@shown_as_sentence("hand_in")
def hand_in(exercise: str = "", notebook: str | os.PathLike[str] | None = None, *, token: str = "") -> Mark:
    """Hand in the notebook that is open, and return its marks as they are recorded.

    The same notebook can be handed in again, which changes nothing.

    Parameters
    ----------
    exercise : str, optional
        Which exercise it is, where the notebook does not say so itself.
    notebook : path, optional
        The notebook's file, where the editor does not say which one is open.
    token : str, optional
        Your token, an address and a secret in one. By default that in Colab's secrets or in the environment, under the
        name ``COURSE_TOKEN``; else you are asked for it. It is not stored, and must not stand in the notebook.

    Raises
    ------
    InputError
        If the notebook's text cannot be had, the service cannot be reached, or it refuses the notebook, and why.
    """
    opened = read_open_notebook(notebook, notebook_names())
    slug = exercise or exercise_of(parse_submission(opened.raw))
    service = _Service(token or _find_token())
    found = service.ask(f"hand-ins/{urllib.parse.quote(slug, safe='')}", opened.raw)
    place = None
    while found["state"] == "waiting":
        if found["place"] != place:
            place = found["place"]
            print(f"handed in; {place - 1} before yours" if place > 1 else "handed in; grading", flush=True)
        found = service.ask(f"hand-ins/{found['id']}?wait={WAIT_SECONDS}")
    if found["state"] == "failed":
        raise InputError(f"the notebook is handed in, but grading it failed: {'; '.join(found['messages'])}")
    rows = tuple(Row(**{name: part[name] for name in ROWS}) for part in found["parts"])
    said = {row.message for row in rows}
    notes = [message for message in found["messages"] if not any(text and text in message for text in said)]
    return Mark(found["title"], rows, (*notes, opened.origin.replace("marked", "handed in", 1)))


def _find_token() -> str:
    """Return the token from Colab's secrets or the environment, or ask for it; it is not echoed."""
    if "google.colab" in sys.modules:
        userdata: Any = importlib.import_module("google.colab.userdata")
        try:
            return str(userdata.get(SECRET))
        except Exception:  # noqa: S110 - not there, or this notebook may not see it: Colab has a type for each
            pass
    return os.environ.get(SECRET) or getpass.getpass(f"Your token ({MAKE_ONE}): ")


class _Service:
    """The course's service, as a token names it."""

    def __init__(self, token: str) -> None:
        address, _, self._secret = token.strip().partition("#")
        self._address = address.rstrip("/")
        if not self._secret or urllib.parse.urlsplit(address).scheme not in ("http", "https"):
            raise InputError(f"expected a token like https://ADDRESS#SECRET, found something else; {MAKE_ONE}")

    def ask(self, path: str, body: bytes | None = None) -> dict[str, Any]:
        """Send a request, and return the answer; try again where none came, since nothing is handed in twice."""
        headers = {"Authorization": f"Bearer {self._secret}", "Content-Type": "application/x-ipynb+json"}
        request = urllib.request.Request(f"{self._address}/api/{path}", data=body, headers=headers)  # noqa: S310 - checked
        for last in (*[False] * TRIES, True):
            try:
                with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:  # noqa: S310 - see above
                    return dict(json.load(answer))
            except urllib.error.HTTPError as error:
                if error.code < 500 or last:
                    raise InputError(_read_error(error)) from None
            except (OSError, ValueError) as error:
                if last:
                    wrong = f"expected an answer from {self._address}, found: {getattr(error, 'reason', error)}"
                    raise InputError(f"{wrong}; check the token's address, and run this again") from None
            time.sleep(AGAIN_SECONDS)
        raise AssertionError("the last try returns or raises")


def _read_error(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.load(error)["error"])
    except (ValueError, KeyError, TypeError):
        return f"expected marks, found status {error.code} ({error.reason}); try again in a minute"
