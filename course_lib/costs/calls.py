"""Which modules of torch are being called, by name."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

from course_lib.costs.untouched import around_calls
from course_lib.extras import load

__all__ = ["OUTSIDE", "Calls", "calls"]

OUTSIDE = "(outside modules)"


@dataclass
class Calls:
    """The modules that are being called at this moment, outermost first, by name."""

    stack: tuple[str, ...] = ()
    kinds: dict[str, str] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    modules: dict[int, Any] = field(default_factory=dict)  # alive, so that no other module gets the same id

    @property
    def innermost(self) -> str:
        """The name of the module that is being called, without those around it."""
        return self.stack[-1] if self.stack else OUTSIDE

    def enter(self, module: Any) -> None:
        """Note that a module is called."""
        kind = type(module).__name__
        if id(module) not in self.names:
            self.add(module, kind)
        name = self.names[id(module)]
        self.kinds[name] = kind
        self.stack = (*self.stack, name)

    def add(self, outermost: Any, kind: str) -> None:
        """Name a module and those inside it: as they are called there, unless another outermost module has the name.

        Then all names in it begin with its own, such as ``Sequential#2`` and ``Sequential#2.0``.
        """
        taken = set(self.names.values())
        new = {name: part for name, part in outermost.named_modules() if id(part) not in self.names}
        clash = any((name or kind) in taken for name in new)
        own = next(label for label in chain([kind], (f"{kind}#{i}" for i in count(2))) if label not in taken)
        for name, part in new.items():
            inside = f"{own}.{name}" if clash else name
            self.names[id(part)], self.modules[id(part)] = inside if name else own, part

    def leave(self) -> None:
        """Note that the innermost call is over."""
        self.stack = self.stack[:-1]


@contextmanager
def calls(
    entered: Callable[[Calls], None] = lambda calls: None,
    left: Callable[[Calls], None] = lambda calls: None,
    *,
    warm: bool = False,
) -> Iterator[Calls]:
    """Follow the calls of all modules of torch.

    Parameters
    ----------
    entered, left : callable
        The one runs last before a call, the other first after it.
    warm : bool
        What is compiled has run before. Then torch.compile is kept from compiling what follows the calls, about which
        it would warn; a model that it meets here first it would split at each module instead.
    """
    now = Calls()

    def before(module: Any, args: Any) -> None:
        now.enter(module)
        entered(now)

    def after(module: Any, args: Any, output: Any) -> None:
        left(now)
        now.leave()

    hooks = before, after
    if warm and "torch._dynamo" in sys.modules:
        hooks = tuple(map(load("torch.compiler", extra="torch").disable, hooks))
    with around_calls(*hooks):
        yield now
