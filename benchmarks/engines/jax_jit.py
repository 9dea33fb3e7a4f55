"""JAX with jit; compilation is not timed."""

import jax

from benchmarks.engines.jax_eager import workloads

__all__ = ["WORK"]

WORK = workloads(jax.jit)
