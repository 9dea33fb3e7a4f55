"""Run the pages, and the tests that compare numbers, as other processors would compute them.

``make test-processors`` runs it: one line for each setting, or for those that are named on the command line. Libraries
choose their kernels by what the processor can do, and let themselves be told that it can do less. The order of a sum
also depends on how many threads share it.
"""

import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from numpy._core import _multiarray_umath as cpu

ROOT = Path(__file__).parents[1]
PAGES = "chapters"
# Not tests/exercises: whatever a grader is told, the sandbox gives learners' kernels an environment of its own.
PACKAGES = ("autograd", "clipping", "costs", "mlp", "monitoring", "oracle", "training")
COMPARE_NUMBERS = [f"tests/{package}" for package in PACKAGES]
PYTEST = ["-q", "-n", "auto", "--dist", "loadscope", "--no-loadscope-reorder", "--nbval", "--nbval-current-env"]
CAPABILITY = "import torch; print(torch.backends.cpu.get_cpu_capability())"


def as_if(torch: str, onednn: str, xla: str, openblas: str, beyond: str) -> dict[str, str]:
    """Return the environment in which each library uses no more than that, and NumPy nothing that is beyond it."""
    # NumPy warns if it is to leave out what the processor does not have.
    refused = [name for name in cpu.__cpu_dispatch__ if cpu.__cpu_features__[name] and re.fullmatch(beyond, name)]
    return {
        "ATEN_CPU_CAPABILITY": torch,
        "ONEDNN_MAX_CPU_ISA": onednn,
        "XLA_FLAGS": f"--xla_cpu_max_isa={xla}",
        "OPENBLAS_CORETYPE": openblas,
        "NPY_DISABLE_CPU_FEATURES": " ".join(refused),
    }


def on_threads(count: int) -> dict[str, str]:
    """Return the environment in which each library computes on so many threads, in the pages' kernels as well."""
    names = ("COURSE_KERNEL_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")
    # MKL would start no more threads than there are cores, and XLA counts the cores as NPROC.
    return {**dict.fromkeys(names, str(count)), "MKL_DYNAMIC": "FALSE"}


def settings() -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield each setting: its name, its environment, and what torch must say of it, where that is known."""
    avx512, avx = "AVX512.*|X86_V4", "AVX.*|FMA.*|F16C|X86_V[34]"  # as NumPy calls them, before and since 2.4
    yield "this processor", {}, ""
    yield "one thread", on_threads(1), ""
    yield "four threads", on_threads(4), ""
    if platform.machine().lower() in ("x86_64", "amd64"):
        if cpu.__cpu_features__["AVX2"]:
            yield "AVX2", as_if("avx2", "AVX2", "AVX2", "Haswell", avx512), "AVX2"
        # XLA alone may use AVX: without it, it has nothing that turns float32 into float16.
        yield "SSE4", as_if("default", "SSE41", "AVX", "Nehalem", avx), "DEFAULT"


def failures(environment: dict[str, str], capability: str) -> list[str]:
    """Run everything under one setting; return the lines that say what failed."""
    # torch.compile's cache does not know the capability: it would give what it compiled for another processor.
    with tempfile.TemporaryDirectory() as cache:
        variables = os.environ | environment | {"TORCHINDUCTOR_CACHE_DIR": cache}
        run = {"env": variables, "cwd": ROOT, "capture_output": True, "text": True}
        said = subprocess.run([sys.executable, "-c", CAPABILITY], check=True, **run).stdout.strip()
        if capability and said != capability:
            return [f"the setting must make torch use {capability}, but it uses {said}: has it renamed its levels?"]
        ran = subprocess.run([sys.executable, "-m", "pytest", *PYTEST, *COMPARE_NUMBERS, PAGES], check=False, **run)
    lines = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines or ([ran.stdout[-2000:] + ran.stderr[-2000:]] if ran.returncode else [])


if __name__ == "__main__":
    failed, possible = 0, {name: (environment, capability) for name, environment, capability in settings()}
    for name in sys.argv[1:] or possible:
        if name not in possible:
            print(f"{name}: not on this processor")
            continue
        environment, capability = possible[name]
        lines = failures(environment, capability)
        print("\n  ".join([f"{name}: {f'{len(lines)} failed' if lines else 'all pass'}", *lines]), flush=True)
        failed += bool(lines)
    sys.exit(f"{failed} settings fail" if failed else 0)
