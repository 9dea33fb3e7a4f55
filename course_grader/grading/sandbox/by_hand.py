"""Packages that differentiate, and what an exercise that is done by hand says when one of them is imported."""

import contextlib
import sys
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from typing import NoReturn

__all__ = ["DIFFERENTIATING", "refuse_import", "refuse_imports"]

# This course's library, too: it has the solutions ready.
DIFFERENTIATING = frozenset(("autograd", "course_lib", "functorch", "jax", "jax_plugins", "jaxlib", "micrograd", "mlx"))
DIFFERENTIATING |= {"mxnet", "paddle", "pytensor", "sympy", "tensorflow", "theano", "tinygrad", "torch"}


def refuse_import(name: str) -> NoReturn:
    """Raise the error of an import that is refused.

    Examples
    --------
    >>> refuse_import("torch")
    Traceback (most recent call last):
    ModuleNotFoundError: no `torch` where this is graded: it is done by hand, in NumPy; take the import out
    """
    raise ModuleNotFoundError(
        f"no `{name}` where this is graded: it is done by hand, in NumPy; take the import out", name=name
    )


class _Refusal(MetaPathFinder):
    """Finder that comes before all others, and refuses what differentiates."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Raise for the packages that differentiate; leave all others to the next finder."""
        if name.partition(".")[0] in DIFFERENTIATING:
            refuse_import(name)


@contextlib.contextmanager
def refuse_imports() -> Iterator[None]:
    """Refuse to import what differentiates, loaded or not: to mark oneself as one is graded.

    In the grader's sandbox such a package is not there, and no code can bring it back; this can be got around.
    """
    loaded = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in DIFFERENTIATING}
    for name in loaded:
        del sys.modules[name]
    sys.meta_path.insert(0, refusal := _Refusal())
    try:
        yield
    finally:
        sys.meta_path.remove(refusal)
        sys.modules.update(loaded)
