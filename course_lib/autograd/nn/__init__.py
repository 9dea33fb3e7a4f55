"""Modules and the functions they call: the part of ``torch.nn`` that the chapters use."""

from course_lib.autograd.nn import functional, layers, module
from course_lib.autograd.nn.layers import *  # noqa: F403 - its __all__
from course_lib.autograd.nn.module import *  # noqa: F403 - its __all__

__all__ = ["functional", *layers.__all__, *module.__all__]
