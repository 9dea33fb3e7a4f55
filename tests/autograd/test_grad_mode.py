"""Whether operations are recorded: in blocks, functions, generators and threads, as in torch."""

from concurrent.futures import ThreadPoolExecutor
from inspect import isgeneratorfunction
from threading import Barrier, Event

import pytest
import torch

import course_lib.autograd as ag

LIBRARIES = (ag, torch)
MODES = {
    "no_grad": lambda lib: lib.no_grad,
    "no_grad()": lambda lib: lib.no_grad(),
    "set_grad_enabled(False)": lambda lib: lib.set_grad_enabled(False),
}


@pytest.mark.parametrize("mode", MODES)
def test_a_decorated_generator_records_nothing_and_the_loop_over_it_records(mode):
    """Each step of its body is in the block, whatever resumes it, and what is between the steps is not."""
    for lib in LIBRARIES:
        seen = []

        def steps(lib=lib, seen=seen):
            try:
                seen.append((yield lib.is_grad_enabled()))
                yield lib.is_grad_enabled()
            except KeyError:
                yield lib.is_grad_enabled()
            finally:
                seen.append(lib.is_grad_enabled())
            return "end"

        made = MODES[mode](lib)(steps)
        assert lib.is_grad_enabled()
        assert isgeneratorfunction(made)
        assert made.__name__ == "steps"
        walk = made()
        outside = [lib.is_grad_enabled()]
        assert next(walk) is False
        outside.append(lib.is_grad_enabled())
        assert walk.send("sent") is False
        outside.append(lib.is_grad_enabled())
        assert walk.throw(KeyError) is False
        with pytest.raises(StopIteration) as end:
            next(walk)
        assert (end.value.value, seen, outside) == ("end", ["sent", False], [True] * 3)


def test_a_decorated_generator_that_is_closed_or_fails_leaves_the_mode_as_it_was():
    """Its own clean-up is in the block."""
    for lib in LIBRARIES:
        seen = []

        @lib.no_grad()
        def steps(fail, lib=lib, seen=seen):
            try:
                yield 1
                if fail:
                    raise KeyError
            finally:
                seen.append(lib.is_grad_enabled())

        walk = steps(False)
        next(walk)
        walk.close()
        with pytest.raises(KeyError):
            list(steps(True))
        assert (seen, lib.is_grad_enabled()) == ([False, False], True)


def test_a_generator_may_be_suspended_in_one_mode_and_resumed_in_another():
    """The mode that it is resumed in is the one that is restored."""
    for lib in LIBRARIES:

        @lib.enable_grad()
        def steps(lib=lib):
            while True:
                yield lib.is_grad_enabled()

        walk = steps()
        with lib.no_grad():
            assert next(walk) is True
            assert lib.is_grad_enabled() is False
        assert next(walk) is True
        assert lib.is_grad_enabled() is True


def test_a_new_thread_records_and_leaves_others_alone():
    """Although it is started in a block without gradients, and has blocks of its own."""
    for lib in LIBRARIES:
        x = lib.tensor([1.0, 2.0], requires_grad=True)

        def own(lib=lib, x=x):
            before = (x * 2).requires_grad
            lib.set_grad_enabled(False)
            return before, (x * 2).requires_grad, (x @ x).requires_grad

        with ThreadPoolExecutor(1) as pool, lib.no_grad():
            assert pool.submit(own).result() == (True, False, False)
            assert not (x * 2).requires_grad
        assert (x * 2).requires_grad
        with ThreadPoolExecutor(1) as pool:  # a thread that ended without recording
            assert pool.submit(lib.is_grad_enabled).result()


def test_threads_in_the_same_decorated_function_restore_their_own_modes():
    """One is called with recording on and the other with it off, and the first to enter is the first to leave."""
    for lib in LIBRARIES:
        in_first, in_second, out_first = Event(), Event(), Event()

        @lib.enable_grad()
        def decorated(first, in_first=in_first, in_second=in_second, out_first=out_first):
            (in_first if first else in_second).set()
            assert (in_second if first else out_first).wait(60)

        def called(first, lib=lib, in_first=in_first, out_first=out_first, decorated=decorated):
            assert first or in_first.wait(60)
            with lib.set_grad_enabled(first):
                decorated(first)
                out_first.set()
                return lib.is_grad_enabled()

        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(called, [True, False])) == [True, False]


def test_hooks_on_what_is_saved_see_their_own_thread_only():
    """As in torch."""
    for lib in LIBRARIES:
        packed = []
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        hooks = lib.autograd.graph.saved_tensors_hooks(lambda t, packed=packed: packed.append(t) or t, lambda t: t)
        with ThreadPoolExecutor(1) as pool, hooks:
            y = pool.submit(x.exp).result()
            assert packed == []
            x.exp()
            assert len(packed) == 1
        y.sum().backward()
        assert x.grad.tolist() == pytest.approx(y.tolist())


def test_the_inner_of_two_hooks_on_what_is_saved_ends_first():
    """And the outer is in force again."""
    for lib in LIBRARIES:
        x, packed = lib.ones(2, requires_grad=True), []

        def hooks(name, lib=lib, packed=packed):
            return lib.autograd.graph.saved_tensors_hooks(lambda t: packed.append(name) or t, lambda t: t)

        with hooks("outer"):
            x.exp()
            with hooks("inner"):
                x.exp()
            x.exp()
        x.exp()
        assert packed == ["outer", "inner", "outer"]


def test_a_walk_in_one_thread_does_not_stop_another_from_recording():
    """While a hook holds the first up, the second computes something with a gradient."""
    for lib in LIBRARIES:
        x, inside, done = lib.ones(2, requires_grad=True), Barrier(2, timeout=60), Barrier(2, timeout=60)
        y = x * 2

        def wait(_, inside=inside, done=done):
            inside.wait()
            done.wait()

        y.register_hook(wait)
        with ThreadPoolExecutor(1) as pool:
            walk = pool.submit(y.sum().backward)
            inside.wait()
            recorded = (x * 3).requires_grad
            done.wait()
            walk.result()
        assert recorded


def test_jvp_in_two_threads_at_a_time():
    """Neither takes the other for a nested one, nor its tangents."""
    meet = Barrier(2, timeout=60)

    def f(x):
        meet.wait()
        y = x * x
        meet.wait()
        return y * x

    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda v: ag.jvp(f, ag.tensor([v]), ag.ones(1))[1].item(), [1.0, 2.0])
        assert list(found) == [3, 12]
