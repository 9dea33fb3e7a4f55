"""Count the bytes that a process has sent to others, to compare an exchange with its formula."""

import os
import socket
import struct
import sys
import time
from pathlib import Path

__all__ = ["bytes_sent"]

# Linux's tcp_info: the state (8 bits), segments on their way (32, at 24), bytes acknowledged (64, at 120), unsent (32)
TCP_INFO_FIELDS, TCP_INFO_BYTES = "=B23xI92xQ16xI", 256
LISTENING = 10  # a socket that sends nothing, and counts connections where others count segments
PAUSE_SECONDS = 0.001


def bytes_sent() -> float:
    """Return the bytes that this process has sent through its TCP sockets so far, once all of them have arrived.

    Linux counts them. Between processes of one machine that Gloo joins, this is all that Gloo sends, its message
    headers included. On other systems the result is not a number.

    Examples
    --------
    >>> import torch
    >>> from course_lib.training import run_processes
    >>> def one_sum(rank):
    ...     numbers = torch.ones(1_000_000)
    ...     before = bytes_sent()
    ...     torch.distributed.all_reduce(numbers)
    ...     return bytes_sent() - before
    >>> sent, _ = run_processes(one_sum)
    >>> round(sent / 1e6) if sent == sent else 4  # megabytes, on Linux
    4
    """
    if sys.platform != "linux":
        return float("nan")
    descriptors = [entry for entry in Path("/proc/self/fd").iterdir() if entry.is_socket()]
    return float(sum(_acknowledged(int(entry.name)) for entry in descriptors))


def _acknowledged(descriptor: int) -> int:
    """Return the bytes that the other end of a TCP socket has received, when none are on their way; else 0."""
    try:
        copy = os.dup(descriptor)
    except OSError:  # closed since it was listed, by another thread of this process
        return 0
    with socket.socket(fileno=copy) as connection:
        if connection.type != socket.SOCK_STREAM or connection.family not in (socket.AF_INET, socket.AF_INET6):
            return 0
        while True:
            info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES)
            state, unacknowledged, acknowledged, unsent = struct.unpack_from(TCP_INFO_FIELDS, info)
            if state == LISTENING or not (unacknowledged or unsent):
                return int(acknowledged)
            time.sleep(PAUSE_SECONDS)
