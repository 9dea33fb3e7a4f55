"""Track NaN and infinities through the storages of torch, from the operation that made them."""

import gc
import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from course_lib.instrument.saved_tensors import dense_parts
from course_lib.monitoring.nonfinite.code_places import CodePlaces
from course_lib.monitoring.nonfinite.origin import NonfiniteOrigin

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["NonfiniteTracker"]

UNWRITTEN = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "resize_", "set_")
ARITHMETIC = ("add", "sub", "mul", "div", "addcmul", "addcdiv", "lerp")  # an infinite factor here was not asked for
PRODUCTS = ("mm", "addmm", "bmm", "baddbmm", "mv", "dot", "convolution")  # no mask is multiplied by a matrix
ASKED_FOR = None  # in place of an origin: as -inf in a mask is


@dataclass
class _StorageState:
    """State of one storage: the tracker's knowledge of its numbers."""

    storage: "weakref.ref[torch.UntypedStorage]"
    dtype: "torch.dtype"
    bad: bool = False
    began: NonfiniteOrigin | None = ASKED_FOR
    came: bool = False  # were there before: what matters is what is made of them
    mask: bool = False  # came, and may be intended


class NonfiniteTracker:
    """Tracks for each storage whether it holds numbers that are not finite, and which operation made the first."""

    def __init__(self, torch: ModuleType, module: Callable[[], str]) -> None:
        self.torch, self.places = torch, CodePlaces(torch, module)
        self.known: dict[int, _StorageState] = {}  # by the id of the storage, while it is alive
        self.origins: list[NonfiniteOrigin] = []  # in the order of time

    def run_operation(self, op: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run an operation, and look at what it was given, and at what it made or wrote to."""
        given, name = list(_flatten([*args, *kwargs.values()])), getattr(op, "overloadpacket", op).__name__
        tensors, numbers = self._real_tensors(given), [x for x in given if isinstance(x, float)]
        for tensor in tensors:
            if _storage_key(tensor) not in self.known:
                self._inspect(tensor, partial(self._record_origin, "", tensor, []), came=True)
        wrote = self._real_tensors(_flatten(_written_arguments(op, args, kwargs)))
        inputs = [t for t in tensors if _storage_key(t) not in set(map(_storage_key, wrote))]
        causes = [
            self._find_cause(t, name, inputs) for t in tensors if self._state_of(t).bad and not self._is_finite(t)
        ]
        before = [self._describe(t) for t in wrote] if name.startswith("_fused_") else []  # all that it was given
        out = op(*args, **kwargs)
        made = [t for t in self._real_tensors(_flatten([out])) if _storage_key(t) not in set(map(_storage_key, inputs))]
        for tensor in {id(t): t for t in (*made, *wrote)}.values():
            self._inspect(tensor, partial(self._find_origin, name, tensor, inputs, numbers, causes, before))
        self.places.record_forward()
        return out

    def _find_cause(self, tensor: "Tensor", op: str, inputs: Sequence[Any]) -> NonfiniteOrigin | None:
        """Return where an argument's non-finite numbers began: a mask's, used as one, were asked for."""
        known, updated = self._state_of(tensor), all(tensor is not t for t in inputs) and _base_name(op) in ARITHMETIC
        return ASKED_FOR if known.mask and not updated and op not in PRODUCTS else known.began

    def _may_be_mask(self, tensor: "Tensor") -> bool:
        """Return whether what a tensor holds may be intended: -inf, or one infinity; no nan, and no parameter."""
        torch = self.torch
        wrong = torch.isnan(tensor) if tensor.ndim == 0 else ~(torch.isfinite(tensor) | torch.isneginf(tensor))
        return not tensor.requires_grad and not wrong.any()

    def _find_origin(
        self,
        op: str,
        made: "Tensor",
        tensors: Sequence[Any],
        numbers: Sequence[float],
        causes: Sequence[NonfiniteOrigin | None],
        before: Sequence[str],
    ) -> NonfiniteOrigin | None:
        """Return where the non-finite numbers of a result began."""
        if earlier := [origin for origin in causes if origin is not ASKED_FOR]:
            return min(earlier, key=self.origins.index)
        if op in UNWRITTEN or any(map(math.isnan, numbers)):
            return ASKED_FOR
        filled = any(map(math.isinf, numbers)) and _base_name(op) not in ARITHMETIC
        reduced = made.numel() == 1 and any(tensor.numel() > 1 for tensor in tensors)  # a loss is no mask
        masked = bool(causes) and op not in PRODUCTS and not _is_parameter(made)
        asked = (masked or filled) and not reduced and not self.torch.isnan(made).any()
        return ASKED_FOR if asked else self._record_origin(op, made, tensors, before)

    def _inspect(self, tensor: "Tensor", began: Callable[[], NonfiniteOrigin | None], *, came: bool = False) -> None:
        """Note whether a tensor holds what is not finite."""
        storage = tensor.untyped_storage()
        if (key := _storage_key(tensor)) not in self.known:
            self.known[key] = _StorageState(weakref.ref(storage, partial(self._forget, key)), tensor.dtype)
        numbers = self.known[key]
        if not self._is_finite(tensor):
            if numbers.began is ASKED_FOR or numbers.came:
                numbers.mask = came and self._may_be_mask(tensor)
                numbers.bad, numbers.began, numbers.came, numbers.dtype = True, began(), came, tensor.dtype
        elif storage.nbytes() == tensor.nbytes:  # if it is a part, the rest may still be what it was
            numbers.bad, numbers.began, numbers.came = False, ASKED_FOR, False

    def _state_of(self, tensor: "Tensor") -> _StorageState:
        """Return what is known of a tensor's storage."""
        return self.known[_storage_key(tensor)]

    def _forget(self, key: int, _: object) -> None:
        """Drop what was known of a storage that is freed."""
        del self.known[key]

    def _is_finite(self, tensor: "Tensor") -> bool:
        """Return whether all numbers are finite, or of a kind that torch cannot tell: float8, nested, fake."""
        try:
            return bool(self.torch.isfinite(tensor).all())
        except RuntimeError:
            return True

    def first_origin(self) -> NonfiniteOrigin | None:
        """Return the first origin of what is still there, and not finite."""
        gc.collect()  # what only a cycle holds is not left
        left = [n for n in list(self.known.values()) if n.began is not ASKED_FOR and not n.came]
        alive = [
            n.began for n in left if not self._is_finite(self._whole_storage(n))
        ]  # parts of it may have been mended
        return min(filter(None, alive), key=self.origins.index, default=None)

    def _whole_storage(self, numbers: _StorageState) -> "Tensor":
        """Return a tensor of all that a storage holds."""
        storage = numbers.storage()
        assert storage is not None  # or it would have been forgotten
        whole: Tensor = self.torch.empty(0, dtype=numbers.dtype, device=storage.device).set_(storage)
        return whole

    def _record_origin(
        self, op: str, made: "Tensor", tensors: Sequence[Any], before: Sequence[str] = ()
    ) -> NonfiniteOrigin:
        """Describe an operation whose result is not finite."""
        node = self.places.current_node()
        nan, inf = (int(test(made).sum()) for test in (self.torch.isnan, self.torch.isinf))
        found = NonfiniteOrigin(
            op=op,
            node="" if node is None else node.name(),
            place=self.places.current_place(),
            nan=nan,
            inf=inf,
            size=made.numel(),
            dtype=str(made.dtype).removeprefix("torch."),
            given=(*before, *map(self._describe, tensors)),
            update=node is None and (_is_parameter(made) or self.places.in_optimizer()),
        )
        self.origins.append(found)
        return found

    def _describe(self, tensor: "Tensor") -> str:
        """Put the shape of an argument, and the range of its numbers, into words."""
        low, high = (float(x) for x in self.torch.aminmax(tensor.double()))
        return f"{tuple(tensor.shape)} from {low:.3g} to {high:.3g}"

    def _real_tensors(self, leaves: Iterable[Any]) -> "list[Tensor]":
        """Return the tensors of real numbers that are in memory."""
        parts = [part for leaf in leaves if isinstance(leaf, self.torch.Tensor) for part in dense_parts(leaf)]
        return [
            part
            for part in parts
            if part.is_floating_point() and not part.is_meta and part.layout is self.torch.strided and part.numel()
        ]


def _base_name(op: str) -> str:
    """Return the name of an operation without the marks of its variants for lists and in place.

    >>> _base_name("_foreach_add_")
    'add'
    """
    return op.removeprefix("_foreach_").rstrip("_")


def _is_parameter(tensor: "Tensor") -> bool:
    """Return whether a tensor is trained."""
    return bool(tensor.is_leaf and tensor.requires_grad)


def _storage_key(tensor: "Tensor") -> int:
    """Return a key for the storage of a tensor, good while it is alive."""
    return id(tensor.untyped_storage())


def _flatten(values: Iterable[Any]) -> Iterator[Any]:
    """Yield what is in lists and tuples: operations of torch nest their arguments in nothing else."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flatten(value)
        else:
            yield value


def _written_arguments(op: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """List the arguments that an operation writes to."""
    return [args[i] if i < len(args) else kwargs.get(name) for i, name in _find_written(op)]


@cache
def _find_written(op: Callable[..., Any]) -> list[tuple[int, str]]:
    """List number and name of each argument that is written to; for batch norm, also what its schema omits."""
    schema = getattr(op, "_schema", None)  # that of an operation on functions, such as cond, is None
    return [
        (i, arg.name)
        for i, arg in enumerate(schema.arguments if schema else ())
        if arg.name.startswith("running_") or (arg.alias_info is not None and arg.alias_info.is_write)
    ]
