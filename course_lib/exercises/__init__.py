"""Helpers of the graded exercises: models, a slow training step, and recorders that watch an answer at work.

Each exercise imports its own module.
"""

__all__: list[str] = []
