"""A filter of system calls that no exercise needs, as the program bubblewrap takes with ``--seccomp``.

Memory that belongs to no process and to no limited file system (``memfd_create``, what System V shares) would escape
every limit; of some things (``io_setup``) all users together have only so many; the others are the doors that escapes
from sandboxes have been made through.
"""

import os
import platform
import struct

__all__ = ["filter_file"]

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
    "unshare": 97,
    "setns": 268,
}
# AUDIT_ARCH_* of linux/audit.h, and the first number that is not a call of that machine's own (x32's begin there).
MACHINES = {"x86_64": (0xC000003E, 0x40000000, X86_64), "aarch64": (0xC00000B7, 0x40000000, AARCH64)}

LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050001  # SECCOMP_RET_ALLOW; SECCOMP_RET_ERRNO with EPERM
NUMBER, MACHINE = 0, 4  # where struct seccomp_data holds them


def program(machine: str) -> bytes:
    """Return the filter in the kernel's form (classic BPF), empty for a machine whose numbers are not known here.

    Examples
    --------
    >>> len(program("x86_64")) == 8 * (len(X86_64) + 6)
    True
    >>> program("pdp11")
    b''
    """
    if machine not in MACHINES:
        return b""
    audit, foreign, calls = MACHINES[machine]
    refuse = len(calls) + 1  # instructions between the first comparison of a number and the refusal
    steps = [(LOAD, 0, 0, MACHINE), (EQUAL, 0, refuse + 2, audit), (LOAD, 0, 0, NUMBER), (AT_LEAST, refuse, 0, foreign)]
    steps += [(EQUAL, refuse - 1 - i, 0, number) for i, number in enumerate(sorted(calls.values()))]
    steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def filter_file() -> int | None:
    """Return a descriptor from which the filter for this machine can be read once; the caller closes it."""
    if not (code := program(platform.machine())):
        return None
    reader, writer = os.pipe()
    os.write(writer, code)  # far less than a pipe holds
    os.close(writer)
    return reader
