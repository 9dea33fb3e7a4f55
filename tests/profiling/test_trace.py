"""Traces: on schedule, written, and readable; and what is said when they are not."""

import json
import os
import subprocess
import sys

import pytest
import torch

from course_lib.errors import InputError, ProfilingError
from course_lib.profiling import trace


def loop(run, steps):
    """Run a loop with one product in each step."""
    for _ in range(steps):
        torch.mm(torch.ones(8, 8), torch.ones(8, 8))
        run.step()


def counts(run):
    """Return how often each operation ran in the steps recorded last."""
    return {row.key: row.count for row in run.averages()}


def test_the_schedule_is_kept(tmp_path):
    """Of each five steps one is waited for, one dropped, three recorded; twice, and then nothing more."""
    with trace(tmp_path, wait=1, warmup=1, active=3, repeat=2) as run:
        loop(run, 14)
    assert [path.name for path in run.files] == ["cycle_1.json", "cycle_2.json"]
    for path in run.files:
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
        names = [event.get("name", "") for event in events]
        assert sum(name.startswith("ProfilerStep#") for name in names) == 3
        assert names.count("aten::mm") == 3
    assert run.steps == 14


def test_tensorboard_finds_what_is_written_for_it(tmp_path):
    """Its plugin looks for files that end in .pt.trace.json, and labels are in them."""
    with trace(tmp_path / "new" / "folder", wait=0, active=1, handler="tensorboard") as run:
        for _ in range(2):
            with torch.profiler.record_function("mine"):
                torch.ones(3).exp()
            run.step()
    assert [path.name for path in (tmp_path / "new" / "folder").glob("*.pt.trace.json")] == ["cycle_1.pt.trace.json"]
    assert '"mine"' in run.files[0].read_text(encoding="utf-8")
    assert counts(run)["mine"] == 1


@pytest.mark.parametrize("option", [None, "shapes", "memory", "stacks"])
def test_what_makes_a_trace_large_is_recorded_only_if_asked_for(tmp_path, option):
    """Shapes, memory and stacks are options, each by itself; by default the trace is small."""
    with trace(tmp_path, wait=0, active=1, **({option: True} if option else {})) as run:
        loop(run, 2)
    events = json.loads(run.files[0].read_text(encoding="utf-8"))["traceEvents"]
    product = next(event for event in events if event.get("name") == "aten::mm")
    found = {
        "shapes": [8, 8] in product["args"].get("Input Dims", []),
        "memory": any(event.get("name") == "[memory]" for event in events),
        "stacks": any(event.get("cat") == "python_function" for event in events),
    }
    assert [name for name, recorded in found.items() if recorded] == [name for name in found if name == option]


@pytest.mark.parametrize("steps", [0, 1])
def test_a_loop_that_never_steps_is_told_so(tmp_path, steps):
    """What came, what must hold, what to do; and the profiler is off again."""
    run = trace(tmp_path)
    with pytest.raises(ProfilingError, match=rf"after 2 steps, but step\(\) was called {steps}"), run:
        loop(run, steps)
    assert not torch.autograd.profiler._is_profiler_enabled
    with pytest.raises(ProfilingError, match=f"a table needs .* after {steps} steps none .* after 2"):
        run.averages()


def test_steps_that_are_skipped_come_before_all_else(tmp_path):
    """Two of them, one that is waited for and one that is dropped: the fifth is the first that is recorded."""
    schedule = {"skip": 2, "wait": 1, "warmup": 1, "active": 1}
    with pytest.raises(ProfilingError, match="record after 4 steps"), trace(tmp_path, **schedule) as run:
        loop(run, 4)
    with trace(tmp_path, **schedule) as run:
        loop(run, 5)
    assert [name for name in counts(run) if name.startswith("ProfilerStep")] == ["ProfilerStep*"]
    assert "ProfilerStep#4" in run.files[0].read_text(encoding="utf-8")


def test_an_error_of_the_loop_is_the_one_that_is_seen(tmp_path):
    """It is not hidden by the missing steps, and the profiler is off again."""
    with pytest.raises(ZeroDivisionError), trace(tmp_path):
        _ = 1 / 0
    with trace(tmp_path, wait=0, active=1) as run:
        loop(run, 2)
    assert counts(run)["aten::mm"] == 1


