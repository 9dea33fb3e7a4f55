"""Bound gradients by their global norm or entry by entry: torch, this course's engine, NumPy and JAX alike."""

from course_lib.clipping.arguments import Nonfinite
from course_lib.clipping.by_norm import clip_by_global_norm
from course_lib.clipping.by_value import clip_by_value

__all__ = ["Nonfinite", "clip_by_global_norm", "clip_by_value"]
