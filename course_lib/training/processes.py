"""Run a function in several processes that talk through `torch.distributed`: two CPUs stand in for two GPUs."""

import os
import pickle
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from course_lib.errors import InputError
from course_lib.extras import load

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

__all__ = ["run_processes"]

_T = TypeVar("_T")
MEETING, WORK = "meeting", "work.pickle"
LAST_WAIT_SECONDS = 5
# Not `python -m`: that warns, since the package has imported this module before, and an error would begin with it.
JOIN = f"import sys; from {__name__} import _work_as; _work_as(int(sys.argv[3]), int(sys.argv[1]), float(sys.argv[2]))"


def run_processes(work: Callable[[int], _T], count: int = 2, *, timeout_seconds: float = 100.0) -> list[_T]:
    """Call ``work(0)``, ``work(1)``, ... each in a fresh process, joined by Gloo, and return what they return.

    A launcher for notebooks, where functions of a cell cannot be imported by another process. A training script is
    launched by ``torchrun --nproc-per-node 2 train.py``.

    Parameters
    ----------
    work : callable
        From the rank to anything that can be pickled. It finds `torch.distributed` initialized. The functions and
        values of the notebook that it uses travel with it.
    count : int
        Processes, 2 to 16.
    timeout_seconds : float
        After which all of them are ended, since one may wait for a partner that is gone.

    Raises
    ------
    InputError
        If ``count`` is out of range, or a process fails or takes too long; the message holds what it wrote.

    Examples
    --------
    >>> import torch
    >>> def sum_of_ranks(rank):
    ...     total = torch.tensor(rank + 1)
    ...     torch.distributed.all_reduce(total)  # in place
    ...     return int(total)
    >>> run_processes(sum_of_ranks)
    [3, 3]
    """
    if not (isinstance(count, int) and 2 <= count <= 16):
        raise InputError(f"count must be 2 to 16 processes, but it is {count!r}.")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        Path(folder, WORK).write_bytes(load("cloudpickle", extra="torch").dumps(work))
        command = [sys.executable, "-c", JOIN, str(count), str(timeout_seconds)]
        started = [stack.enter_context(_start([*command, str(rank)], folder)) for rank in range(count)]
        for process in started:
            stack.callback(process.kill)
        try:
            said = [process.communicate(timeout=timeout_seconds)[1] for process in started]
        except subprocess.TimeoutExpired:
            raise InputError(
                f"each process must end within {timeout_seconds:g} seconds, but one did not: it may wait for a partner "
                "that takes part in fewer exchanges. All are ended."
            ) from None
        failed = [f"in process {rank}:\n{said[rank]}" for rank, process in enumerate(started) if process.returncode]
        if failed:  # all of them: where one raises, others only lose the connection
            raise InputError(f"`{work.__name__}` must end without an error, but " + "\n".join(failed))
        return [pickle.loads(Path(folder, f"{rank}.pickle").read_bytes()) for rank in range(count)]  # noqa: S301 ours


def _start(command: list[str], folder: str) -> subprocess.Popen[str]:
    """Start a process that finds this one's modules and talks over the loopback, so that nothing leaves it."""
    variables = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    if loopback := {"lo", "lo0"} & {name for _, name in socket.if_nameindex()}:  # Linux, macOS; else Gloo chooses
        variables["GLOO_SOCKET_IFNAME"] = loopback.pop()
    return subprocess.Popen(command, cwd=folder, env=variables, stderr=subprocess.PIPE, text=True)  # noqa: S603 ours


def _work_as(rank: int, count: int, timeout_seconds: float) -> None:
    """Join the others, do the work of one rank, and write down its result."""
    import torch.distributed as dist
    from torch._C._distributed_c10d import FileStore

    limit = timedelta(seconds=timeout_seconds)
    store = FileStore(MEETING, count)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=count, timeout=limit)
    work = pickle.loads(Path(WORK).read_bytes())  # noqa: S301 written by run_processes
    try:
        Path(f"{rank}.pickle").write_bytes(pickle.dumps(work(rank)))
    finally:
        _leave_together(store, count)
    dist.destroy_process_group()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # without tearing the interpreter down: a thread of Gloo that still ends would abort it


def _leave_together(store: "Store", count: int) -> None:
    """Wait for the others' end: who leaves first closes connections whose bytes the others may still count."""
    if store.add("ready to leave", 1) == count:
        store.set("all are ready", "")
    with suppress(RuntimeError):  # one that was killed is not waited for
        store.wait(["all are ready"], timedelta(seconds=LAST_WAIT_SECONDS))
