"""Seccomp filter: refuse system calls that no exercise needs (for bubblewrap's ``--seccomp``).

Memory that belongs to no process and to no limited file system (``memfd_create``, what System V shares) would escape
every limit, and so would what lies in a pipe without being copied (``vmsplice``); of some things (``io_setup``,
``inotify_init``) all users, or all processes of one, have only so many together; a lease makes whoever opens the file
wait; the others are the doors that escapes from sandboxes have been made through. Sockets keep the room that the
machine gives them, and are of families that end at the sandbox's own network: others (``AF_VSOCK``) belong to the
machine, or are the way into much of its kernel.
"""

import os
import platform
import struct

__all__ = ["build_filter", "open_filter"]

# The numbers are the kernel's own, and differ between machines.
X86_64 = {
    "memfd_create": 319,
    "memfd_secret": 447,
    "shmget": 29,
    "msgget": 68,
    "semget": 64,
    "io_setup": 206,
    "io_uring_setup": 425,
    "userfaultfd": 323,
    "bpf": 321,
    "perf_event_open": 298,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "ptrace": 101,
    "process_vm_writev": 311,
    "vmsplice": 278,
    "inotify_init": 253,
    "inotify_init1": 294,
    "fanotify_init": 300,
    "mq_open": 240,
    "unshare": 272,
    "setns": 308,
}
AARCH64 = {
    "memfd_create": 279,
    "memfd_secret": 447,
    "shmget": 194,
    "msgget": 186,
    "semget": 190,
    "io_setup": 0,
    "io_uring_setup": 425,
    "userfaultfd": 282,
    "bpf": 280,
    "perf_event_open": 241,
    "add_key": 217,
    "request_key": 218,
    "keyctl": 219,
    "ptrace": 117,
    "process_vm_writev": 271,
    "vmsplice": 75,
    "inotify_init1": 26,
    "fanotify_init": 262,
    "mq_open": 180,
    "unshare": 97,
    "setns": 268,
}
# AUDIT_ARCH_* of linux/audit.h, the first number that is not a call of that machine's own (x32's begin there), and the
# numbers of ``setsockopt``, of ``fcntl``, and of ``socket`` and ``socketpair``.
MACHINES = {
    "x86_64": (0xC000003E, 0x40000000, 54, 72, (41, 53), X86_64),
    "aarch64": (0xC00000B7, 0x40000000, 208, 25, (198, 199), AARCH64),
}
SOL_SOCKET, BUFFER_SIZES = 1, (7, 8, 32, 33)  # SO_SNDBUF, SO_RCVBUF, and both by force
FAMILIES = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, and AF_NETLINK, which tells what addresses there are
SET_LEASE = 1024  # F_SETLEASE

LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
# SECCOMP_RET_ALLOW; SECCOMP_RET_ERRNO with EPERM, and with EAFNOSUPPORT, as where the machine lacks the family
ALLOW, REFUSE, UNKNOWN = 0x7FFF0000, 0x00050001, 0x00050061
NUMBER, MACHINE, FAMILY, LEVEL, OPTION = 0, 4, 16, 24, 32  # where struct seccomp_data holds them; three are arguments
# Where to go on: which instruction from the end.
NEXT, REFUSED, ALLOWED, OPENED, CONTROLLED = 0, 1, 2, len(FAMILIES) + 4, len(FAMILIES) + 6


def build_filter(machine: str) -> bytes:
    """Build the filter in the kernel's form (classic BPF); empty for a machine whose call numbers are not listed here.

    Examples
    --------
    >>> len(build_filter("x86_64")) == 8 * (len(X86_64) + len(BUFFER_SIZES) + len(FAMILIES) + 18)
    True
    >>> build_filter("pdp11")
    b''
    """
    if machine not in MACHINES:
        return b""
    audit, foreign, setsockopt, fcntl, openers, calls = MACHINES[machine]
    steps = [
        (LOAD, NEXT, NEXT, MACHINE),
        (EQUAL, NEXT, REFUSED, audit),
        (LOAD, NEXT, NEXT, NUMBER),
        (AT_LEAST, REFUSED, NEXT, foreign),
        *((EQUAL, REFUSED, NEXT, number) for number in sorted(calls.values())),
        *((EQUAL, OPENED, NEXT, number) for number in openers),
        (EQUAL, CONTROLLED, NEXT, fcntl),
        (EQUAL, NEXT, ALLOWED, setsockopt),
        (LOAD, NEXT, NEXT, LEVEL),
        (EQUAL, NEXT, ALLOWED, SOL_SOCKET),
        (LOAD, NEXT, NEXT, OPTION),
        *((EQUAL, REFUSED, NEXT, option) for option in BUFFER_SIZES),
        (RETURN, NEXT, NEXT, ALLOW),
        (LOAD, NEXT, NEXT, LEVEL),
        (EQUAL, REFUSED, ALLOWED, SET_LEASE),
        (LOAD, NEXT, NEXT, FAMILY),
        *((EQUAL, ALLOWED, NEXT, family) for family in FAMILIES),
        (RETURN, NEXT, NEXT, UNKNOWN),
        (RETURN, NEXT, NEXT, ALLOW),
        (RETURN, NEXT, NEXT, REFUSE),
    ]

    def jump(here: int, place: int) -> int:
        return len(steps) - place - here - 1 if place else 0

    return b"".join(
        struct.pack("=HBBI", what, jump(here, yes), jump(here, no), value)
        for here, (what, yes, no, value) in enumerate(steps)
    )


def open_filter() -> int | None:
    """Open a pipe from which the filter for this machine can be read once; the caller closes it."""
    if not (code := build_filter(platform.machine())):
        return None
    reader, writer = os.pipe()
    os.write(writer, code)  # far less than a pipe holds
    os.close(writer)
    return reader
