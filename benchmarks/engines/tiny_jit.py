"""tinygrad with its jit; compilation is not timed."""

from tinygrad import TinyJit

from benchmarks.engines.tiny import workloads

__all__ = ["WORK"]

WORK = workloads(TinyJit)
