"""Checkpointing every k layers: the plan against the measured peak; and what training needs against inference."""

import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from course_lib.costs import best_checkpoint_interval, checkpoint_plan
from course_lib.errors import InputError
from course_lib.instrument import peak_bytes, saved_tensors

N, UNIT = 36, 4000


def sines(x, k):
    """Apply N sines, which save their input each, in checkpoints of k."""

    def segment(h, length):
        for _ in range(length):
            h = torch.sin(h)
        return h

    for start in range(0, N, k):
        x = checkpoint(segment, x, min(k, N - start), use_reentrant=False)
    return x


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6, 7, 9, 12, 18, 35, 36])
def test_the_plan_is_what_is_measured(k):
    """Kept after the forward pass, and at most at once; two or three more are the cotangents under way."""
    x = torch.randn(UNIT // 4, requires_grad=True)
    plan = checkpoint_plan(N, k)
    assert saved_tensors(lambda: sines(x, k)).bytes == UNIT * plan.kept_bytes
    extra = peak_bytes(lambda: sines(x, k).sum().backward()) - UNIT * plan.peak_bytes
    assert extra == pytest.approx((3 if N % k else 2) * UNIT, abs=16)


@pytest.mark.parametrize("n", [1, 2, 9, 36, 50, 64, 100])
@pytest.mark.parametrize(("layer", "boundary"), [(1, 1), (4, 1), (17, 1), (5, 3)])
def test_the_best_k_is_the_best_of_all(n, layer, boundary):
    """Against trying every k; near the square root of n m / a."""
    sizes = {"layer_bytes": layer, "boundary_bytes": boundary}
    peaks = {k: checkpoint_plan(n, k, **sizes).peak_bytes for k in range(1, n + 1)}
    assert peaks[best_checkpoint_interval(n, **sizes)] == min(peaks.values())


@pytest.mark.parametrize(("n", "layer", "boundary", "k"), [(3, 2, 1, 1), (5, 3, 1, 1), (4, 2, 2, 2), (7, 1, 1, 3)])
def test_of_equal_peaks_the_k_nearest_to_the_ideal_is_chosen(n, layer, boundary, k):
    """The root of n m / a, which is 1.2, 1.3, 2 and 2.6; with one more layer in a segment, the peak is the same."""
    sizes = {"layer_bytes": layer, "boundary_bytes": boundary}
    plans = [checkpoint_plan(n, length, **sizes) for length in (k, k + 1)]
    assert plans[0].peak_bytes == plans[1].peak_bytes
    assert best_checkpoint_interval(n, **sizes) == k


def test_at_a_square_the_best_k_is_its_root():
    """64 layers in 8 segments of 8: 15 arrays instead of 64, for one more forward pass."""
    assert best_checkpoint_interval(64) == 8
    plan = checkpoint_plan(64, 8)
    assert (plan.kept_bytes, plan.peak_bytes, plan.recomputed_layers) == (8, 15, 64)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: checkpoint_plan(4, 0), "between 1 and n = 4 layers, but k is 0"),
        (lambda: checkpoint_plan(4, 5), "but k is 5"),
        (lambda: checkpoint_plan(4, 2, layer_bytes=2, boundary_bytes=3), "but they are 3 and 2"),
    ],
)
def test_impossible_plans_are_refused(call, message):
    """Each message has the numbers."""
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize(
    ("rows", "optimizer", "ratio"),
    [
        (1, torch.optim.SGD, 2.0),
        (1, torch.optim.AdamW, 4.5),
        (4096, torch.optim.SGD, 2.7),
        (4096, torch.optim.AdamW, 3.0),
    ],
)
def test_training_needs_twice_or_four_times_the_memory_of_inference(rows, optimizer, ratio):
    """Four layers of 512 x 512: weights and gradients, two averages more with AdamW, activations with a large batch."""
    model = nn.Sequential(*(part for _ in range(4) for part in (nn.Linear(512, 512), nn.ReLU())))
    steps, x = optimizer(model.parameters(), lr=1e-3), torch.randn(rows, 512)

    def train():
        steps.zero_grad()
        model(x).square().mean().backward()
        steps.step()

    train()
    with torch.no_grad():
        inference = peak_bytes(lambda: model(x))
    assert peak_bytes(train) / inference == pytest.approx(ratio, abs=0.1)


def test_the_peak_counts_a_storage_once_and_forgets_what_is_freed():
    """Views share memory; a chain of temporaries holds two at a time."""
    x = torch.ones(1000)
    assert peak_bytes(lambda: x.view(10, 100).T) == 4000
    assert peak_bytes(lambda: (((x + 1) + 1) + 1) + 1) == 12000


def test_what_is_read_late_was_there_all_along():
    """The optimizer's state is in memory while the activations are, though no operation reads it before the update."""
    x, state = torch.ones(1000), torch.ones(500)

    def step():
        y = (x + 1) * 2  # three arrays of x's size at most
        del y
        state.mul_(0.9)

    assert peak_bytes(step) == 3 * 4000 + 2000


def test_importing_it_loads_no_torch():
    """Formulas are for NumPy-only readers too."""
    code = "import sys, course_lib.costs, course_lib.mlp; print({'torch', 'jax'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
