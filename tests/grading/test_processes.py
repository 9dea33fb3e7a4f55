"""Processes that were started for grading end with the grader, also when bubblewrap has not heard of its death."""

import contextlib
import os
import select
from pathlib import Path

import pytest

from course_grader.grading.kernel.kernel import Kernel
from course_grader.grading.sandbox.limits import Limits
from course_grader.grading.warm_start import zygote_client

ENOUGH = 30_000  # milliseconds


def is_gone(pid):
    """Wait for the end of a process."""
    handle = os.pidfd_open(pid)
    watch = select.poll()
    watch.register(handle, select.POLLIN)
    gone = bool(watch.poll(ENOUGH))
    os.close(handle)
    return gone


def close_lifeline(descriptor):
    """Let go of a pipe as one who is killed does; its number stays taken, so that it can be closed once more."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)


def test_a_kernel_ends_when_nobody_holds_its_lifeline():
    """Nothing is done to the process: what it hears is that the other end of its pipe is closed."""
    kernel = Kernel(limits=Limits())
    try:
        process = kernel.km.provisioner.process
        assert process.poll() is None
        close_lifeline(process._lifeline)
        assert is_gone(process.pid)
    finally:
        kernel.stop()


@pytest.mark.parametrize("wanted", [True, False])
def test_a_zygote_ends_when_nobody_holds_its_lifeline(wanted):
    """It serves until then, or waits to hear what to import."""
    starting = zygote_client.ZygoteProcess()
    try:
        if wanted:
            starting.load(())
            starting.ready()
        assert starting.process.poll() is None
        close_lifeline(starting.lifeline)
        assert is_gone(starting.process.pid)
    finally:
        starting.end()


def test_a_zygote_that_is_not_wanted_after_all_ends_however_far_it_has_come():
    """bubblewrap killed too early would leave a process that waits for it for ever."""
    folders = []
    for _ in range(20):
        starting = zygote_client.ZygoteProcess()
        folders.append(starting._zygote.folder)
        starting.end()
    commands = [words(path) for path in Path("/proc").glob("[0-9]*/cmdline")]
    assert not [command for command in commands if any(folder in command for folder in folders)]
    assert not any(Path(folder).parent.exists() for folder in folders)


def words(path):
    """Return the command line of a process, or nothing if it is gone."""
    with contextlib.suppress(OSError):
        return path.read_text()
    return ""


def pipes():
    """Return the pipes that this process has open."""
    found = []
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the one that the list is read through
            found.append(str(path.readlink()))
    return sorted(name for name in found if name.startswith("pipe:"))


def test_a_kernel_leaves_no_pipe_open():
    """A class would run out of descriptors."""
    Kernel(limits=Limits()).stop()
    before = pipes()
    Kernel(limits=Limits()).stop()
    assert pipes() == before
