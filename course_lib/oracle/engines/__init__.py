"""Compute the gradients of one loss by each engine: the course's autograd, PyTorch, JAX and finite differences."""

from course_lib.oracle.engines.engine import AutogradEngine, Engine, JaxEngine, Loss, TorchEngine
from course_lib.oracle.engines.finite_differences import estimate_grads

__all__ = ["DIFFERENCES", "ENGINES", "AutogradEngine", "Engine", "Loss", "estimate_grads"]

DIFFERENCES = "differences"
ENGINES: dict[str, type[Engine]] = {engine.name: engine for engine in (AutogradEngine, TorchEngine, JaxEngine)}
