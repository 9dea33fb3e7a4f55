"""What is recorded on a GPU can be tried without one, and is shown only where it was recorded."""

import json

import pytest
import torch

from benchmarks.gpu.__main__ import main, read_recorded
from benchmarks.gpu.sections import SECTIONS
from benchmarks.gpu.work import TINY
from course_lib import benchmark_results


@pytest.mark.parametrize("section", [name for name in SECTIONS if name != "compile"])  # which takes half a minute
def test_every_section_runs_at_a_small_size(section):
    panel = SECTIONS[section](TINY, "cpu")
    assert len(panel["text"]) > 10
    assert json.loads(json.dumps(panel))["text"] == panel["text"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU to record")
def test_without_a_gpu_nothing_is_written(tmp_path, capsys):
    assert main(["--output", str(tmp_path / "gpu.json"), "--only", "memory"]) == 2
    assert "CUDA" in capsys.readouterr().err
    assert main(["--output", str(tmp_path / "gpu.json"), "--only", "memory", "--try-on-cpu"]) == 0
    assert not list(tmp_path.iterdir())


def test_other_sections_stay_only_if_recorded_on_the_same_gpu(tmp_path):
    about = {"gpu": "A", "versions": {"torch": "2"}, "date": "2026-01-02"}
    path = tmp_path / "gpu.json"
    assert read_recorded(path, about) == {}
    path.write_text(json.dumps(about | {"date": "2026-01-01", "results": {"memory": {"text": "t"}}}))
    assert read_recorded(path, about) == {"memory": {"text": "t"}}
    assert read_recorded(path, about | {"gpu": "B"}) == {}


def test_a_page_gets_a_section_with_its_gpu_or_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmark_results, "CHECKOUT", tmp_path)
    assert benchmark_results.recorded_gpu("memory") is None
    about = {"gpu": "Some GPU", "versions": {"torch": "2.13"}, "date": "2026-01-01"}
    (tmp_path / "gpu.json").write_text(json.dumps(about | {"results": {"memory": {"text": "1 MB", "n": 1}}}))
    assert benchmark_results.recorded_gpu("memory") == {
        "text": "recorded on Some GPU, torch 2.13, 2026-01-01\n1 MB",
        "n": 1,
    }
    assert benchmark_results.recorded_gpu("trace") is None
