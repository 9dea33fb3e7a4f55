"""Give a loss torch's functions as ``xp.name``, whatever engine runs it."""

from collections.abc import Callable, Mapping
from typing import Any

from course_lib.errors import InputError
from course_lib.types import AnyArray

__all__ = ["Namespace"]


class Namespace:
    """Functions of an engine under torch's names, and :meth:`watch` to see the gradient of an intermediate result.

    Parameters
    ----------
    engine : str
        What the engine is called in messages.
    sources : sequence of module
        Where to look a name up, in this order.
    special : mapping of str to callable
        Names that stand for these functions instead.
    renamed : mapping of str to str
        What to call keyword arguments instead.
    """

    def __init__(
        self, engine: str, sources: list[Any], special: Mapping[str, Any], renamed: Mapping[str, str] | None = None
    ) -> None:
        self._engine, self._sources, self._special, self._renamed = engine, sources, special, renamed or {}
        self._probes: Mapping[str, AnyArray] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}

    def __getattr__(self, name: str) -> Any:
        found = self._special.get(name)
        for source in self._sources:
            found = getattr(source, name, None) if found is None else found
        if found is None:
            raise InputError(
                f"xp.{name} is missing from {self._engine}. Use torch's names, or give this engine a loss of its own: "
                f'compare({{"autograd": f, "torch": g, "jax": h}}, ...).'
            )
        if name in self._special or not self._renamed or not callable(found):
            return found
        return self._translate_keywords(found)

    def _translate_keywords(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            return function(*args, **{self._renamed.get(key, key): value for key, value in options.items()})

        return call

    def watch(self, name: str, value: AnyArray) -> AnyArray:
        """Return a value unchanged, and list its gradient under a name: it adds a leaf of zeros in every engine."""
        self._shapes[name] = tuple(value.shape)
        return value + self._probes[name] if name in self._probes else value
