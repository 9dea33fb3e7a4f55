"""A bar that shows how far a loop is, on stderr."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from operator import length_hint
from typing import Any

from course_lib.extras import load

__all__ = ["EpochsBar", "epochs_bar", "show_progress"]


@contextmanager
def show_progress(items: Iterable[Any], title: str, *, progress: bool) -> Iterator[Iterable[Any]]:
    """Go through items under a bar that goes away at the end, or, if ``progress`` is off, without one.

    Examples
    --------
    >>> with show_progress([1, 2], "count", progress=False) as numbers:
    ...     print(list(numbers))
    [1, 2]
    """
    if not progress:
        yield items
        return
    with load("tqdm", extra="torch").tqdm(items, desc=title, leave=False, dynamic_ncols=True) as bar:
        yield bar


class EpochsBar:
    """One bar for all epochs, which moves with every batch; without a bar of tqdm's, nothing is shown."""

    def __init__(self, bar: Any, epochs: int) -> None:
        self.bar, self.epochs = bar, epochs

    def watch(self, loader: Iterable[Any], epoch: int) -> Iterable[Any]:
        """Return the loader, or one that moves the bar."""
        if self.bar is None:
            return loader
        self.bar.set_description(f"epoch {epoch + 1}/{self.epochs}")
        return self._moving(loader)

    def _moving(self, loader: Iterable[Any]) -> Iterator[Any]:
        for batch in loader:
            yield batch
            self.bar.update()

    def note(self, **losses: float) -> None:
        """Show the latest losses."""
        if self.bar is not None:
            self.bar.set_postfix({name: f"{loss:.4g}" for name, loss in losses.items()})


@contextmanager
def epochs_bar(epochs: int, loader: Iterable[Any], *, progress: bool) -> Iterator[EpochsBar]:
    """Open a bar for some passes over a loader; it stays at the end."""
    batches = epochs * length_hint(loader) or None  # a DataLoader has a length, and may refuse to say it
    make: Any = load("tqdm", extra="torch").tqdm if progress else None
    with make(total=batches, unit="batch", dynamic_ncols=True) if progress else nullcontext() as bar:
        yield EpochsBar(bar, epochs)
