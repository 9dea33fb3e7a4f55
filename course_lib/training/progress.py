"""Show the progress of a loop as a bar on stderr."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from operator import length_hint
from typing import TYPE_CHECKING, Any, TypeVar

from course_lib.extras import load

if TYPE_CHECKING:
    from tqdm import tqdm

__all__ = ["EpochsBar", "open_epochs_bar", "show_progress"]

_Item = TypeVar("_Item")


@contextmanager
def show_progress(items: Iterable[_Item], title: str, *, progress: bool) -> Iterator[Iterable[_Item]]:
    """Show the progress through items on a bar that is cleared at the end, or, if ``progress`` is off, on none.

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
    """Progress bar of all epochs, which moves with every batch; without a bar of tqdm's, nothing is shown."""

    def __init__(self, bar: "tqdm[Any] | None", epochs: int) -> None:
        self.bar, self.epochs = bar, epochs

    def track(self, loader: Iterable[_Item], epoch: int) -> Iterable[_Item]:
        """Iterate over the loader, and move the bar."""
        if self.bar is None:
            return loader
        self.bar.set_description(f"epoch {epoch + 1}/{self.epochs}")
        return self._track(loader, self.bar)

    def _track(self, loader: Iterable[_Item], bar: "tqdm[Any]") -> Iterator[_Item]:
        for batch in loader:
            yield batch
            bar.update()

    def show(self, **losses: float) -> None:
        """Show the latest losses."""
        if self.bar is not None:
            self.bar.set_postfix({name: f"{loss:.4g}" for name, loss in losses.items()})


@contextmanager
def open_epochs_bar(epochs: int, loader: Iterable[object], *, progress: bool, done: int = 0) -> Iterator[EpochsBar]:
    """Open a progress bar for some passes over a loader, of which some are done; it stays at the end."""
    length = length_hint(loader)
    batches = epochs * length or None  # a DataLoader has a length, and may refuse to say it
    if not progress:
        yield EpochsBar(None, epochs)
        return
    with load("tqdm", extra="torch").tqdm(
        total=batches, initial=done * length, unit="batch", dynamic_ncols=True
    ) as bar:
        yield EpochsBar(bar, epochs)
