"""What exercises give beside their text: models, steps to mend, and the recorders that look at an answer at work.

Each exercise imports its own module.
"""

__all__: list[str] = []
