"""What watches the service asks here: whether it is up, which anyone may know, and its metrics, for an instructor."""

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from course_grader.service.queue_state import QueueState
from course_grader.service.web.access import AsInstructor, TheCourse

__all__ = ["router"]

router = APIRouter(tags=["operating"])


@router.get("/health")
def health(course: TheCourse) -> dict[str, str]:
    """Say that the service and its database answer; status 503 if the database does not."""
    course.watch.check()
    return {"status": "up"}


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(_: AsInstructor, course: TheCourse) -> str:
    """Return the queue's state in Prometheus' text format; Prometheus sends an instructor's token as a bearer."""
    return "".join(
        f"# HELP {name} {said}\n# TYPE {name} gauge\n{values}" for name, said, values in _gauges(course.watch.read())
    )


def _gauges(state: QueueState) -> list[tuple[str, str, str]]:
    by_state = "".join(f'course_hand_ins{{state="{name}"}} {count}\n' for name, count in state.hand_ins.items())
    single = {
        "course_jobs_waiting": ("Jobs that no worker has begun.", state.jobs_waiting),
        "course_jobs_begun": ("Jobs that a worker has begun.", state.jobs_begun),
        "course_workers": ("Workers that were heard of in the last 20 seconds.", state.workers),
        "course_oldest_job_seconds": ("How long the oldest unfinished job has been queued.", state.oldest_seconds),
    }
    gauges = [(name, said, f"{name} {value:g}\n") for name, (said, value) in single.items()]
    return [("course_hand_ins", "Hand-ins, by how far they have come.", by_state), *gauges]
