"""Find the line of code that called an operation, or recorded the node whose backward pass is running."""

import linecache
import sys
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING

import course_lib
from course_lib.monitoring.nonfinite.origin import Place

if TYPE_CHECKING:
    from torch.autograd.graph import Node

__all__ = ["CodePlaces"]

OWN_CODE, OPTIMIZERS = str(Path(course_lib.__file__).parent), str(Path("torch", "optim"))
UNNUMBERED = 2**64 - 1  # the number of AccumulateGrad, which no operation of the forward pass has recorded


class CodePlaces:
    """Find where operations are called, and remember the places of the forward pass for its nodes.

    Parameters
    ----------
    torch : module
        The library.
    module : callable
        Returns the name of the module that is running.
    """

    def __init__(self, torch: ModuleType, module: Callable[[], str]) -> None:
        self.torch, self.module = torch, module
        self.torch_folder = Path(str(torch.__file__)).parent
        # The places of the forward pass, each with the number of the node that is recorded there, in ascending order.
        self.forward = [(torch.autograd._get_sequence_nr() - 1, Place("", "", ""))]

    def record_forward(self) -> None:
        """Remember the present place, if a node was recorded since the last one."""
        if (number := self.torch.autograd._get_sequence_nr() - 1) > self.forward[-1][0]:
            self.forward.append((number, self.current_place()))

    def current_node(self) -> "Node | None":
        """Return the node that is being visited, None in the forward pass."""
        node: Node | None = self.torch._C._current_autograd_node()
        return node

    def current_place(self) -> Place:
        """Find the line of code outside of torch and this library, or that of a node's forward pass."""
        own = (OWN_CODE, str(self.torch_folder))
        frame: FrameType | None = sys._getframe()
        again = False  # as where a checkpointed module is called in the backward pass
        while frame is not None and frame.f_code.co_filename.startswith(own):
            if frame.f_code.co_name == "_engine_run_backward":
                return (
                    replace(self._place_of_node(), module=self.module(), of_node=False)
                    if again
                    else self._place_of_node()
                )
            again = again or frame.f_code.co_name == "_call_impl"
            frame = frame.f_back
        if frame is None:
            return Place(self.module(), "", "") if self.current_node() is None else self._place_of_node()
        path, number = Path(frame.f_code.co_filename), frame.f_lineno
        line = linecache.getline(str(path), number, frame.f_globals).strip()
        return Place(self.module(), line, f"{path.name}:{number}" if path.is_file() else "")

    def in_optimizer(self) -> bool:
        """Return whether an optimizer of torch's is running."""
        frame: FrameType | None = sys._getframe()
        folder = str(self.torch_folder.parent / OPTIMIZERS)
        while frame is not None and not frame.f_code.co_filename.startswith(folder):
            frame = frame.f_back
        return frame is not None

    def _place_of_node(self) -> Place:
        """Find where the operation was called whose backward pass the node is: unknown if before the step."""
        number = getattr(self.current_node(), "_sequence_nr", lambda: UNNUMBERED)()
        at = 0 if number == UNNUMBERED else bisect_right(self.forward, number, key=lambda pair: pair[0]) - 1
        return replace(self.forward[max(at, 0)][1], of_node=True)
