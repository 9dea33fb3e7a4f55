"""Mark one's own notebook: ``check()`` in it, and what ``course check`` and ``course mark`` run.

Light, so that it works on Colab: it needs NumPy and, for hidden tests, pytest. A learner's code and the hidden tests
share a process here, which is fine for marking oneself and for nothing else.
"""

from course_grader.learner.in_notebook import check
from course_grader.learner.mark import Mark, Verdict

__all__ = ["Mark", "Verdict", "check"]
