"""The minimal kernel: what it leaves out must not be missed."""

import pytest

from course_grader.grading.authoring.learner import Learner
from course_grader.grading.grade_one.grade_submission import grade_submission
from course_grader.grading.kernel.kernel import Kernel
from course_grader.grading.sandbox.bubblewrap import NONE
from course_grader.grading.sandbox.limits import Limits

FUNCTIONS = """
import sys, threading
from IPython.display import display
def quiet():
    return 1
def prints():
    print("one")
def warns():
    sys.stderr.write("two")
def shows():
    display("three")
def prints_in_a_thread():
    (thread := threading.Thread(target=print, args=("four",))).start()
    thread.join()
def says_it_is_another():
    kernel = get_ipython().kernel
    header = {"msg_type": 5, "msg_id": "x"}
    kernel.session.send(kernel.iopub_socket, "stream", {"name": "stdout", "text": "x"}, header=header)
"""


class CountingKernel(Kernel):
    """A kernel that counts the waits for its broadcasts."""

    waits = 0

    def await_idle(self, *args, **kwargs):
        """Count, and wait."""
        self.waits += 1
        super().await_idle(*args, **kwargs)


@pytest.fixture(scope="module")
def kernel():
    """One for all tests, without a sandbox."""
    with CountingKernel(limits=Limits(enforced=False), sandbox=NONE) as kernel:
        run(kernel, FUNCTIONS)
        yield kernel


def run(kernel, source):
    """Run a cell to its end."""
    kernel.await_reply(number := kernel.execute_cell_input(source))
    kernel.await_idle(number, timeout=5)


@pytest.mark.parametrize("name", ["quiet", "prints", "warns", "shows", "prints_in_a_thread"])
def test_who_broadcasts_nothing_is_not_waited_for(kernel, name):
    """And whoever does is heard before the next thing is asked, however it was said."""
    before = kernel.waits
    Learner(kernel, {}).call(name)
    assert kernel.waits - before == (name != "quiet")
    assert not kernel.connection.has_broadcast()


def test_a_cell_is_transformed_once_each_time(kernel):
    """Also when the same text is run again: what transforms it may be another by then."""
    run(kernel, "seen = []\nget_ipython().input_transformers_post.append(lambda lines: [seen.append(1), lines][1])")
    for times in (1, 2, 3):
        run(kernel, "x = 1")
        assert Learner(kernel, {}).eval("seen") == [1] * times


def test_a_cell_may_await_and_the_same_one_be_run_again(kernel):
    """It runs in the thread that ipykernel takes for the one of cells."""
    for times in (1, 2):
        run(kernel, "import asyncio\nawait asyncio.sleep(0)\ncount = globals().get('count', 0) + 1")
        assert Learner(kernel, {}).eval("count") == times


@pytest.mark.parametrize("leave", ["exit()", "quit", "get_ipython().ask_exit()"])
def test_who_calls_exit_reads_so_and_loses_nothing_else(hand_in, exercise, leave):
    """In a cell or in a function: the cells after it run, and what it has defined stays."""
    here = hand_in(double=f"def double(x):\n    return 2 * x\n{leave}" if "(" in leave else leave)
    report = grade_submission(here, learner="ada", exercise=exercise)
    assert (report.status, report.points) == ("graded", 3 if "(" in leave else 1)
    said = 'the cell `double`: SystemExit: "`exit()` and `quit()` would end the notebook here: take them out"'
    assert report.messages[0] == said
    called = hand_in(double="def double(x):\n    quit()")
    report = grade_submission(called, learner="ada", exercise=exercise)
    assert (report.status, report.points) == ("graded", 1)
    assert report.messages == ("`double` raised SystemExit in its line `quit()`",)


def test_a_message_in_disguise_ends_the_call_that_sent_it(kernel):
    """It is read where it was sent, and not by whoever asks next."""
    with pytest.raises(Exception, match="`says_it_is_another` made the kernel send a message that cannot be read"):
        Learner(kernel, {}).call("says_it_is_another")
    kernel.replay_after_stop(FUNCTIONS)
    assert Learner(kernel, {}).call("quiet") == 1
