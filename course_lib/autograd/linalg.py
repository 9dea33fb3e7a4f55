"""Vector norm, under its name in ``torch.linalg``."""

from course_lib.autograd.ops.normalizers import vector_norm

__all__ = ["vector_norm"]
