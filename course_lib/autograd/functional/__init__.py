"""Jacobians, Hessians, and their products with vectors, as in ``torch.autograd.functional``."""

from course_lib.autograd.functional.jacobian import hessian, hvp, jacobian
from course_lib.autograd.functional.products import jvp, vjp

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vjp"]
