"""Resource limits of one submission, and why a kernel that breaks one is stopped."""

import enum
from dataclasses import dataclass

__all__ = ["KernelStopped", "Limits", "Stop", "StopCause"]


@dataclass(frozen=True)
class Limits:
    """Limits of one submission's kernel; the defaults suit a NumPy or torch exercise on a laptop.

    ``memory_bytes`` is a process's address space, not resident memory: importing torch alone maps more than 2 GB of it.
    ``held_bytes`` is the memory that all processes have together, with their files and sockets; where many are graded
    at a time, it is lowered to what the machine has for each.
    The grader counts ``processes``; the operating system refuses twice as many, threads included (for root, whom Linux
    exempts from that limit, by a control group). ``queued_signals`` counts timers as well; Linux counts them for each
    sandbox from 5.14 on, before that for each user. ``terminals`` are those of a kernel that is forked. What only the
    operating system can limit is left alone unless ``enforced``: on a learner's own machine there is no need.
    ``hidden`` are folders to be covered with empty ones, as they lie where the sandbox shows what an interpreter
    needs. ``by_hand``: nothing that differentiates is there, nor can be had by any code, since its files are covered.
    """

    cell_seconds: float = 60.0
    total_seconds: float = 600.0
    start_seconds: float = 60.0
    cpu_seconds: int = 900
    memory_bytes: int = 6 << 30
    held_bytes: int = 6 << 30
    file_bytes: int = 64 << 20
    home_bytes: int = 256 << 20
    home_files: int = 10_000
    open_files: int = 256
    terminals: int = 32
    queued_signals: int = 256
    processes: int = 128
    message_bytes: int = 64 << 20
    output_chars: int = 1_000_000
    enforced: bool = True
    hidden: tuple[str, ...] = ()
    by_hand: bool = False

    def rlimits(self) -> dict[str, int]:
        """Return the limits the operating system enforces, by the names of :mod:`resource`.

        Examples
        --------
        >>> Limits(open_files=64).rlimits()["RLIMIT_NOFILE"]
        64
        """
        if not self.enforced:
            return {}
        return {
            "RLIMIT_AS": self.memory_bytes,
            "RLIMIT_CPU": self.cpu_seconds,
            "RLIMIT_FSIZE": self.file_bytes,
            "RLIMIT_NOFILE": self.open_files,
            "RLIMIT_NPROC": 2 * self.processes,
            "RLIMIT_SIGPENDING": self.queued_signals,
            "RLIMIT_CORE": 0,
        }

    def find_excess(self, processes: int, held_bytes: int) -> "StopCause | None":
        """Return what all processes together have too much of, or None.

        Examples
        --------
        >>> Limits().find_excess(1000, 0)
        <StopCause.PROCESSES: '{activity} started more than {limits.processes} processes'>
        """
        if processes > self.processes:
            return StopCause.PROCESSES
        return StopCause.MEMORY if held_bytes > self.held_bytes else None


class StopCause(enum.Enum):
    """Why a kernel was stopped; the value is how a learner is told."""

    DIED = "the Python process died in {activity}: out of memory, a crash, or told to exit"
    LATE_START = "the kernel did not start within {limits.start_seconds:g} s"
    LATE_CELL = "{activity} did not finish within {seconds:g} s"
    LATE_NOTEBOOK = "the notebook as a whole did not finish within {limits.total_seconds:g} s"
    LATE_OUTPUT = "{activity} ended, but its output did not"
    LOST_OUTPUT = "{activity} ended, but its output did not arrive"
    PROCESSES = "{activity} started more than {limits.processes} processes"
    MEMORY = "{activity} used more than {held_gib:.3g} GiB of memory"
    OUTPUT = "{activity} put out more than {limits.output_chars:,} characters"
    MESSAGE = "{activity} put out more than {message_mib} MiB at once"
    UNREAD = "{activity} sent more than can be read"
    UNREADABLE = "{activity} made the kernel send a message that cannot be read"
    CLOSED_CONNECTION = "{activity} closed a connection that is not its own"


@dataclass(frozen=True)
class Stop:
    """One stop of a kernel: why, in the midst of what, and under which limits; ``str`` says it in a sentence.

    Examples
    --------
    >>> str(Stop(StopCause.MEMORY, "the cell `walk`", Limits(held_bytes=5 << 29)))
    'the cell `walk` used more than 2.5 GiB of memory'
    """

    cause: StopCause
    activity: str
    limits: Limits
    seconds: float = 0.0

    def __str__(self) -> str:
        return self.cause.value.format(
            activity=self.activity,
            limits=self.limits,
            seconds=self.seconds,
            held_gib=self.limits.held_bytes / (1 << 30),
            message_mib=self.limits.message_bytes >> 20,
        )


class KernelStopped(Exception):  # noqa: N818 - it is the name of a state: once stopped, the kernel stays stopped
    """The kernel was stopped, and why, in words for the learner; ``later`` if that was before this was asked of it."""

    def __init__(self, stop: Stop, *, later: bool = False) -> None:
        super().__init__(f"not run, because {stop}" if later else str(stop))
        self.later = later
