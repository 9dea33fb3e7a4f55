"""What a submission may use while it is graded; the defaults suit a NumPy or torch exercise on a laptop."""

from dataclasses import dataclass

__all__ = ["Limits", "Stopped"]


@dataclass(frozen=True)
class Limits:
    """Ceilings for one submission's kernel.

    ``memory_bytes`` is a process's address space, not resident memory: importing torch alone maps more than 2 GB of it.
    ``held_bytes`` is the memory that all processes have together, with their files and sockets; where many are graded
    at a time, it is lowered to what the machine has for each.
    The grader counts ``processes``; the operating system refuses twice as many, threads included (for root, whom Linux
    exempts from that limit, by a control group). What only the operating system can limit is left alone unless
    ``enforced``: on a learner's own machine there is no need.
    ``hidden`` are folders to be covered with empty ones, as they lie where the sandbox shows what an interpreter
    needs.
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
    processes: int = 128
    message_bytes: int = 64 << 20
    output_chars: int = 1_000_000
    enforced: bool = True
    hidden: tuple[str, ...] = ()

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
            "RLIMIT_CORE": 0,
        }

    def excess(self, processes: int, held_bytes: int) -> str:
        """Return what all processes together have too much of, in words that follow a subject; or nothing.

        Examples
        --------
        >>> Limits().excess(1000, 0)
        'started more than 128 processes'
        """
        if processes > self.processes:
            return f"started more than {self.processes} processes"
        return self.too_much_memory if held_bytes > self.held_bytes else ""

    @property
    def too_much_memory(self) -> str:
        """What is said about a submission that holds more than that.

        Examples
        --------
        >>> Limits(held_bytes=5 << 29).too_much_memory
        'used more than 2.5 GiB of memory'
        """
        return f"used more than {self.held_bytes / (1 << 30):.3g} GiB of memory"


class Stopped(Exception):  # noqa: N818 - it is the name of a state: once stopped, the kernel stays stopped
    """The kernel is gone, and why, in words for the learner; ``later`` if it was gone before this was asked of it."""

    def __init__(self, reason: str, *, later: bool = False) -> None:
        super().__init__(f"not run, because {reason}" if later else reason)
        self.later = later
