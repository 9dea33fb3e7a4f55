"""Mark one's own notebook: ``check()`` in it, and what ``course check`` and ``course mark`` run.

Light, so that it works on Colab: it needs NumPy and, for hidden tests, pytest. A learner's code and the hidden tests
share a process here, which is fine for marking oneself and for nothing else. ``explain_checks()`` shows what those
tests say below each check that is run. ``hand_in()`` sends the notebook to the course's service, which grades it.
"""

from course_grader.learner.explain import explain_checks
from course_grader.learner.in_notebook import check
from course_grader.learner.mark import Mark, Verdict
from course_grader.learner.service_client import hand_in

__all__ = ["Mark", "Verdict", "check", "explain_checks", "hand_in"]
