"""Tell a page how far something is, as server-sent events: it shows what is said, and loads anew at the end."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable

from fastapi.responses import StreamingResponse

from course_lib.errors import InputError

__all__ = ["stream_progress"]

LOOK_SECONDS, LONGEST_SECONDS = 0.5, 20  # then the browser asks again, as one who may; a lost stream costs no more
UNBUFFERED = {"X-Accel-Buffering": "no"}  # asks nginx, and who follows it, to pass on what comes


def stream_progress(say: Callable[[], Awaitable[str]]) -> StreamingResponse:
    """Stream what ``say`` returns, whenever that is something else, until it is nothing."""
    return StreamingResponse(_iterate_events(say), media_type="text/event-stream", headers=UNBUFFERED)


async def _iterate_events(say: Callable[[], Awaitable[str]]) -> AsyncIterator[str]:
    before, end = "", time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < end:
        try:
            said = await say()
        except InputError:  # the database is away: the browser asks again
            return
        if not said:
            yield "event: done\ndata: done\n\n"
            return
        if said != before:
            yield f"data: {said}\n\n"
            before = said
        await asyncio.sleep(LOOK_SECONDS)
