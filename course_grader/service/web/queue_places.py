"""Wait for hand-ins to be graded: the database is asked once for all who wait, however many they are."""

import asyncio
import time
from bisect import bisect_left
from collections.abc import Sequence

from fastapi.concurrency import run_in_threadpool

from course_grader.service.course import Course

__all__ = ["QueuePlaces"]

LOOK_SECONDS, LONGEST_LOOK = 0.1, 5.0
PLACES_A_LOOK = 20  # so many places further back, one looks half as often
PLACE_SECONDS = 2.0  # a queue that moves on is told no more often
SHARE = 0.1  # of the time at most goes into looking, however long the queue


class QueuePlaces:
    """The queue, as all requests that wait see it."""

    def __init__(self, course: Course) -> None:
        self._course, self._turn = course, asyncio.Lock()
        self._waiting: Sequence[int] = ()
        self._fresh_until = 0.0

    async def wait(self, number: int, *, seconds: float) -> None:
        """Return when a hand-in is through, or has come further in the queue, or so many seconds are over."""
        began, first = time.monotonic(), None
        while (waited := time.monotonic() - began) < seconds:
            waiting = await self._look()
            place = bisect_left(waiting, number)
            if place == len(waiting) or waiting[place] != number:
                return
            first = place if first is None else first
            if place != first and waited >= PLACE_SECONDS:
                return
            pause = min(LONGEST_LOOK, LOOK_SECONDS * (1 + place / PLACES_A_LOOK))
            await asyncio.sleep(min(pause, seconds - waited))

    async def _look(self) -> Sequence[int]:
        async with self._turn:
            if (start := time.monotonic()) >= self._fresh_until:
                self._waiting = await run_in_threadpool(self._course.watch.waiting)
                end = time.monotonic()
                self._fresh_until = end + max(LOOK_SECONDS, (end - start) / SHARE)
            return self._waiting
