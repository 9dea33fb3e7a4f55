"""What a kernel prints, on its way to whoever listens."""

from typing import Any

from ipykernel.iostream import OutStream

__all__ = ["Stream"]


class Stream(OutStream):
    """ipykernel's stream, flushed only when there is something to flush.

    ipykernel flushes both streams around every message, and each time waits for another thread to have done so.
    """

    _written = True

    def write(self, string: str) -> Any:
        """Write, and keep in mind that it is to be flushed."""
        count = super().write(string)
        self._written = True
        return count

    def flush(self) -> None:
        """Send what was written since the last time."""
        if self._written:
            self._written = False
            super().flush()  # type: ignore[no-untyped-call] # ipykernel has few types