def test_a_cycle_cut_short_is_written(tmp_path):
    """One of three steps is better than none."""
    with trace(tmp_path, wait=0, active=3) as run:
        loop(run, 2)
    assert counts(run)["aten::mm"] == 1
    assert len(run.files) == 1


def test_a_table_is_of_the_last_cycle_alone(tmp_path):
    """Three cycles of two steps: each file has two products, and so has the table."""
    with trace(tmp_path, wait=1, warmup=1, active=2, repeat=3) as run:
        loop(run, 6)
        first = run.averages()
        loop(run, 6)
    events = [json.loads(path.read_text(encoding="utf-8"))["traceEvents"] for path in run.files]
    assert [[event.get("name") for event in cycle].count("aten::mm") for cycle in events] == [2, 2, 2]
    assert counts(run)["aten::mm"] == 2
    assert run.averages() is not first


def test_a_table_is_sorted_by_what_torch_counts(tmp_path):
    """Another name is refused with one that would do."""
    with trace(tmp_path, wait=0, active=1) as run:
        loop(run, 2)
    assert "aten::mm" in run.table(sort_by="count")
    assert len(run.table(rows=2).splitlines()) == len(run.table(rows=1).splitlines()) + 1
    with pytest.raises(InputError, match="'count', but it is 'time'"):
        run.table(sort_by="time")


def test_a_loop_that_ends_with_a_warm_up_writes_no_empty_cycle(tmp_path):
    """Nor at the end of the first one, where it is told that nothing was recorded."""
    with trace(tmp_path, wait=0, active=1, repeat=2) as run:
        loop(run, 3)
    assert [path.name for path in tmp_path.iterdir()] == ["cycle_1.json"]
    with pytest.raises(ProfilingError, match="after 1 steps"), trace(tmp_path / "other", wait=0) as run:
        loop(run, 1)


def test_a_trace_is_entered_once(tmp_path):
    """Its schedule is over: a second time it would record nothing."""
    with trace(tmp_path, wait=0, active=1) as run:
        loop(run, 2)
    with pytest.raises(ProfilingError, match=r"this one was entered before\. Make another with trace"), run:
        pass
    with trace(tmp_path, wait=0, active=1) as run:
        loop(run, 2)
    assert len(run.files) == 1


def test_a_folder_that_is_gone_is_told_at_the_end_of_the_cycle(tmp_path):
    """torch only logs it; no file is listed, and the profiler is off again."""
    run = trace(folder := tmp_path / "new", wait=0, active=1, repeat=2)
    folder.rmdir()
    with pytest.raises(ProfilingError, match=r"cycle 1 must be written to .*new, .* failed: No such file"), run:
        loop(run, 4)
    assert (run.steps, run.files) == (2, [])
    assert not torch.autograd.profiler._is_profiler_enabled


@pytest.mark.parametrize("steps", [2, 3])
def test_a_folder_where_the_file_should_be_is_told(tmp_path, steps):
    """In the loop, and on leaving it with a cycle cut short."""
    (tmp_path / "cycle_1.json").mkdir()
    with pytest.raises(ProfilingError, match="Is a directory") as told, trace(tmp_path, wait=0, active=2) as run:
        loop(run, steps)
    assert not run.files
    assert str(told.value).endswith("Name a folder that you may write to and that stays.")


