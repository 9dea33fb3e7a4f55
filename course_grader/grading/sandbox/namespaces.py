"""Walls around a forked process: the ones bubblewrap puts around one it starts, made from inside by system calls.

A process that :func:`clone_apart` returns in is the first of its own namespaces of every kind, and may still change
them. :func:`furnish` gives it a view of its own, :func:`lock` takes from it what it could undo that with.
"""

import ctypes
import fcntl
import os
import platform
import signal
import socket
import struct
from pathlib import Path

from course_grader.grading.sandbox.seccomp import program

__all__ = ["SETFCAP", "allow_tracing", "clone_apart", "drop_capabilities", "furnish", "lock", "mount_proc", "name_user"]

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


def _done(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def clone_apart() -> tuple[int, int]:
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
    return _done(child, "clone"), pidfd.value


def name_user(uid: int, outer_uid: int, gid: int, outer_gid: int) -> None:
    """Say who this process is in its new user namespace, and who that is in the one around it."""
    allow_tracing(True)  # or its own files in /proc would be root's
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {outer_uid} 1"),
        ("gid_map", f"{gid} {outer_gid} 1"),
    ):
        Path(f"/proc/self/{name}").write_text(text, encoding="ascii")


def allow_tracing(allowed: bool, /) -> None:
    """Say whether processes of the same user may look into this one and take its descriptors."""
    _done(_libc.prctl(SET_DUMPABLE, int(allowed), 0, 0, 0), "prctl")


def _mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    words = [source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), options.encode() or None]
    _done(_libc.mount(*words), f"mount {target}")


def mount_proc() -> None:
    """Mount a ``/proc`` of this process namespace's own."""
    _mount("proc", "/proc", "proc", NOSUID | NODEV | NOEXEC)


def furnish(
    *,
    shared: list[str],
    empty: list[str],
    hidden: list[str],
    read_only: list[str],
    size_bytes: int,
    files: int,
    home: str,
) -> None:
    """Build the view: empty places in memory, devices and processes of its own; the rest stays, read-only as it is.

    Parameters
    ----------
    shared : list of str
        Folders that stay as they are although they lie below one of the ``empty`` places.
    empty : list of str
        Places to cover with an empty file system of at most ``size_bytes`` and so many ``files`` each.
    hidden : list of str
        Folders to cover with an empty one that stays so.
    read_only : list of str
        Parts of ``/proc`` that belong to the whole machine.
    home : str
        The working directory.
    """
    _mount("none", "/", flags=REC | PRIVATE)
    held = {folder: os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC) for folder in shared}
    for place in empty:
        _mount("tmpfs", place, "tmpfs", NOSUID | NODEV, f"mode=0755,size={size_bytes},nr_inodes={files}")
    _mount("devpts", "/dev/pts", "devpts", NOSUID | NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    mount_proc()
    for folder, descriptor in held.items():
        Path(folder).mkdir(parents=True, exist_ok=True)
        _mount(f"/proc/self/fd/{descriptor}", folder, flags=BIND | REC)
        os.close(descriptor)
    for place in hidden:  # now, as it may lie in a folder that has only just come back
        _mount("tmpfs", place, "tmpfs", NOSUID | NODEV, "mode=0755")
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
    """Switch on 127.0.0.1, which reaches nobody but this process and those it starts."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        up_and_running = struct.pack("16sh14x", b"lo", 0x1 | 0x40)
        fcntl.ioctl(any_socket, 0x8914, up_and_running)  # SIOCSIFFLAGS


def lock(uid: int, gid: int) -> None:
    """Move into a user namespace that owns nothing, and give up every capability and the calls no exercise needs."""
    _done(_libc.unshare(NEWUSER), "unshare")
    name_user(uid, 0, gid, 0)
    _done(_libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    _done(_libc.prctl(CAP_AMBIENT, CLEAR_ALL, 0, 0, 0), "prctl")
    number = 0
    while _libc.prctl(CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    drop_capabilities()
    code = program(platform.machine())
    if code:
        text = ctypes.create_string_buffer(code, len(code))
        described = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(text))
        _done(_libc.prctl(SET_SECCOMP, FILTER, described, 0, 0), "seccomp")


def drop_capabilities(*, but: int = 0) -> None:
    """Give up every capability this process has, but for the set ``but``."""
    kept = struct.pack("6I", but, but, 0, 0, 0, 0)
    _done(_libc.capset(struct.pack("Ii", CAPABILITY_VERSION, 0), kept), "capset")
