"""Linux namespaces for a forked process: the sandbox that bubblewrap builds, built from inside by system calls.

A process that :func:`clone_into_namespaces` forks is the first of new namespaces of every kind, and may still change
them. :func:`build_view` mounts its file systems, :func:`drop_privileges` takes from it the means to undo that.
"""

import ctypes
import fcntl
import os
import platform
import signal
import socket
import struct
from pathlib import Path

from course_grader.grading.sandbox.seccomp import build_filter

__all__ = [
    "SETFCAP",
    "allow_tracing",
    "build_view",
    "clone_into_namespaces",
    "drop_capabilities",
    "drop_privileges",
    "map_user",
    "mount_proc",
]

# linux/sched.h, linux/prctl.h, linux/mount.h
NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = (
    *(0x20000, 0x2000000, 0x4000000, 0x8000000),
    *(0x10000000, 0x20000000, 0x40000000),
)
PIDFD = 0x1000
CLONE = {"x86_64": 56, "aarch64": 220}
SET_DUMPABLE, SET_SECCOMP, CAPBSET_DROP, SET_NO_NEW_PRIVS, CAP_AMBIENT = 4, 22, 24, 38, 47
SETFCAP = 1 << 31  # without it root may not be itself in a namespace it makes (user_namespaces(7))
CLEAR_ALL, FILTER, CAPABILITY_VERSION = 4, 2, 0x20080522
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC, PRIVATE = 1, 2, 4, 8, 0x20, 0x1000, 0x4000, 0x40000
_libc = ctypes.CDLL(None, use_errno=True)
_holding_gil = ctypes.PyDLL(None, use_errno=True)


def _check_result(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def clone_into_namespaces() -> tuple[int, int]:
    """Fork into new namespaces; return 0 and -1 in the child, its number and a descriptor of it in the parent.

    ``os.fork`` cannot make namespaces, and making them for the next fork would cost a second one.
    """
    if platform.machine() not in CLONE:
        raise OSError(f"the number of clone is not known for {platform.machine()}")
    flags = NEWUSER | NEWNS | NEWPID | NEWIPC | NEWUTS | NEWNET | NEWCGROUP | PIDFD | signal.SIGCHLD
    pidfd = ctypes.c_int(-1)
    ctypes.pythonapi.PyOS_BeforeFork()
    child = _holding_gil.syscall(CLONE[platform.machine()], flags, None, ctypes.byref(pidfd), None, None)
    if child == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
        return 0, -1
    ctypes.pythonapi.PyOS_AfterFork_Parent()
    return _check_result(child, "clone"), pidfd.value


def map_user(uid: int, outer_uid: int, gid: int, outer_gid: int) -> None:
    """Map this process's user and group in its new user namespace to those of the one around it."""
    allow_tracing(True)  # or its own files in /proc would be root's
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {outer_uid} 1"),
        ("gid_map", f"{gid} {outer_gid} 1"),
    ):
        Path(f"/proc/self/{name}").write_text(text, encoding="ascii")


def allow_tracing(allowed: bool, /) -> None:
    """Allow or forbid processes of the same user to trace this one and take its descriptors."""
    _check_result(_libc.prctl(SET_DUMPABLE, int(allowed), 0, 0, 0), "prctl")


def _mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    words = [source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), options.encode() or None]
    _check_result(_libc.mount(*words), f"mount {target}")


def mount_proc() -> None:
    """Mount the ``/proc`` of this process namespace."""
    _mount("proc", "/proc", "proc", NOSUID | NODEV | NOEXEC)


def build_view(
    *,
    shared: list[str],
    empty: list[str],
    hidden: list[str],
    replaced: dict[str, str],
    read_only: list[str],
    size_bytes: int,
    files: int,
    terminals: int,
    home: str,
) -> None:
    """Mount the sandbox's file systems: empty places in memory, devices, processes; the rest stays, read-only as it is.

    Parameters
    ----------
    shared : list of str
        Folders that stay as they are although they lie below one of the ``empty`` places.
    empty : list of str
        Places to cover with an empty file system of at most ``size_bytes`` and so many ``files`` each.
    hidden : list of str
        Folders to cover with an empty one that stays so.
    replaced : dict of str to str
        Folders to cover with another one.
    read_only : list of str
        Parts of ``/proc`` that belong to the whole machine.
    terminals : int
        How many pseudo-terminals there may be: the machine has some thousands for all.
    home : str
        The working directory.
    """
    _mount("none", "/", flags=REC | PRIVATE)
    descriptors = {folder: os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC) for folder in shared}
    for place in empty:
        _mount("tmpfs", place, "tmpfs", NOSUID | NODEV, f"mode=0755,size={size_bytes},nr_inodes={files}")
    _mount("devpts", "/dev/pts", "devpts", NOSUID | NOEXEC, f"newinstance,ptmxmode=0666,mode=620,max={terminals}")
    mount_proc()
    for folder, descriptor in descriptors.items():
        Path(folder).mkdir(parents=True, exist_ok=True)
        _mount(f"/proc/self/fd/{descriptor}", folder, flags=BIND | REC)
        os.close(descriptor)
    for place in hidden:  # now, as it may lie in a folder that has only just come back
        _mount("tmpfs", place, "tmpfs", NOSUID | NODEV, "mode=0755")
    for place, other in replaced.items():
        _mount(other, place, flags=BIND)  # read-only as that is
    # Room for one more namespace, which lock() takes; bubblewrap's --disable-userns does the same.
    Path("/proc/sys/user/max_user_namespaces").write_text("1", encoding="ascii")
    for place in hidden:
        _mount("none", place, flags=BIND | REMOUNT | RDONLY | NOSUID | NODEV)
    for place in read_only:
        _mount(place, place, flags=BIND | REC)
        _mount("none", place, flags=BIND | REMOUNT | RDONLY | NOSUID | NODEV | NOEXEC)
    _raise_loopback()
    os.chdir(home)


def _raise_loopback() -> None:
    """Switch on 127.0.0.1, which reaches only this process and those it starts."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        up_and_running = struct.pack("16sh14x", b"lo", 0x1 | 0x40)
        fcntl.ioctl(any_socket, 0x8914, up_and_running)  # SIOCSIFFLAGS


def drop_privileges(uid: int, gid: int) -> None:
    """Drop every privilege: enter a user namespace that owns nothing, give up capabilities, filter system calls."""
    _check_result(_libc.unshare(NEWUSER), "unshare")
    map_user(uid, 0, gid, 0)
    _check_result(_libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    _check_result(_libc.prctl(CAP_AMBIENT, CLEAR_ALL, 0, 0, 0), "prctl")
    number = 0
    while _libc.prctl(CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    drop_capabilities()
    code = build_filter(platform.machine())
    if code:
        text = ctypes.create_string_buffer(code, len(code))
        described = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(text))
        _check_result(_libc.prctl(SET_SECCOMP, FILTER, described, 0, 0), "seccomp")


def drop_capabilities(*, but: int = 0) -> None:
    """Drop every capability of this process, but for the set ``but``."""
    kept = struct.pack("6I", but, but, 0, 0, 0, 0)
    _check_result(_libc.capset(struct.pack("Ii", CAPABILITY_VERSION, 0), kept), "capset")