def test_processes_that_train_together_write_files_of_their_own(tmp_path):
    """Two that share a folder, for either reader, and a cycle cut short when they have parted; in the contents, too."""
    code = """
import sys
import torch
from course_lib.profiling import trace

rank, folder = int(sys.argv[1]), sys.argv[2]
torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/group", rank=rank, world_size=2)
for handler in ("chrome", "tensorboard"):
    with trace(folder, wait=0, active=1, handler=handler) as run:
        for _ in range(2):
            torch.distributed.all_reduce(torch.ones(8))
            run.step()
with trace(folder + "/short", wait=0, active=2) as run:
    for _ in range(2):
        torch.distributed.all_reduce(torch.ones(8))
        run.step()
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
"""
    both = [subprocess.Popen([sys.executable, "-c", code, str(rank), str(tmp_path)]) for rank in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    for ending in (".json", ".pt.trace.json"):
        for rank in range(2):
            recorded = json.loads((tmp_path / f"cycle_1_rank_{rank}{ending}").read_text(encoding="utf-8"))
            assert recorded["distributedInfo"]["rank"] == rank
    assert len(list(tmp_path.glob("*.json"))) == 4
    assert sorted(path.name for path in (tmp_path / "short").iterdir()) == [
        "cycle_1_rank_0.json",
        "cycle_1_rank_1.json",
    ]


def test_a_process_that_trains_alone_has_no_rank(tmp_path):
    """Also in a group of its own, as where a script for several is started once."""
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        with trace(tmp_path, wait=0, active=1) as run:
            loop(run, 2)
    finally:
        torch.distributed.destroy_process_group()
    assert [path.name for path in run.files] == ["cycle_1.json"]


def test_one_profiler_at_a_time(tmp_path):
    """A second one would silently take the events of the first; the first goes on."""
    with trace(tmp_path, wait=0, active=1) as run:
        with pytest.raises(ProfilingError, match="one is running already"), trace(tmp_path):
            pass
        loop(run, 2)
    assert counts(run)["aten::mm"] == 1


def test_a_profiler_that_is_refused_says_what_to_do(tmp_path, monkeypatch):
    """As where counters need permission."""

    def refuse(self):
        raise RuntimeError("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES")

    run = trace(tmp_path)
    monkeypatch.setattr(torch.profiler.profile, "start", refuse)
    with pytest.raises(ProfilingError, match=r"INSUFFICIENT_PRIVILEGES\. Counters of a GPU"), run:
        pass


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"active": 0}, "active must be a whole number, at least 1, but it is 0"),
        ({"wait": -1}, "wait must be a whole number, at least 0, but it is -1"),
        ({"skip": -1}, "skip must be a whole number, at least 0, but it is -1"),
        ({"warmup": -1}, "warmup must be a whole number, at least 0, but it is -1"),
        ({"repeat": 0}, "repeat must be a whole number, at least 1, but it is 0"),
        ({"active": 1.5}, "active must be a whole number, at least 1, but it is 1.5"),
        ({"handler": "html"}, "'chrome' or 'tensorboard', but it is 'html'"),
        ({"device": "tpu"}, "'cpu' or 'cuda', but it is 'tpu'"),
    ],
)
def test_options_out_of_range_are_refused(tmp_path, options, message):
    """Each message has the value."""
    with pytest.raises(InputError, match=message):
        trace(tmp_path, **options)


@pytest.mark.parametrize("folder", [None, 3, b"traces"])
def test_what_is_no_path_is_refused(folder):
    """With one that is."""
    with pytest.raises(InputError, match=r"folder must be a path .*, but it is .*\. Pass one"):
        trace(folder)


def test_a_file_is_no_folder(tmp_path):
    """It is named, and not written to."""
    (file := tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"notes\.txt is a file\. Name another"):
        trace(file)
    assert file.read_text() == "mine"


@pytest.mark.parametrize("forbidden", [os.W_OK, os.X_OK])
def test_a_folder_that_cannot_be_made_is_refused(tmp_path, monkeypatch, forbidden):
    """Below a file; and one that is there, but not to be written to, or not to be entered."""
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"sub cannot be made: Not a directory\. Name another"):
        trace(tmp_path / "notes.txt" / "sub")
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & forbidden)  # root may write everywhere
    with pytest.raises(InputError, match=r"may not be written to\. Name another"):
        trace(tmp_path)


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")
def test_cuda_is_not_asked_for_where_there_is_none(tmp_path):
    """The message says what to leave out."""
    with pytest.raises(InputError, match=r"torch sees none here\. Leave device out"):
        trace(tmp_path, device="cuda")


def test_torchs_markers_on_stderr_are_silenced(tmp_path):
    """In a fresh process, where torch reads the level for the first time."""
    code = (
        "import torch; from course_lib.profiling import trace\n"
        f"with trace({str(tmp_path)!r}, wait=0, active=1) as run: [run.step() for _ in range(2)]\n"
    )
    plain = {name: value for name, value in os.environ.items() if name != "KINETO_LOG_LEVEL"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=plain)
    assert done.stderr == ""


def test_what_says_that_cuda_cannot_be_watched_is_not_silenced(tmp_path, monkeypatch):
    """torch says it where its markers go."""
    monkeypatch.delenv("KINETO_LOG_LEVEL", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    trace(tmp_path)
    assert "KINETO_LOG_LEVEL" not in os.environ
    trace(tmp_path, device="cpu")
    assert os.environ["KINETO_LOG_LEVEL"] == "6"
