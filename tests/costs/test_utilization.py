"""MFU: what counts as the model's work, and the peaks that vendors state."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from course_lib.costs import mfu, peak_flops
from course_lib.errors import InputError
from course_lib.instrument import count_flops


def test_what_is_recomputed_is_no_work_of_the_model():
    """With a checkpoint the same step has the same MFU in the same time; inference has its forward pass."""
    layer, x = nn.Sequential(nn.Linear(8, 8), nn.Tanh()), torch.randn(4, 8)
    plain = count_flops(lambda: layer(x).sum())
    again = count_flops(lambda: checkpoint(layer, x, use_reentrant=False).sum())
    assert again.backward > plain.backward
    assert mfu(again, 2.0, 1e3) == mfu(plain, 2.0, 1e3) == 2 * 512 / 2e3
    with torch.no_grad():
        assert mfu(count_flops(lambda: layer(x)), 2.0, 1e3) == 512 / 2e3


@pytest.mark.parametrize(
    ("device", "dtype", "tflops"),
    [
        ("NVIDIA A100-SXM4-80GB", torch.bfloat16, 312),
        ("NVIDIA A100 80GB PCIe", "tf32", 156),
        ("A100-PCIE-40GB", "fp32", 19.5),
        ("NVIDIA H100 80GB HBM3", "bf16", 989.5),
        ("NVIDIA H100 PCIe", torch.float16, 756.5),
        ("NVIDIA H200", torch.float8_e4m3fn, 1979),
        ("Tesla V100-SXM2-16GB", "float16", 125),
        ("Tesla T4", "float16", 65),
        ("NVIDIA GeForce RTX 4090", "float32", 82.6),
        ("AMD Instinct MI300X", "bfloat16", 1307.4),
        ("TPU v5 lite", "bfloat16", 197),
        ("TPU v5", "bfloat16", 459),
    ],
)
def test_a_device_is_known_by_the_name_that_frameworks_give_it(device, dtype, tflops):
    """And dtypes by theirs."""
    assert peak_flops(device, dtype) == pytest.approx(tflops * 1e12)


@pytest.mark.parametrize(
    "device", ["NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA H200 NVL", "cpu"]
)
def test_a_part_of_a_device_has_no_peak_of_the_whole(device):
    """Nor has another of nearly the same name: the message asks for the number."""
    with pytest.raises(InputError, match=r"must be one of V100 SXM2, .* but it is .*from its datasheet"):
        peak_flops(device)


def test_what_a_device_cannot_do_is_refused():
    """A dtype that its datasheet does not have; no device at all; a time of nothing."""
    with pytest.raises(InputError, match=r"must be one of float32, float16 for T4, .*datasheet .*but it is 'bfloat16'"):
        peak_flops("T4")
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match=r"no CUDA device here\. Name one"):
            peak_flops()
    found = count_flops(lambda: torch.ones(2, 2) @ torch.ones(2, 2))
    for seconds, peak, name in ((0.0, 1e12, "seconds"), (1.0, -1, "peak"), (1.0, None, "peak")):
        with pytest.raises(InputError, match=f"{name} must be a number above 0"):
            mfu(found, seconds, peak)
