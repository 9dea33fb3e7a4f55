"""Every error the library raises on purpose: each says what must hold, what came, and what to do.

They also derive from the built-in error that torch or Python would raise in the same place, so that code which catches
``RuntimeError`` around torch catches the same mistake here.
"""

__all__ = [
    "AutogradError",
    "AutogradIndexError",
    "CourseError",
    "GradcheckError",
    "GradingError",
    "InputError",
    "MissingExtraError",
    "MonitorError",
    "NonFiniteError",
    "NotebookError",
    "ProfilingError",
    "TrainingError",
]


class CourseError(Exception):
    """Base of all errors meant for the person at the keyboard."""


class MissingExtraError(CourseError, ImportError):
    """A package that belongs to one of this distribution's extras is not installed."""


class AutogradError(CourseError, RuntimeError):
    """A tensor or graph was used in a way that has no gradient, or no result."""


class AutogradIndexError(AutogradError, IndexError):
    """An index, or the number of a dimension, is not there. Python ends loops over rows by it."""


class GradcheckError(AutogradError):
    """An analytical and a numerical gradient differ."""


class InputError(CourseError, ValueError):
    """An argument cannot be used. A command prints it as one line and exits with status 2."""


class NotebookError(CourseError, ValueError):
    """A notebook, or the text it is made from, does not have the form it must have."""


class TrainingError(CourseError, RuntimeError):
    """A training loop stopped, because its next step would have made no sense."""


class MonitorError(CourseError, RuntimeError):
    """A monitor has nothing to see yet, or was closed."""


class NonFiniteError(CourseError, RuntimeError):
    """A gradient or a loss is infinite or NaN where it has to be finite."""


class ProfilingError(CourseError, RuntimeError):
    """A profiler could not start, or recorded nothing."""


class GradingError(CourseError, RuntimeError):
    """The grader lost a process that it needs for grading."""
