"""Follow what is not finite through the storages of torch, from the operation that made it."""

import linecache
import math
import sys
import weakref
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import course_lib
from course_lib.costs.kept import dense_parts
from course_lib.monitoring.nonfinite.origin import Origin, Place

__all__ = ["Follower"]

UNWRITTEN = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "resize_", "set_")
OWN_CODE = str(Path(course_lib.__file__).parent)
ASKED_FOR = None  # in place of an origin: as -inf in a mask is


class Follower:
    """Knows of each storage whether it holds what is not finite, and which operation began it."""

    def __init__(self, torch: Any, module: Callable[[], str]) -> None:
        self.torch, self.module = torch, module
        self.bad: dict[int, Origin | None] = {}  # by storage
        self.seen: set[int] = set()
        self.came: set[int] = set()  # were there before: what matters is what is made of them
        self.origins: list[Origin] = []  # in the order of time
        self.forward: list[tuple[int, Place]] = []  # with the number of the node that is recorded there, rising

    def call(self, op: Any, args: Any, kwargs: Any) -> Any:
        """Run an operation, and look at what it was given and what it made."""
        leaves = self.torch.utils._pytree.tree_leaves
        given = [x for x in leaves((args, kwargs)) if x is not None]
        tensors, numbers = self.tensors(given), [x for x in given if isinstance(x, float)]
        for tensor in tensors:
            if id(tensor.untyped_storage()) not in self.seen:
                self.look(tensor, partial(self.origin, "", tensor, []))
                self.came |= {id(tensor.untyped_storage())} & self.bad.keys()
        causes = [self.bad[key] for t in tensors if (key := id(t.untyped_storage())) in self.bad]
        out = op(*args, **kwargs)
        name = op.overloadpacket.__name__
        for tensor in self.tensors(leaves(out)):
            self.look(tensor, partial(self.judge, name, tensor, tensors, numbers, causes))
        if self.node() is None:
            self.forward.append((self.torch.autograd._get_sequence_nr() - 1, self.here()))
        return out

    def judge(
        self, op: str, made: Any, tensors: Sequence[Any], numbers: Sequence[float], causes: Sequence[Origin | None]
    ) -> Origin | None:
        """Say where it began that a result is not finite."""
        if earlier := [origin for origin in causes if origin is not ASKED_FOR]:
            return min(earlier, key=self.origins.index)
        asked = op in UNWRITTEN or any(map(math.isnan, numbers))
        asked = asked or ((bool(causes) or any(map(math.isinf, numbers))) and not self.torch.isnan(made).any())
        return ASKED_FOR if asked else self.origin(op, made, tensors)

    def look(self, tensor: Any, began: Callable[[], Origin | None]) -> None:
        """Note whether a tensor holds what is not finite."""
        storage = tensor.untyped_storage()
        key = id(storage)
        if key not in self.seen:
            self.seen.add(key)
            weakref.finalize(storage, self.forget, key).atexit = False
        if not self.torch.isfinite(tensor).all():
            self.bad[key] = began()
        elif storage.nbytes() == tensor.nbytes:  # of a part, the rest may still be what it was
            self.bad.pop(key, None)

    def forget(self, key: int) -> None:
        """Drop what was known of a storage that is freed."""
        self.seen.discard(key)
        self.came.discard(key)
        self.bad.pop(key, None)

    def first(self) -> Origin | None:
        """Return the first origin of what is still there, and not finite."""
        left = (origin for key, origin in self.bad.items() if key not in self.came)
        alive = [origin for origin in left if origin is not ASKED_FOR]
        return min(alive, key=self.origins.index, default=None)

    def origin(self, op: str, made: Any, tensors: Sequence[Any]) -> Origin:
        """Describe an operation whose result is not finite."""
        node, place = self.node(), self.here()
        if node is not None and self.forward:
            at = bisect_left(self.forward, node._sequence_nr(), key=lambda pair: pair[0])
            place = self.forward[min(at, len(self.forward) - 1)][1]
        nan, inf = (int(test(made).sum()) for test in (self.torch.isnan, self.torch.isinf))
        others = [t for t in tensors if t.untyped_storage() is not made.untyped_storage()]
        found = Origin(
            op=op,
            node="" if node is None else node.name(),
            place=place,
            nan=nan,
            inf=inf,
            size=made.numel(),
            dtype=str(made.dtype).removeprefix("torch."),
            given=tuple(map(self.described, others)),
        )
        self.origins.append(found)
        return found

    def described(self, tensor: Any) -> str:
        """Say the shape of an argument, and the range of its numbers."""
        low, high = (float(x) for x in self.torch.aminmax(tensor.double())) if tensor.numel() else (0.0, 0.0)
        return f"{tuple(tensor.shape)} from {low:.3g} to {high:.3g}"

    def tensors(self, leaves: Sequence[Any]) -> list[Any]:
        """Take the tensors of real numbers that are in memory."""
        parts = [part for leaf in leaves if isinstance(leaf, self.torch.Tensor) for part in dense_parts(leaf)]
        return [
            part
            for part in parts
            if part.is_floating_point() and not part.is_meta and part.layout is self.torch.strided and part.numel()
        ]

    def node(self) -> Any:
        """Return the node that is being visited, None in the forward pass."""
        return self.torch._C._current_autograd_node()

    def here(self) -> Place:
        """Find the line of code outside of torch and this library."""
        own = (OWN_CODE, str(Path(self.torch.__file__).parent))
        frame: Any = sys._getframe()
        while frame is not None and frame.f_code.co_filename.startswith(own):
            frame = frame.f_back
        if frame is None:
            return Place(self.module(), "", "")
        path, number = Path(frame.f_code.co_filename), frame.f_lineno
        line = linecache.getline(str(path), number, frame.f_globals).strip()
        return Place(self.module(), line, f"{path.name}:{number}" if path.is_file() else "")
