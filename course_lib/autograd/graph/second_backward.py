"""Refuse a second backward pass through a graph whose saved values the first one has freed."""

from course_lib.errors import AutogradError

__all__ = ["second_backward_error"]


def second_backward_error(name: str) -> AutogradError:
    """Make the error for a node without its saved values; torch's says "backward through the graph a second time"."""
    return AutogradError(
        "a graph can be walked once, because the walk frees what the forward pass saved as it goes, but "
        f"{name} has been walked before, or was computed inside jvp(), which keeps no graph. Run the "
        "forward pass again, or pass retain_graph=True to the earlier backward() or grad()."
    )
