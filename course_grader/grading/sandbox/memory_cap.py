"""Memory cap for the grader itself, while it works with what a learner's process has sent.

What is sent is bounded, but not what can be made of it: two arrays of a few kilobytes add up to one of gigabytes.
"""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["cap_memory"]


@contextlib.contextmanager
def cap_memory(more_bytes: int = 2 << 30) -> Iterator[None]:
    """Cap this process's address space at what it has now plus ``more_bytes``; outside Linux, do nothing.

    Processes started meanwhile begin with that limit; those of kernels set their own.
    """
    if sys.platform != "linux":
        yield
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limits = [pages * resource.getpagesize() + more_bytes, soft, hard]
    resource.setrlimit(resource.RLIMIT_AS, (min(limit for limit in limits if limit != resource.RLIM_INFINITY), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
