"""Compute MFU, model FLOPs utilization, with a table of the peaks that vendors state for their devices."""

import re
from dataclasses import dataclass
from numbers import Real
from typing import Protocol

from course_lib.errors import InputError
from course_lib.extras import load

__all__ = ["mfu", "peak_flops"]

H100 = "NVIDIA H100 datasheet"
SHORT = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp8": "float8"}


@dataclass(frozen=True)
class _Device:
    """A device: its name, those under which torch or JAX knows it, and its peaks in TFLOP/s by dtype."""

    name: str
    pattern: str  # of all that a device is called; a slice of it, as by MIG, or a laptop's has another peak
    source: str
    tflops: dict[str, float]


def _device(name: str, pattern: str, source: str, **tflops: float) -> _Device:
    if "half" in tflops:  # both 16-bit formats run at one rate
        tflops["float16"] = tflops["bfloat16"] = tflops.pop("half")
    return _Device(name, pattern, source, tflops)


# Dense products, accumulated in float32. Where a document states a rate with sparsity only, half of it.
DEVICES = (
    _device("V100 SXM2", r"V100[ -]SXM2.*", "NVIDIA V100 datasheet", float32=15.7, float16=125),
    _device("V100 PCIe", r"V100[ -]PCIE.*", "NVIDIA V100 datasheet", float32=14, float16=112),
    _device("T4", "T4", "NVIDIA T4 datasheet", float32=8.1, float16=65),
    _device("A10", "A10", "NVIDIA A10 datasheet", float32=31.2, tf32=62.5, half=125),
    _device("A40", "A40", "NVIDIA A40 datasheet", float32=37.4, tf32=74.8, half=149.7),
    _device("A100", r"A100([ -](SXM\d?|PCIE|\d+GB))*", "NVIDIA A100 datasheet", float32=19.5, tf32=156, half=312),
    _device("L4", "L4", "NVIDIA L4 datasheet", float32=30.3, tf32=60, half=121, float8=242.5),
    _device("L40S", "L40S", "NVIDIA L40S datasheet", float32=91.6, tf32=183, half=362, float8=733),
    _device("H100 SXM", r"H100( SXM5?)?( 80GB HBM3)?", H100, float32=67, tf32=494.5, half=989.5, float8=1979),
    _device("H100 PCIe", "H100 PCIe", H100, float32=51, tf32=378, half=756.5, float8=1513),
    _device("H100 NVL", "H100 NVL", H100, float32=60, tf32=417.5, half=835.5, float8=1670.5),
    _device("H200 SXM", "H200( SXM)?", "NVIDIA H200 datasheet", float32=67, tf32=494.5, half=989.5, float8=1979),
    _device("B200", "B200( SXM)?", "NVIDIA DGX B200 datasheet", half=2250, float8=4500),
    _device("RTX 3090", "RTX 3090", "NVIDIA Ampere GA102 whitepaper", float32=35.6, tf32=35.6, half=71),
    _device("RTX 4090", "RTX 4090", "NVIDIA Ada whitepaper", float32=82.6, tf32=82.6, half=165.2, float8=330.3),
    _device("MI300X", "MI300X", "AMD Instinct MI300X datasheet", float32=163.4, tf32=653.7, half=1307.4, float8=2614.9),
    _device("TPU v4", "TPU v4", "Google Cloud TPU documentation, v4", bfloat16=275),
    _device("TPU v5e", r"TPU v5( lite|e)", "Google Cloud TPU documentation, v5e", bfloat16=197),
    _device("TPU v5p", "TPU v5p?", "Google Cloud TPU documentation, v5p", bfloat16=459),
    _device("TPU v6e", r"TPU v6( lite|e)", "Google Cloud TPU documentation, v6e", bfloat16=918),
)


class _Passes(Protocol):
    """FLOPs of a step: counted by ``count_flops``, or from a formula by ``training_cost``."""

    @property
    def forward(self) -> int: ...
    @property
    def backward(self) -> int: ...
    @property
    def recompute(self) -> int: ...


