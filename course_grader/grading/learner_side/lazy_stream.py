"""Output stream of a kernel that flushes only when there is something to flush."""

from ipykernel.iostream import OutStream

__all__ = ["LazyStream"]


class LazyStream(OutStream):
    """Output stream (stdout or stderr) without idle flushes.

    ipykernel flushes both streams around every message, and each time waits for another thread to have done so.
    """

    _needs_flush = True

    def write(self, string: str) -> int | None:  # type: ignore[override] # as ipykernel's own
        """Write, and remember to flush."""
        count = super().write(string)
        self._needs_flush = True
        return count

    def flush(self) -> None:
        """Send what was written since the last flush."""
        if self._needs_flush:
            self._needs_flush = False
            super().flush()  # type: ignore[no-untyped-call] # ipykernel has few types
