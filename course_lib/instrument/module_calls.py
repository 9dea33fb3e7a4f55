"""Follow the calls of torch modules: hooks on all modules at once, and a stack of the names of those being called."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain, count
from threading import RLock
from typing import TYPE_CHECKING

from course_lib.extras import load

if TYPE_CHECKING:
    from torch.nn import Module

__all__ = ["OUTSIDE_MODULES", "PROCESS_LOCK", "ModuleStack", "track_module_calls", "visit_called_modules"]

OUTSIDE_MODULES = "(outside modules)"
PROCESS_LOCK = RLock()  # of the thread that has switched something for the whole process, and will switch it back


@contextmanager
def _hook_all_modules(before: Callable[..., None], after: Callable[..., None] | None = None) -> Iterator[None]:
    """Run functions before and after each call of any module of torch, by torch's global hooks.

    Hooks, filters of warnings and what else is switched here belong to the process: a second thread waits its turn.
    """
    hooks = load("torch.nn.modules.module", extra="torch")
    with PROCESS_LOCK, ExitStack() as stack, warnings.catch_warnings():
        # Our hooks fire for what torch.compile wraps around a module as well, which is a module of its own here.
        warnings.filterwarnings("ignore", message="Using `torch.compile", category=UserWarning)
        stack.callback(hooks.register_module_forward_pre_hook(before).remove)
        if after is not None:
            stack.callback(hooks.register_module_forward_hook(after, always_call=True).remove)
        yield


@contextmanager
def visit_called_modules(visit: "Callable[[Module], None]") -> Iterator[None]:
    """Run a function on each module before its first call, and on every module inside it; once on each."""
    known: dict[int, Module] = {}  # alive, so that no other module gets the same id

    def before(module: "Module", args: object) -> None:
        for part in module.modules() if id(module) not in known else ():
            if id(part) not in known:
                known[id(part)] = part
                visit(part)

    with _hook_all_modules(before):
        yield


@dataclass
class ModuleStack:
    """Name the modules that are being called at this moment, outermost first."""

    stack: tuple[str, ...] = ()
    kinds: dict[str, str] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    modules: "dict[int, Module]" = field(default_factory=dict)  # alive, so that no other module gets the same id

    @property
    def innermost(self) -> str:
        """The name of the module that is being called, without those around it."""
        return self.stack[-1] if self.stack else OUTSIDE_MODULES

    def enter(self, module: "Module") -> None:
        """Push a module that is called."""
        kind = type(module).__name__
        if id(module) not in self.names:
            self._add_names(module, kind)
        name = self.names[id(module)]
        self.kinds[name] = kind
        self.stack = (*self.stack, name)

    def _add_names(self, outermost: "Module", kind: str) -> None:
        """Name a module and those inside it: as they are called there, unless another outermost module has the name.

        Then all names in it begin with its own, such as ``Sequential#2`` and ``Sequential#2.0``.
        """
        taken = set(self.names.values())
        new = [(_plain_name(name), part) for name, part in outermost.named_modules() if id(part) not in self.names]
        clash = any((name or kind) in taken for name, _ in new)
        own = next(label for label in chain([kind], (f"{kind}#{i}" for i in count(2))) if label not in taken)
        for name, part in new:
            inside = f"{own}.{name}" if clash else name
            self.names[id(part)], self.modules[id(part)] = inside if name else own, part

    def leave(self) -> None:
        """Pop the innermost module, whose call is over."""
        self.stack = self.stack[:-1]


def _plain_name(name: str) -> str:
    """Return a module's name without the wrappers of ``torch.compile``, which share the name of what they wrap.

    Examples
    --------
    >>> [_plain_name(name) for name in ("_orig_mod.0.weight", "_orig_mod", "layers.0._orig_mod.mlp")]
    ['0.weight', '', 'layers.0.mlp']
    """
    return ".".join(part for part in name.split(".") if part != "_orig_mod")


@contextmanager
def track_module_calls(
    on_enter: Callable[[ModuleStack], None] = lambda stack: None,
    on_leave: Callable[[ModuleStack], None] = lambda stack: None,
    *,
    warm: bool = False,
) -> Iterator[ModuleStack]:
    """Track the calls of all modules of torch on a stack.

    Parameters
    ----------
    on_enter, on_leave : callable
        The one runs last before a call, the other first after it.
    warm : bool
        What is compiled has run before. Then torch.compile is kept from compiling what follows the calls, about which
        it would warn; a model that it meets here first it would split at each module instead.
    """
    stack = ModuleStack()

    def before(module: "Module", args: object) -> None:
        stack.enter(module)
        on_enter(stack)

    def after(module: "Module", args: object, output: object) -> None:
        on_leave(stack)
        stack.leave()

    hooks = before, after
    if warm and "torch._dynamo" in sys.modules:
        hooks = tuple(map(load("torch.compiler", extra="torch").disable, hooks))
    with _hook_all_modules(*hooks):
        yield stack
