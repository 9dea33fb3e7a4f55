"""The recorded graph: nodes, hooks, and when each array was last written to.

torch keeps nodes and hooks in ``autograd.graph``.
"""

from course_lib.autograd.graph.hooks import saved_tensors_hooks
from course_lib.autograd.graph.node import Node

__all__ = ["Node", "saved_tensors_hooks"]
