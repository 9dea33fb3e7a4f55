"""PID 1 of the sandbox: fork the kernel process and wait for it to exit; everything in the sandbox ends with PID 1.

It belongs to the same user as the learner's code and comes from outside, so nobody may look into it: its memory,
descriptors and environment are out of reach, and no signal from inside the sandbox ends or stops it.
"""

import contextlib
import os
import select
import signal

from course_grader.grading.sandbox import namespaces

__all__ = ["fork_kernel", "wait_for_exit"]


def fork_kernel() -> int:
    """Fork the kernel process; return 0 in it, and its number in PID 1.

    The kernel's process leads a session of its own and may be traced, as any ordinary process; PID 1 may not, from
    before there was anyone to trace it.
    """
    namespaces.allow_tracing(False)
    if (child := os.fork()) == 0:
        namespaces.allow_tracing(True)
        os.setsid()
        return 0
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the first of a namespace ignores it by default; Python would obey
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that the operating system reaps orphans
    return child


def wait_for_exit(kernel: int, *others: int) -> None:
    """Wait until the kernel is dead, or one of the other descriptors is readable or closed."""
    with contextlib.suppress(ProcessLookupError):
        poll = select.poll()
        for descriptor in (os.pidfd_open(kernel), *others):
            poll.register(descriptor, select.POLLIN)  # a hang-up is always reported
        poll.poll()
