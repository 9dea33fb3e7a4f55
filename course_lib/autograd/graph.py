"""What torch keeps in ``torch.autograd.graph``: nodes, and the hooks on what they save."""

from course_lib.autograd.hooks import saved_tensors_hooks
from course_lib.autograd.node import Node

__all__ = ["Node", "saved_tensors_hooks"]
