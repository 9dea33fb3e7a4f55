"""Follow what is not finite through the storages of torch, from the operation that made it."""

import gc
import linecache
import math
import sys
import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import course_lib
from course_lib.instrument.saved_tensors import dense_parts
from course_lib.monitoring.nonfinite.origin import Origin, Place

__all__ = ["Follower"]

UNWRITTEN = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "resize_", "set_")
ARITHMETIC = ("add", "sub", "mul", "div", "addcmul", "addcdiv", "lerp")  # an infinite factor here was not asked for
PRODUCTS = ("mm", "addmm", "bmm", "baddbmm", "mv", "dot", "convolution")  # no mask is multiplied by a matrix
OWN_CODE, OPTIMIZERS = str(Path(course_lib.__file__).parent), str(Path("torch", "optim"))
ASKED_FOR = None  # in place of an origin: as -inf in a mask is
UNNUMBERED = 2**64 - 1  # the number of AccumulateGrad, which no operation of the forward pass has recorded


@dataclass
class Numbers:
    """What is known of the numbers in one storage."""

    storage: "weakref.ref[Any]"
    dtype: Any
    bad: bool = False
    began: Origin | None = ASKED_FOR
    came: bool = False  # were there before: what matters is what is made of them
    mask: bool = False  # came, and may be intended


class Follower:
    """Knows for each storage whether it holds numbers that are not finite, and which operation made the first."""

    def __init__(self, torch: Any, module: Callable[[], str]) -> None:
        self.torch, self.module = torch, module
        self.known: dict[int, Numbers] = {}  # by the id of the storage, while it is alive
        self.origins: list[Origin] = []  # in the order of time
        # The places of the forward pass, each with the number of the node that is recorded there, in ascending order.
        self.forward = [(torch.autograd._get_sequence_nr() - 1, Place("", "", ""))]

    def call(self, op: Any, args: Any, kwargs: Any) -> Any:
        """Run an operation, and look at what it was given, and at what it made or wrote to."""
        given, name = list(flat([*args, *kwargs.values()])), getattr(op, "overloadpacket", op).__name__
        tensors, numbers = self.tensors(given), [x for x in given if isinstance(x, float)]
        for tensor in tensors:
            if storage_of(tensor) not in self.known:
                self.look(tensor, partial(self.origin, "", tensor, []), came=True)
        wrote = self.tensors(flat(written(op, args, kwargs)))
        inputs = [t for t in tensors if storage_of(t) not in set(map(storage_of, wrote))]
        causes = [self.cause(t, name, inputs) for t in tensors if self.of(t).bad and not self.finite(t)]
        before = [self.described(t) for t in wrote] if name.startswith("_fused_") else []  # all that it was given
        out = op(*args, **kwargs)
        made = [t for t in self.tensors(flat([out])) if storage_of(t) not in set(map(storage_of, inputs))]
        for tensor in {id(t): t for t in (*made, *wrote)}.values():
            self.look(tensor, partial(self.judge, name, tensor, inputs, numbers, causes, before))
        if (number := self.torch.autograd._get_sequence_nr() - 1) > self.forward[-1][0]:
            self.forward.append((number, self.here()))
        return out

    def cause(self, tensor: Any, op: str, inputs: Sequence[Any]) -> Origin | None:
        """Say where an argument's non-finite numbers began: a mask's, used as one, were asked for."""
        known, updated = self.of(tensor), all(tensor is not t for t in inputs) and plain(op) in ARITHMETIC
        return ASKED_FOR if known.mask and not updated and op not in PRODUCTS else known.began

    def masks(self, tensor: Any) -> bool:
        """Say whether what came with a tensor may be intended: -inf, or one infinity; no nan, and no parameter."""
        torch = self.torch
        wrong = torch.isnan(tensor) if tensor.ndim == 0 else ~(torch.isfinite(tensor) | torch.isneginf(tensor))
        return not tensor.requires_grad and not wrong.any()

    def judge(
        self,
        op: str,
        made: Any,
        tensors: Sequence[Any],
        numbers: Sequence[float],
        causes: Sequence[Origin | None],
        before: Sequence[str],
    ) -> Origin | None:
        """Say where the non-finite numbers of a result began."""
        if earlier := [origin for origin in causes if origin is not ASKED_FOR]:
            return min(earlier, key=self.origins.index)
        if op in UNWRITTEN or any(map(math.isnan, numbers)):
            return ASKED_FOR
        filled = any(map(math.isinf, numbers)) and plain(op) not in ARITHMETIC
        reduced = made.numel() == 1 and any(tensor.numel() > 1 for tensor in tensors)  # a loss is no mask
        masked = bool(causes) and op not in PRODUCTS and not is_parameter(made)
        asked = (masked or filled) and not reduced and not self.torch.isnan(made).any()
        return ASKED_FOR if asked else self.origin(op, made, tensors, before)

    def look(self, tensor: Any, began: Callable[[], Origin | None], *, came: bool = False) -> None:
        """Note whether a tensor holds what is not finite."""
        storage = tensor.untyped_storage()
        if (key := storage_of(tensor)) not in self.known:
            self.known[key] = Numbers(weakref.ref(storage, partial(self.forget, key)), tensor.dtype)
        numbers = self.known[key]
        if not self.finite(tensor):
            if numbers.began is ASKED_FOR or numbers.came:
                numbers.mask = came and self.masks(tensor)
                numbers.bad, numbers.began, numbers.came, numbers.dtype = True, began(), came, tensor.dtype
        elif storage.nbytes() == tensor.nbytes:  # if it is a part, the rest may still be what it was
            numbers.bad, numbers.began, numbers.came = False, ASKED_FOR, False

    def of(self, tensor: Any) -> Numbers:
        """Return what is known of a tensor's storage."""
        return self.known[storage_of(tensor)]

    def forget(self, key: int, _: Any) -> None:
        """Drop what was known of a storage that is freed."""
        del self.known[key]

    def finite(self, tensor: Any) -> bool:
        """Say whether all numbers are finite, or of a kind that torch cannot tell: float8, nested, fake."""
        try:
            return bool(self.torch.isfinite(tensor).all())
        except RuntimeError:
            return True

    def first(self) -> Origin | None:
        """Return the first origin of what is still there, and not finite."""
        gc.collect()  # what only a cycle holds is not left
        left = [n for n in list(self.known.values()) if n.began is not ASKED_FOR and not n.came]
        alive = [n.began for n in left if not self.finite(self.whole(n))]  # parts of it may have been mended
        return min(filter(None, alive), key=self.origins.index, default=None)

    def whole(self, numbers: Numbers) -> Any:
        """Return all that a storage holds."""
        storage: Any = numbers.storage()
        return self.torch.empty(0, dtype=numbers.dtype, device=storage.device).set_(storage)

    def origin(self, op: str, made: Any, tensors: Sequence[Any], before: Sequence[str] = ()) -> Origin:
        """Describe an operation whose result is not finite."""
        node = self.node()
        nan, inf = (int(test(made).sum()) for test in (self.torch.isnan, self.torch.isinf))
        found = Origin(
            op=op,
            node="" if node is None else node.name(),
            place=self.here(),
            nan=nan,
            inf=inf,
            size=made.numel(),
            dtype=str(made.dtype).removeprefix("torch."),
            given=(*before, *map(self.described, tensors)),
            update=node is None and (is_parameter(made) or self.in_optimizer()),
        )
        self.origins.append(found)
        return found

    def described(self, tensor: Any) -> str:
        """Say the shape of an argument, and the range of its numbers."""
        low, high = (float(x) for x in self.torch.aminmax(tensor.double()))
        return f"{tuple(tensor.shape)} from {low:.3g} to {high:.3g}"

    def tensors(self, leaves: Iterable[Any]) -> list[Any]:
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
        """Find the line of code outside of torch and this library, or that of a node's forward pass."""
        own = (OWN_CODE, str(Path(self.torch.__file__).parent))
        frame: Any = sys._getframe()
        again = False  # as where a checkpointed module is called in the backward pass
        while frame is not None and frame.f_code.co_filename.startswith(own):
            if frame.f_code.co_name == "_engine_run_backward":
                return replace(self.of_node(), module=self.module(), of_node=False) if again else self.of_node()
            again = again or frame.f_code.co_name == "_call_impl"
            frame = frame.f_back
        if frame is None:
            return Place(self.module(), "", "") if self.node() is None else self.of_node()
        path, number = Path(frame.f_code.co_filename), frame.f_lineno
        line = linecache.getline(str(path), number, frame.f_globals).strip()
        return Place(self.module(), line, f"{path.name}:{number}" if path.is_file() else "")

    def in_optimizer(self) -> bool:
        """Say whether an optimizer of torch's is running."""
        frame: Any = sys._getframe()
        folder = str(Path(self.torch.__file__).parents[1] / OPTIMIZERS)
        while frame is not None and not frame.f_code.co_filename.startswith(folder):
            frame = frame.f_back
        return frame is not None

    def of_node(self) -> Place:
        """Find where the operation was called whose backward pass the node is: unknown if before the step."""
        number = getattr(self.node(), "_sequence_nr", lambda: UNNUMBERED)()
        at = 0 if number == UNNUMBERED else bisect_right(self.forward, number, key=lambda pair: pair[0]) - 1
        return replace(self.forward[max(at, 0)][1], of_node=True)


