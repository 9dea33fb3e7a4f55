"""What a peer's test cell calls: one of an exercise's own hidden tests, in the learner's process, as peers do it."""

import functools
import importlib.util
import inspect
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from course_grader.grading.protocol.codec import decode, encode

__all__ = ["Learner", "run"]


class Learner:
    """The interface of :class:`course_grader.grading.authoring.learner.Learner`, without a process in between."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names

    def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Return ``name(*args, **kwargs)`` as plain data."""
        return self.run(name, *args, **kwargs).value

    def run(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Call like :meth:`call`, on copies, and also return the arguments as the function left them."""
        call = decode(encode({"args": list(args), "kwargs": kwargs}))
        value = self._names[name](*call["args"], **call["kwargs"])
        return SimpleNamespace(value=decode(encode(value)), **decode(encode(call)))

    def eval(self, name: str, /) -> Any:
        """Return the value of a name as plain data."""
        return decode(encode(self._names[name]))

    def source(self, cell: str, /) -> str:
        """Return nothing: peers do not show a cell's text to tests."""
        return ""


@functools.cache
def _tests(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("hidden", path)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
    return module


def run(test: str, key: str, names: dict[str, Any]) -> None:
    """Run the hidden test of that name on the learner's names; it raises if it fails."""
    function = getattr(_tests(str(Path(key) / "test_hidden.py")), test)
    given = {"learner": Learner(names), "rng": np.random.default_rng([*test.encode()])}
    function(**{name: given[name] for name in inspect.signature(function).parameters})
