"""Run a script of somebody's under the doctor, without a change to it."""

import gc
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from course_lib.doctor.doctor import Doctor
from course_lib.doctor.loop.loop_hooks import drop_own_frames
from course_lib.errors import InputError

if TYPE_CHECKING:
    import torch

__all__ = ["run_script"]

INTERRUPTED = 130
OWN_CODE = str(Path(__file__).parent)


def run_script(script: Path, arguments: Sequence[str], *, write_to: Path) -> int:
    """Run a script as ``python script arguments`` would, write the doctor's report, and return the exit status.

    Whatever ends the script, the report is written first; its error is then shown as Python shows it.

    Raises
    ------
    InputError
        If the script cannot be read.
    """
    try:
        source = script.read_bytes()
    except OSError as error:
        raise InputError(f"a script to run is needed, but {script}: {error.strerror}. Check the path.") from error
    main = ModuleType("__main__")
    main.__dict__.update(__file__=str(script.absolute()), __builtins__=__builtins__)
    sys.argv, sys.path[0], sys.modules["__main__"] = [str(script), *arguments], str(script.resolve().parent), main
    status = 0
    with ExitStack() as stack:
        doctors = stack.enter_context(_doctor_when_torch_loads(write_to))
        try:
            exec(compile(source, str(script.absolute()), "exec"), main.__dict__)  # noqa: S102 - that is what it is for
        except SystemExit as error:
            status = _exit_status(error)
        except BaseException as error:
            drop_own_frames(error, error.__traceback__, own=OWN_CODE)
            status = INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
            sys.excepthook(type(error), error, error.__traceback__)
    _print_report(doctors, write_to)
    return status


def _exit_status(error: SystemExit) -> int:
    """Return the status that Python would exit with, and print the message, if it is one."""
    if error.code is None or isinstance(error.code, int):
        return error.code or 0
    print(error.code, file=sys.stderr)
    return 1


def _print_report(doctors: list[Doctor], path: Path) -> None:
    """Print the report where a script's output is not, and say where it is."""
    if not doctors:
        print(f"course doctor: the script never loaded torch, so {path} was not written", file=sys.stderr)
        return
    print(f"\n{doctors[0].report()}\n\ncourse doctor: written to {path}", file=sys.stderr)


@contextmanager
def _doctor_when_torch_loads(write_to: Path) -> Iterator[list[Doctor]]:
    """Begin to watch as soon as the script has loaded torch, which reads the environment that the script may set."""
    doctors = list[Doctor]()
    with ExitStack() as stack:

        def begin() -> None:
            doctors.append(doctor := stack.enter_context(Doctor(write_to=write_to)))
            stack.enter_context(_watch_new_optimizers(doctor))

        if "torch" in sys.modules:
            begin()
        else:
            sys.meta_path.insert(0, finder := _TorchFinder(begin))
            stack.callback(finder.leave)
        yield doctors


class _TorchFinder:
    """Finder that runs a function once torch has been imported."""

    def __init__(self, then: Callable[[], None]) -> None:
        self.then = then

    def leave(self) -> None:
        """Leave the finders alone, if torch has never been looked for."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Find torch as the other finders do, and have its loader go on to the function."""
        if name != "torch":
            return None
        self.leave()
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                run(module)
                self.then()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


@contextmanager
def _watch_new_optimizers(doctor: Doctor) -> Iterator[None]:
    """Add each optimizer that is made to the doctor's, with the model that it is for."""
    kind: Any = sys.modules["torch"].optim.Optimizer
    original = kind.__init__

    def initialize(optimizer: Any, *args: Any, **kwargs: Any) -> None:
        original(optimizer, *args, **kwargs)
        try:
            doctor.add(optimizer, _model_of(optimizer))
        except Exception as error:  # the script goes on
            doctor.note(type(optimizer).__name__, "".join(traceback.format_exception_only(error)).strip())

    kind.__init__ = initialize
    try:
        yield
    finally:
        kind.__init__ = original


def _model_of(optimizer: "torch.optim.Optimizer") -> "torch.nn.Module":
    """Find the modules whose parameters an optimizer has, as far out as they go; several are put into a list."""
    nn: Any = sys.modules["torch"].nn
    ids = {id(p) for group in optimizer.param_groups for p in group["params"]}
    modules = [part for part in gc.get_objects() if issubclass(type(part), nn.Module)]
    having = [part for part in modules if any(id(p) in ids for p in part.parameters())]
    inside = {id(child) for part in having for child in part.modules() if child is not part}
    roots = [part for part in having if id(part) not in inside]
    if not roots:
        raise InputError(
            "an optimizer must have parameters of modules to be watched, but this one has none. Put them into an "
            "nn.Module, or watch the loop with course_lib.monitoring."
        )
    model: torch.nn.Module = roots[0] if len(roots) == 1 else nn.ModuleList(roots)
    return model
