"""The service as its users meet it: real processes, a real browser, a notebook that is graded."""

import contextlib
import itertools
import json
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe

from course_grader.grading.exercises.exercise import load_exercise
from course_grader.grading.grade_class.roster import RosterEntry
from course_grader.service.course import Course
from course_grader.service.tables import CredentialKind
from tests.book.test_accessible import OPTIONS
from tests.grading.conftest import SOURCE, TESTS

# What is wider than the window, and does not scroll by itself.
WIDER = """[...document.querySelectorAll("main *")]
    .filter(each => each.getBoundingClientRect().right > innerWidth && !each.closest(".scroll, pre, svg"))
    .map(each => each.outerHTML.slice(0, 99))"""
SIZES = list(itertools.product([390, 1200], ["light", "dark"]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with an exercise and its key, a roster, and notebooks to hand in."""
    folder = tmp_path_factory.mktemp("course")
    key = folder / "exercises" / "double" / "key"
    key.mkdir(parents=True)
    (key / "source.md").write_text(SOURCE, encoding="utf-8")
    (key / "test_hidden.py").write_text(TESTS, encoding="utf-8")
    exercise = load_exercise(key)
    nbformat.write(exercise.pristine(), folder / "Copy of double (1).ipynb")
    nbformat.write(exercise.reference(), folder / "double.ipynb")
    (folder / "roster.csv").write_text("username,name\nada,Ada Lovelace\nbob,Bob\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def service(folder, new_database):
    """The service and its worker, as a command; its address, the instructor's link, the course."""
    address = new_database()
    command = [sys.executable, "-m", "course_grader.cli", "serve", "--port", "0", "--database", address]
    command += ["--exercises", str(folder / "exercises")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        printed = [process.stdout.readline().split()[-1] for _ in range(2)]
        with contextlib.closing(Course(address)) as course:
            yield *printed, course
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()
    said = (folder / "log").read_text()
    assert "Traceback" not in said
    assert "/link/" not in said


@pytest.fixture
def open_browser(browser):
    """Return a function that opens a window; ``troubles`` are what its console says: a violated policy, an error."""
    with contextlib.ExitStack() as stack:

        def open_window(width=1200, scheme="light", **settings):
            size = {"width": width, "height": 900}
            context = browser.new_context(viewport=size, color_scheme=scheme, **settings)
            stack.callback(context.close)
            page = context.new_page()
            page.troubles = []
            page.on("console", lambda message: page.troubles.append(message.text))
            page.on("pageerror", lambda error: page.troubles.append(str(error)))
            return page

        yield open_window


def hand_in(page, file):
    """Hand in a file on a learner's page, and wait for its marks."""
    page.select_option("select[name=exercise]", "double")
    page.set_input_files("input[type=file]", file)
    page.get_by_role("button", name="Hand in").click()
    page.locator(".parts").first.wait_for(timeout=60_000)


def look(page, folder: Path, name: str):
    """Check a page at every size and in both schemes: axe finds nothing, and nothing is wider than the window."""
    for width, scheme in SIZES:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.screenshot(path=folder / f"{name}_{width}_{scheme}.png", full_page=True)
        wider = page.evaluate(WIDER)
        assert wider == [], (name, width)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page, options=OPTIONS).response["violations"]
        assert {rule["id"]: [node["html"][:200] for node in rule["nodes"]] for rule in found} == {}, (name, scheme)
    assert page.troubles == [], name


def test_from_a_roster_to_marks(service, folder, open_browser):
    """A roster, a link, two hand-ins, marks, a token; then the instructor's pages, points by hand and a regrade."""
    url, link, _ = service
    instructor, shots = open_browser(), folder / "shots"
    instructor.goto(link)
    look(instructor, shots, "link")
    instructor.get_by_role("button", name="Come in as instructor").click()
    instructor.get_by_role("link", name="People").click()
    instructor.set_input_files("input[type=file]", folder / "roster.csv")
    instructor.get_by_role("button", name="Add these learners").click()
    with instructor.expect_download() as download:
        instructor.get_by_role("button", name="Make 2 links").click()
    links = [line.split(",")[-1] for line in Path(download.value.path()).read_text().splitlines()[1:]]
    instructor.reload()
    look(instructor, shots, "people")

    ada = open_browser()
    ada.goto(links[0])
    ada.get_by_role("button", name="Come in as ada").click()
    ada.wait_for_url("**/my")
    while not ada.locator("select").count():  # until the worker has started
        ada.reload()
    look(ada, shots, "my_first")
    hand_in(ada, folder / "Copy of double (1).ipynb")
    ada.get_by_role("link", name="My page").first.click()
    hand_in(ada, folder / "double.ipynb")
    assert "What changed since the last attempt" in ada.inner_text("main")
    look(ada, shots, "marks")
    ada.get_by_role("link", name="My page").first.click()
    assert ada.locator(".standings .points").inner_text().startswith("3")
    look(ada, shots, "my")
    ada.get_by_role("button", name="Make a token").click()
    assert ada.locator("#token").inner_text().startswith(f"{url}#")
    look(ada, shots, "token")
    ada.goto(f"{url}/my/delete")
    look(ada, shots, "delete")

    instructor.goto(f"{url}/course/exercises/double")
    instructor.get_by_role("button", name="Compare").click()
    instructor.get_by_text("No two are more alike").wait_for(timeout=60_000)
    instructor.get_by_role("button", name="Grade all hand-ins again").click()
    instructor.locator(".waiting").wait_for(state="detached", timeout=60_000)
    look(instructor, shots, "exercise")
    instructor.get_by_role("link", name="ada").click()
    instructor.get_by_label("Points to add").fill("0.5")
    instructor.locator("form[action$=points] select").select_option("double")
    instructor.get_by_label("Comment").fill("an elegant way")
    instructor.get_by_role("button", name="Give these points").click()
    assert "an elegant way" in instructor.locator(".standings").inner_text()
    look(instructor, shots, "learner")
    instructor.locator(".plain a").first.click()
    look(instructor, shots, "attempt")
    for name in ("Course", "Audit log"):
        instructor.get_by_role("link", name=name).first.click()
        look(instructor, shots, name.split()[0].lower())


def test_without_javascript(service, folder, open_browser):
    """The page of a hand-in loads itself anew until the marks are there."""
    url, _, course = service
    course.people.add([RosterEntry("cem")])
    page = open_browser(java_script_enabled=False)
    page.goto(f"{url}/link/{course.people.make_secret('cem', CredentialKind.LINK)}")
    page.get_by_role("button", name="Come in as cem").click()
    page.wait_for_url("**/my")
    hand_in(page, folder / "double.ipynb")
    assert page.locator("div.points").inner_text().startswith("3")
    with page.expect_download() as download:
        page.get_by_role("link", name="My page").first.click()
        page.get_by_role("link", name="Download all of it").click()
    with zipfile.ZipFile(download.value.path()) as kept:
        assert "notebooks" in " ".join(kept.namelist())
        assert json.loads(kept.read("kept.json"))["attempts"][0]["points"] == 3


def test_a_page_of_an_error_is_as_accessible_as_the_others(service, folder, open_browser):
    """For somebody whose link is used up."""
    page = open_browser()
    page.goto(f"{service[0]}/link/used")
    assert "ask your instructor for a new one" in page.inner_text("main")
    page.troubles.clear()  # Chromium notes the 404
    look(page, folder, "error")
