"""Functions of a notebook run in several processes, and what goes wrong there is told."""

import pytest
import torch.distributed as dist

from course_lib.errors import InputError
from course_lib.training import run_processes


def test_three_processes_gather_what_each_has():
    scale = 10  # travels with the function

    def work(rank):
        found = [None] * 3
        dist.all_gather_object(found, scale * rank)
        return found

    assert run_processes(work, 3) == [[0, 10, 20]] * 3


def test_an_error_in_one_process_is_told_with_its_rank_and_ends_all():
    def work(rank):
        if rank == 1:
            raise ValueError("no such row")
        dist.barrier()

    with pytest.raises(InputError, match=r"in process 1:(.|\n)*no such row"):
        run_processes(work)


def test_a_process_that_waits_forever_is_ended():
    def work(rank):
        if rank == 0:
            dist.barrier()
        else:
            import time

            time.sleep(60)

    with pytest.raises(InputError, match="within 5 seconds"):
        run_processes(work, timeout_seconds=5)


@pytest.mark.parametrize("count", [1, 17, 2.0])
def test_the_count_is_checked(count):
    with pytest.raises(InputError, match=r"2 to 16"):
        run_processes(print, count)
