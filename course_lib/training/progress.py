"""A bar that shows how far a loop is."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from course_lib.extras import load

__all__ = ["shown"]


@contextmanager
def shown(items: Iterable[Any], title: str, *, progress: bool, keep: bool = False) -> Iterator[Any]:
    """Go through items under a bar on stderr, or, if ``progress`` is off, without one.

    Parameters
    ----------
    items : iterable
        What is gone through.
    title : str
        What stands in front of the bar.
    progress : bool
        Whether there is a bar.
    keep : bool
        Leave the bar standing at the end.

    Examples
    --------
    >>> with shown([1, 2], "count", progress=False) as numbers:
    ...     print(list(numbers))
    [1, 2]
    """
    if not progress:
        yield items
        return
    with load("tqdm", extra="torch").tqdm(items, desc=title, leave=keep, dynamic_ncols=True) as bar:
        yield bar
