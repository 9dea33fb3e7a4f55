"""The engines that the benchmark compares do the same work."""

import importlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.autograd import Engine, find_absent, summarize
from benchmarks.engines import hand

TRAINING = ("mlp_batch_64", "mlp_batch_1", "small_mlp")
# jax_eager and tiny run the same code as these two, many times slower; micrograd has no matrices
PEERS = [(name, work) for name in ("ours", "pytorch", "hips", "jax_jit") for work in TRAINING]
PEERS.append(("scalar_micrograd", "small_mlp"))
if shutil.which("clang"):  # no tool of the suite: without it tinygrad takes no part, which has a test of its own below
    PEERS += [("tiny_jit", work) for work in TRAINING]


def workloads(name):
    """Import an engine."""
    return importlib.import_module(f"benchmarks.engines.{name}").WORK


@pytest.mark.parametrize(("name", "work"), PEERS)
def test_every_engine_trains_as_the_gradients_by_hand_do(name, work):
    """The losses of the first steps are those of hand-written NumPy, so what is timed is the same training."""
    step, expected = workloads(name)[work](), hand.WORK[work]()
    for _ in range(3):
        loss = step()
        loss = getattr(loss, "data", loss) if name == "scalar_micrograd" else loss.item() if name != "hips" else loss
        np.testing.assert_allclose(float(loss), float(expected()), rtol=1e-4)


@pytest.mark.parametrize("work", ["chain_1000", "diamonds", "reuse"])
@pytest.mark.parametrize("name", ["ours", "pytorch"])
def test_graphs_of_many_nodes_have_the_gradients_by_hand(name, work):
    """Long chains, diamonds and a node used often end in the same gradient as in hand-written NumPy."""
    found = workloads(name)[work]()()
    np.testing.assert_allclose(found.numpy(), hand.WORK[work]()(), rtol=1e-4)


def test_an_engine_that_cannot_take_part_says_why(monkeypatch):
    """Without clang, tinygrad's worker gives the reason and ends, and the others are measured without it."""
    monkeypatch.setenv("PATH", "/nowhere")
    if importlib.util.find_spec("tinygrad") is None:
        pytest.skip("tinygrad is not installed")
    assert find_absent(["hand", "tiny"]) == {"tiny": "tinygrad compiles for the CPU with clang, and there is none"}


def test_a_worker_measures_what_it_is_asked_and_passes_what_it_cannot_do():
    """A workload is answered with seconds of CPU, an unknown one with null."""
    engine = Engine("hand", {})
    try:
        assert engine.measure("small_mlp") > 0
        assert engine.measure("something else") is None
    finally:
        engine.close()


def test_ratios_are_paired_round_by_round():
    """Each time is divided by that of hand-written NumPy of the same round; a slow round does not move the median."""
    found = summarize({"hand": [1.0, 10.0, 1.0], "other": [2.0, 20.0, 2.0]})["other"]
    assert found["ratio"] == {"median": 2.0, "low": 2.0, "high": 2.0}
    assert found["median"] == 2.0


def test_a_part_is_printed_with_its_target_and_replaces_no_results(tmp_path):
    """A run of one workload prints ratios and the target, and leaves the committed results alone."""
    command = [sys.executable, "-m", "benchmarks.autograd", "--rounds", "1", "--engines", "ours", "--work", "small_mlp"]
    output = tmp_path / "results.json"
    done = subprocess.run([*command, "--output", str(output)], capture_output=True, text=True, check=True)
    assert "<= 1.45" in done.stdout
    assert not output.exists()
