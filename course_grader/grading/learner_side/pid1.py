"""The first process of a sandbox, cold or warm: it begets the kernel, minds it, and ends everything with it.

It belongs to the same user as the learner's code and comes from outside, so nobody may look into it: its memory,
descriptors and environment are out of reach, and no signal from inside the sandbox ends or stops it.
"""

import contextlib
import os
import select
import signal

from course_grader.grading.sandbox import namespaces

__all__ = ["beget", "mind"]


def beget() -> int:
    """Fork; return 0 in the process that is to become the kernel, and its number in the one that stays.

    The new one leads a session of its own and may be traced, as any ordinary process; the other may not, from before
    there was anyone to trace it.
    """
    namespaces.allow_tracing(False)
    if (child := os.fork()) == 0:
        namespaces.allow_tracing(True)
        os.setsid()
        return 0
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the first of a namespace ignores it by default; Python would obey
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the operating system buries what others leave behind
    return child


def mind(kernel: int, *others: int) -> None:
    """Return once the kernel is dead, or one of the other descriptors has something to say or is closed."""
    with contextlib.suppress(ProcessLookupError):
        watch = select.poll()
        for descriptor in (os.pidfd_open(kernel), *others):
            watch.register(descriptor, select.POLLIN)  # a hang-up is always reported
        watch.poll()
