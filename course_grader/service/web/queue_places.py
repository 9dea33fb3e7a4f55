"""Wait for hand-ins to be graded: the database is asked once for all who wait, however many they are."""

import asyncio
import time
from bisect import bisect_left
from collections.abc import Sequence

from fastapi.concurrency import run_in_threadpool

from course_grader.service.course import Course

__all__ = ["QueuePlaces"]

LOOK_SECONDS, LONGEST_LOOK = 0.1, 5.0
PLACE_SECONDS = 2.0  # a queue that moves on is told no more often
PLACES = 20  # so many places further back, one looks half as often, and is told half as often
SHARE = 0.1  # of the time at most goes into looking, however long the queue


class QueuePlaces:
    """The queue, as all requests that wait see it."""

    def __init__(self, course: Course) -> None:
        self._course, self._turn = course, asyncio.Lock()
        self._waiting: Sequence[int] = ()
        self._looked_at, self._fresh_until = -1.0, 0.0

    async def place(self, number: int, *, since: float) -> int:
        """Return a hand-in's place in the queue, 1 for the first; 0 once it is through.

        One that was waiting at ``since``, on the monotonic clock, is last in a queue that was looked at before.
        """
        waiting = await self._look()
        at = bisect_left(waiting, number)
        if at < len(waiting) and waiting[at] == number:
            return at + 1
        return 0 if self._looked_at >= since else len(waiting) + 1

    async def wait(self, number: int, *, seconds: float) -> None:
        """Return when a hand-in is through, or has come further in the queue, or so many seconds are over."""
        began, first = time.monotonic(), 0
        while (waited := time.monotonic() - began) < seconds and (place := await self.place(number, since=began)):
            first, patience = first or place, 1 + (place - 1) / PLACES
            if place < first and waited >= PLACE_SECONDS * patience:
                return
            await asyncio.sleep(min(LONGEST_LOOK, LOOK_SECONDS * patience, seconds - waited))

    async def _look(self) -> Sequence[int]:
        async with self._turn:
            if (start := time.monotonic()) >= self._fresh_until:
                self._waiting, self._looked_at = await run_in_threadpool(self._course.watch.waiting), start
                end = time.monotonic()
                self._fresh_until = end + max(LOOK_SECONDS, (end - start) / SHARE)
            return self._waiting
