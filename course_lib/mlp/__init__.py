"""Gradients of multilayer perceptrons by hand, with no autograd inside, on NumPy, torch and JAX arrays alike."""

from course_lib.mlp.multilayer import mlp_grad
from course_lib.mlp.results import MlpGrads, MlpResult, Step
from course_lib.mlp.two_layer import manual_mlp_grad, mlp_activations

__all__ = ["MlpGrads", "MlpResult", "Step", "manual_mlp_grad", "mlp_activations", "mlp_grad"]