def peak_flops(device: str | None = None, dtype: object = "bfloat16") -> float:
    """Look up a device's peak FLOP/s for dense products of matrices in one dtype, as its vendor states it.

    Parameters
    ----------
    device : str, optional
        As torch or JAX names it, or for short: ``"A100"``, ``"H100 PCIe"``, ``"TPU v5e"``; by default the CUDA device
        that torch uses. Known are V100, T4, A10, A40, A100, L4, L40S, H100, H200, B200, RTX 3090 and 4090, MI300X, and
        TPUs from v4 to v6e, each from its vendor's datasheet, whitepaper or documentation.
    dtype : str or torch.dtype
        ``"float32"``, ``"tf32"``, ``"float16"``, ``"bfloat16"`` or ``"float8"``: in what the products are computed.

    Returns
    -------
    float
        FLOP/s, without sparsity, and with sums in float32.

    Raises
    ------
    InputError
        If the table does not have the device, or the dtype for it. Then write the number from its datasheet yourself.

    Examples
    --------
    >>> peak_flops("NVIDIA A100-SXM4-80GB"), peak_flops("Tesla T4", "float16")
    (312000000000000.0, 65000000000000.0)
    """
    if device is None:
        cuda = load("torch.cuda", extra="torch")
        if not cuda.is_available():
            raise InputError("a peak needs a device, but torch sees no CUDA device here. Name one, such as 'A100'.")
        device = str(cuda.get_device_name())
    plain = re.sub(r"^(NVIDIA |AMD |Tesla |GeForce |Instinct )*", "", str(device).strip(), flags=re.IGNORECASE)
    found = next((d for d in DEVICES if re.fullmatch(d.pattern, plain, re.IGNORECASE) or plain == d.name), None)
    if found is None:
        raise InputError(
            f"the device must be one of {', '.join(d.name for d in DEVICES)}, but it is {device!r}. For another, write "
            "its dense peak in FLOP/s from its datasheet, such as 312e12."
        )
    kind = str(dtype).removeprefix("torch.")
    kind = "float8" if kind.startswith("float8") else SHORT.get(kind, kind)
    if kind not in found.tflops:
        raise InputError(
            f"the dtype must be one of {', '.join(found.tflops)} for {found.name}, as the {found.source} has them, but "
            f"it is {kind!r}. Name the one in which the products are computed."
        )
    return found.tflops[kind] * 1e12


def mfu(flops: _Passes, seconds: float, peak: float) -> float:
    r"""Compute MFU, model FLOPs utilization: FLOPs of the model per second over the device's peak.

    .. math:: \text{MFU} = \frac{\text{forward} + \text{backward} - \text{recompute}}{\text{seconds} \cdot \text{peak}}

    What checkpointing recomputes takes time, but is no work of the model (Chowdhery et al., *PaLM*, 2022, appendix B).
    With it, the ratio is called hardware FLOPs utilization, HFU.

    Parameters
    ----------
    flops : Flops or TrainingCost
        Of one step: from ``count_flops``, or by formula from ``training_cost``; of inference, the forward pass alone.
    seconds : float
        That step's time, such as ``profile_step(...).total_seconds``; measured without a profiler.
    peak : float
        FLOP/s of the device, from :func:`peak_flops` or a datasheet; of several devices their sum.

    Returns
    -------
    float
        From 0 to 1; above that, the time, the peak or its dtype is wrong.

    Raises
    ------
    InputError
        If time or peak is not a number above 0.

    Examples
    --------
    >>> from course_lib.costs import linear, training_cost
    >>> layers = [linear(8192, 4096, 4096)] * 24
    >>> round(mfu(training_cost(layers), 0.12, peak_flops("A100")), 2)
    0.52
    """
    numbers: dict[str, object] = {"seconds": seconds, "peak": peak}
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not float(value) > 0:
            raise InputError(f"{name} must be a number above 0, but it is {value!r}.")
    return (flops.forward + flops.backward - flops.recompute) / (float(seconds) * float(peak))
