"""Nothing temporary stays: what a process leaves that was killed, the next one removes, and nothing else."""

import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from course_grader.grading.sandbox import cgroups, scratch_dirs
from tests.grading.test_kill import GONE_SECONDS, POLL_SECONDS, command, groups_below, kill

HELD = """
import os, sys
from course_grader.grading.sandbox import scratch_dirs
open(os.path.join(scratch_dirs.own_folder(), "left"), "w").close()
print(scratch_dirs.own_folder(), flush=True)
sys.stdin.read()
"""


def remover(removed):
    """Return a function that only takes down what it is to remove."""
    return lambda path: removed.append(path.name)


def test_what_is_held_stays_and_what_was_let_go_is_removed(tmp_path):
    """The lock tells, not the age and not the name."""
    kept, old = scratch_dirs.make_locked_folder(tmp_path), scratch_dirs.make_locked_folder(tmp_path)
    (old.path / "folder").mkdir()
    old.unlock()
    scratch_dirs.sweep_unlocked(tmp_path, remove=scratch_dirs._remove)
    assert list(tmp_path.iterdir()) == [kept.path]
    kept.unlock()


def test_only_what_was_made_to_be_swept_is(tmp_path):
    """Another name, a folder that others may enter, a file, a link and somebody else's folder are left alone."""
    elsewhere, removed = tmp_path / "elsewhere", []
    elsewhere.mkdir(mode=0o700)
    (tmp_path / "course-grading").mkdir(mode=0o700)
    (tmp_path / f"{scratch_dirs.PREFIX}homework").mkdir(mode=0o755)
    (tmp_path / f"{scratch_dirs.PREFIX}notes").touch()
    (tmp_path / f"{scratch_dirs.PREFIX}linked").symlink_to(elsewhere)
    if os.geteuid() == 0:
        (theirs := tmp_path / f"{scratch_dirs.PREFIX}theirs").mkdir(mode=0o700)
        os.chown(theirs, 12345, 12345)
    scratch_dirs.sweep_unlocked(tmp_path, remove=remover(removed))
    scratch_dirs.sweep_unlocked(tmp_path / "nowhere", remove=remover(removed))
    assert removed == []


