"""Tell the kind of work from the names of operations and of a device's kernels."""

import re
from typing import Literal

__all__ = ["COMPILED", "Kind", "is_communication", "kind_of_kernel", "kind_of_operation"]

Kind = Literal["data", "outside", "calls", "products", "copies", "communication", "passes"]

PRODUCTS = ("mm", "bmm", "addmm", "baddbmm", "addbmm", "mv", "addmv", "dot", "addr", "linear", "_addmm_activation")
PRODUCT_PARTS = (
    "convolution",
    "slow_conv",
    "conv_depthwise",
    "conv_tbc",
    "attention",
    "_attn",  # flash_attn::_flash_attn_forward
    "flashattn",
    "flash_fwd",
    "flash_bwd",
    "_rnn",
    "_lstm_mps",
    "_mm",  # _scaled_mm, too, for fp8
    "gemm",
    "mkl_linear",
    "mkldnn_linear",
    "_trilinear",
)
SOLVERS = ("_svd", "_eig", "_qr", "_lu", "_solve", "_inv", "cholesky", "triangular", "lstsq", "householder")
COPIES = ("copy", "_to_copy", "clone", "contiguous", "cat", "stack", "repeat", "_foreach_copy")
COMMUNICATION = ("c10d::", "_c10d_functional::", "c10d_functional::", "record_param_comms", "nccl:", "gloo:", "mpi:")
COMPILED = ("Torch-Compiled Region", "CompiledFunction", "## Call CompiledFxGraph", "triton_")
TEMPLATES = "triton_tem_"  # of products; all else that Inductor writes is pointwise or a reduction, whatever it fuses
PRODUCT_KERNEL = re.compile(
    r"gemm|gemv|nvjet|cutlass|xmma|flash_(fwd|bwd)|fmha|attention|attn|convolve|winograd|[dw]grad|triton_tem_|_conv_depthwise"
)


def is_communication(name: str) -> bool:
    """Return whether an event is one of ``torch.distributed``."""
    return name.startswith(COMMUNICATION)


def kind_of_operation(name: str) -> Kind:
    """Return the kind of work of an operation.

    Examples
    --------
    >>> [kind_of_operation(name) for name in ("aten::addmm", "triton_poi_fused_convolution_0", "aten::_scaled_mm")]
    ['products', 'passes', 'products']
    """
    if is_communication(name):
        return "communication"
    if name.startswith("triton_"):
        return "products" if name.startswith(TEMPLATES) else "passes"
    plain = name.removeprefix("aten::").rstrip("_").lower()
    if plain in PRODUCTS or any(part in plain for part in (*PRODUCT_PARTS, *SOLVERS)):
        return "products"
    return "copies" if plain in COPIES else "passes"


def kind_of_kernel(name: str, operation: str) -> Kind:
    """Return the kind of work of a kernel: that of its operation, or by its own name where that says more.

    Compiled code, a CUDA graph and extensions launch kernels of every kind.

    Examples
    --------
    >>> [kind_of_kernel(name, "Torch-Compiled Region: 0/0") for name in ("sm90_xmma_gemm", "triton_red_fused_mm_1")]
    ['products', 'passes']
    """
    if "nccl" in name.lower():
        return "communication"
    if (kind := kind_of_operation(operation)) != "passes":
        return kind
    if name.startswith("triton_") and not name.startswith(TEMPLATES):
        return "passes"
    if PRODUCT_KERNEL.search(name.lower()):
        return "products"
    return "copies" if name.startswith("Memcpy") else "passes"
