"""Reference counts of arrays that nothing else refers to, as ``sys.getrefcount`` gives them in this interpreter.

The walk adds to such an array in place, and hands it to ``.grad`` uncopied. Up to Python 3.13 each local variable and
each argument counts; 3.14 borrows some of these references, so that a number written down for one version would let
the walk write into arrays that others see. So both situations are played through, and the least count is the one of an
array that is certainly alone.
"""

from sys import getrefcount
from types import SimpleNamespace

import numpy as np

__all__ = ["IN_A_CALL", "IN_A_NODE"]

TIMES = 64  # an interpreter that specializes code does so within a few calls


def _count_in_a_node() -> int:
    """Count as the engine does: a node has the array, and a local variable."""
    node = SimpleNamespace(grad=np.zeros(1))
    acc = node.grad
    return getrefcount(acc)


class _Receiver:
    def receive(self, g: object, *, last: bool) -> int:
        """Count as a node's hooks do: the caller has the array in a local variable, and passes it on."""
        return getrefcount(g) if last else 0


def _count_in_a_call() -> int:
    node = SimpleNamespace(grad=np.zeros(1), hooks=_Receiver())
    g, node.grad = node.grad, None
    count: int = node.hooks.receive(g, last=True)
    return count + (g is None)  # used later on, as the engine's is


IN_A_NODE = min(_count_in_a_node() for _ in range(TIMES))
IN_A_CALL = min(_count_in_a_call() for _ in range(TIMES))