@pytest.mark.parametrize("killed", [True, False])
def test_a_process_that_was_killed_is_cleaned_up_after(tmp_path, killed):
    """Links in what it left are removed and not followed; one that lives is left alone, and cleans up after itself."""
    (precious := tmp_path / "precious").mkdir()
    (precious / "work").touch()
    options = {"env": os.environ | {"TMPDIR": str(tmp_path)}, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", HELD], text=True, **options) as process:
        folder = Path(process.stdout.readline().strip())
        (folder / "link").symlink_to(precious)
        if killed:
            process.kill()
            process.wait()
        assert sorted(path.name for path in folder.iterdir()) == ["left", "link"]
        scratch_dirs.sweep_unlocked(tmp_path, remove=scratch_dirs._remove)
        assert folder.exists() is not killed
    assert [path.name for path in tmp_path.rglob("*")] == ["precious", "work"]


@pytest.fixture
def nothing_yet(monkeypatch):
    """A process that has no folder so far, as far as the module knows; at the end those it made are gone."""
    monkeypatch.setattr(scratch_dirs, "_own_folders", {})
    yield
    scratch_dirs.remove_own_folders()


FORKING = """
import os, tempfile
from course_grader.grading.sandbox import scratch_dirs
mine = scratch_dirs.own_folder()
if (child := os.fork()) == 0:
    scratch_dirs.own_folder()
    several = len(os.listdir(tempfile.gettempdir()))
    scratch_dirs.remove_own_folders()
    os._exit(several)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), os.listdir(tempfile.gettempdir()) == [os.path.basename(mine)])
"""


def test_a_fork_has_a_folder_of_its_own(tmp_path):
    """It removes that, and not the one of the process it was forked from, which goes when that ends."""
    done = subprocess.run(  # a process of its own: this one has threads, which do not go well with forks
        [sys.executable, "-c", FORKING], env=os.environ | {"TMPDIR": str(tmp_path)}, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("2 True\n", "")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("nothing_yet")
def test_sockets_have_room_whatever_tmpdir_is(tmp_path, monkeypatch):
    """A long one, and one that a sandbox would not cover, are not used for them."""
    for usual in (str(tmp_path / ("x" * 60)), "/var/tmp"):
        monkeypatch.setattr(tempfile, "tempdir", usual)
        assert Path(scratch_dirs.short_folder()).parent == Path("/tmp")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        assert Path(scratch_dirs.short_folder()).parent == Path(folder)
        assert scratch_dirs.short_folder() == scratch_dirs.own_folder()


def test_a_group_of_a_killed_grader_is_removed_and_one_in_use_is_not():
    """Root has one for each submission, and the operating system keeps an empty one for ever."""
    kept, left = cgroups.make_group(10, memory_bytes=1 << 30), cgroups.make_group(10, memory_bytes=1 << 30)
    if left is None:
        pytest.skip("no control group can be made here")
    left.unlock()
    cgroups.sweep_groups()
    assert (kept.path.exists(), left.path.exists()) == (True, False)
    cgroups.remove_group(kept)
    assert not kept.path.exists()


def can_make_groups():
    """Tell whether this machine lets us make control groups."""
    made = cgroups.make_group(10, memory_bytes=1 << 30)
    cgroups.remove_group(made)
    return made is not None


def killed(words, env, folder):
    """Start the command, kill it once it has made something, and return the control groups that it was using."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, env=env)
    wanted = can_make_groups()
    while not (list(folder.iterdir()) and bool(groups_below(process.pid)) is wanted):
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(POLL_SECONDS)
    return kill(process)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_killed_run_leaves_what_the_next_removes(exercise, hand_in, tmp_path, short_folder, jobs):
    """Folders and control groups; a run that comes to its end leaves nothing itself."""
    (classroom := tmp_path / "class").mkdir()
    for learner in ("ada", "bob"):
        hand_in(halve="import time\ndef halve(x):\n    time.sleep(600)").rename(classroom / f"{learner}.ipynb")
    words, env = command(classroom, exercise, tmp_path / "out", "-j", jobs), os.environ | {"TMPDIR": str(short_folder)}
    groups, wanted = killed(words, env, short_folder), can_make_groups()
    while wanted and not any(group.exists() for group in groups):  # that was one on trial, and it was gone in time
        groups = killed(words, env, short_folder)
    assert list(short_folder.iterdir())
    subprocess.run(words, check=True, capture_output=True, env=env)
    assert not list(short_folder.iterdir())
    assert not [group for group in groups if group.exists()]


@pytest.mark.parametrize("ends", [signal.SIGTERM, signal.SIGKILL])
def test_a_check_leaves_nothing_or_what_the_next_removes(hand_in, short_folder, ends):
    """Broken off, and killed while the learner's code runs: that ends as well, though in no sandbox."""
    waits = (
        "def double(x):\n    with open('begun', 'w') as file:\n        print(os.getpid(), file=file)\n    open('never')"
    )
    path, words = hand_in(double=f"import os\n{waits}"), [sys.executable, "-m", "course_grader.cli", "check"]
    for name in ("begun", "never"):
        os.mkfifo(path.with_name(name))  # who opens it waits for who opens its other end
    env = os.environ | {"TMPDIR": str(short_folder)}
    process = subprocess.Popen([*words, path], stdout=subprocess.DEVNULL, env=env)
    kernel = os.pidfd_open(int(path.with_name("begun").read_text()))
    process.send_signal(ends)
    process.wait()
    assert select.select([kernel], [], [], GONE_SECONDS)[0]
    os.close(kernel)
    assert ends == signal.SIGKILL or not list(short_folder.iterdir())
    assert subprocess.run([*words, hand_in()], stdout=subprocess.DEVNULL, env=env).returncode == 0
    assert not list(short_folder.iterdir())