def plain(op: str) -> str:
    """Return the name of an operation without the marks of its variants for lists and in place.

    >>> plain("_foreach_add_")
    'add'
    """
    return op.removeprefix("_foreach_").rstrip("_")


def is_parameter(tensor: Any) -> bool:
    """Say whether a tensor is trained."""
    return bool(tensor.is_leaf and tensor.requires_grad)


def storage_of(tensor: Any) -> int:
    """Name the storage of a tensor, while it is alive."""
    return id(tensor.untyped_storage())


def flat(values: Iterable[Any]) -> Iterator[Any]:
    """Yield what is in lists and tuples: operations of torch nest their arguments in nothing else."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from flat(value)
        else:
            yield value


def written(op: Any, args: Sequence[Any], kwargs: Any) -> list[Any]:
    """List the arguments that an operation writes to."""
    return [args[i] if i < len(args) else kwargs.get(name) for i, name in writes(op)]


@cache
def writes(op: Any) -> list[tuple[int, str]]:
    """List number and name of each argument that is written to; for batch norm, also what its schema omits."""
    schema = getattr(op, "_schema", None)  # that of an operation on functions, such as cond, is None
    return [
        (i, arg.name)
        for i, arg in enumerate(schema.arguments if schema else ())
        if arg.name.startswith("running_") or (arg.alias_info is not None and arg.alias_info.is_write)
    ]
