"""What torch keeps in ``torch.autograd.functional``."""

from course_lib.autograd.transforms import hessian, hvp, jacobian, jvp, vjp

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vjp"]
