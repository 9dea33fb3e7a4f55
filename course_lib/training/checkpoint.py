"""Checkpoints of a training run: one file, written anew after each epoch, from which a killed run goes on exactly."""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pickle import PicklingError
from typing import Any

from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.frameworks import is_torch_module
from course_lib.training.data_parallel import add_over_processes, gather_over_processes, rank_among_processes
from course_lib.training.random_state import fits_loaders, read_state, restore_state
from course_lib.types import AnyDevice, AnyModule, AnyOptimizer

__all__ = ["Checkpoint"]

FORMAT = 1
LISTED = 3  # how many names a message lists


@dataclass(frozen=True)
class Checkpoint:
    """A file with all that a run of ``fit`` needs to go on: written by one process, read by all.

    Attributes
    ----------
    path : pathlib.Path
        The file.
    model : torch.nn.Module
    parts : dict of str to object
        What else has a state: optimizer, scheduler and scaler, or None, and what the user names.
    loaders : tuple
        Those of training and validation.
    device : torch.device
    rank : int
        That of this process, among those of DDP.
    """

    path: Path
    model: Any
    parts: dict[str, Any]
    loaders: tuple[Any, ...]
    device: Any
    rank: int

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        model: AnyModule,
        optimizer: AnyOptimizer,
        device: AnyDevice,
        *,
        loaders: Sequence[object],
        scheduler: object,
        scaler: object,
        keep: Mapping[str, object] | None,
    ) -> "Checkpoint":
        """Check that a run can be kept in a file."""
        if not is_torch_module(model):
            raise InputError(
                f"checkpoint= needs a torch model, but got a {type(model).__name__}; leave it out, and keep "
                "model.state_dict() yourself"
            )
        if split := [name for name, p in model.named_parameters() if hasattr(p, "device_mesh")]:
            raise InputError(
                f"checkpoint= needs parameters that are whole in each process, but {split[0]} is split over several; "
                "leave it out, and save with torch.distributed.checkpoint"
            )
        parts = {"optimizer": optimizer, "scheduler": scheduler, "scaler": scaler}
        if taken := set(keep or ()) & set(parts):
            raise InputError(f"keep= must have names of its own, but {taken.pop()!r} is kept already; choose another")
        parts |= keep or {}
        _check_parts(parts)
        place = load("torch", extra="torch").empty(0, device=device).device
        return cls(Path(path), model, parts, tuple(loaders), place, rank_among_processes(model))

    def resume(self) -> list[dict[str, Any]]:
        """Set everything back to where the file has it, and return its epochs; without a file, begin one."""
        there = add_over_processes([float(self.rank == 0 and self.path.exists())], self.model)[0]
        if not there:
            self._begin()
            return []
        state = self._read()
        self._check(state)
        self.model.load_state_dict(state["model"])
        for name, part in self.parts.items():
            if part is not None:
                part.load_state_dict(state["parts"][name])
        epochs: list[dict[str, Any]] = state["epochs"]
        for loader in self.loaders if epochs else ():
            if getattr(loader, "persistent_workers", False):
                iter(loader)  # starts the workers, for which it draws a seed: in the first epoch only
        restore_state(state["processes"][self.rank], self.device, self.loaders)
        return epochs

    def _begin(self) -> None:
        """Write the first state, and read it: what cannot be kept is refused now, and not when it is needed."""
        try:
            self.write([])
            if self.rank == 0:
                self._read()
        except OSError as error:
            raise InputError(
                f"checkpoint= must name a file that can be written, but {self.path} cannot: {error}. Make its folder, "
                "or name another."
            ) from error
        except (AttributeError, TypeError, PicklingError, InputError) as error:
            self.path.unlink(missing_ok=True)
            kinds = " and ".join(["model", *(name for name, part in self.parts.items() if part is not None)])
            raise InputError(
                f"what a checkpoint keeps of the {kinds} must be tensors and plain values, but something is not "
                f"({type(error.__cause__ or error).__name__}); leave functions and objects out of state_dict()"
            ) from error

    def save(self, epochs: list[dict[str, Any]]) -> None:
        """Write the state after some epochs; where that fails, warn, and keep the file that is there."""
        try:
            self.write(epochs)
        except OSError as error:
            warnings.warn(
                f"the checkpoint after {len(epochs)} epochs could not be written ({error}). Training goes on, and "
                f"{self.path} is that of an earlier epoch: see to the disk.",
                stacklevel=3,
            )

    def write(self, epochs: list[dict[str, Any]]) -> None:
        """Write the state to a file beside it, and put that in its place, so that there is always a whole one."""
        processes = gather_over_processes(read_state(self.device, self.loaders), self.model)
        if self.rank:
            return
        state = {
            "format": FORMAT,
            "kinds": {name: type(part).__name__ for name, part in self.parts.items() if part is not None},
            "model": self.model.state_dict(),
            "parts": {name: part.state_dict() for name, part in self.parts.items() if part is not None},
            "processes": processes,
            "epochs": epochs,
        }
        unfinished = self.path.with_name(self.path.name + ".part")
        try:
            with unfinished.open("wb") as file:
                load("torch", extra="torch").save(state, file)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(self.path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise

    def _read(self) -> dict[str, Any]:
        """Read the file, in which nothing is run."""
        try:
            state = load("torch", extra="torch").load(self.path, map_location="cpu", weights_only=True)
        except Exception as error:  # of a file that is cut short or no checkpoint, torch raises many kinds
            raise InputError(
                f"checkpoint= must name a file that fit wrote, of tensors and plain values, but {self.path} cannot be "
                f"read as one ({type(error).__name__}). Delete it, or name another."
            ) from error
        if not isinstance(state, dict) or state.get("format") != FORMAT:
            raise InputError(
                f"checkpoint= must name a file that this version of fit wrote, but {self.path} holds something else; "
                "name another"
            )
        return state

    def _check(self, state: dict[str, Any]) -> None:
        """Refuse a checkpoint of another run, before anything is changed."""
        if differing := _list_differences(state["model"], self.model.state_dict()):
            raise self._other_run("model", "; ".join(differing))
        kinds = {name: type(part).__name__ for name, part in self.parts.items() if part is not None}
        for name in self.parts:
            if (kept := state["kinds"].get(name)) != (given := kinds.get(name)):
                raise self._other_run(name, f"it has {_kind(kept)} where there is {_kind(given)} now")
        groups = [[len(group["params"]) for group in one["param_groups"]] for one in self._optimizer_states(state)]
        if groups[0] != groups[1]:
            raise self._other_run("optimizer", f"its groups have {groups[0]} parameters, and {groups[1]} now")
        if not fits_loaders(state["processes"][0], self.loaders):
            raise self._other_run("loaders", "generators, or a loader for validation, are not where they were")
        known, now = len(state["processes"]), int(add_over_processes([1.0], self.model)[0])
        if known != now:
            raise self._other_run("number of processes", f"they were {known}, and are {now} now")

    def _optimizer_states(self, state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        return state["parts"]["optimizer"], self.parts["optimizer"].state_dict()

    def _other_run(self, what: str, how: str) -> InputError:
        return InputError(
            f"the checkpoint must be of this {what}, but that in {self.path} is of another: {how}. Make it as it was, "
            "or name another file to begin anew."
        )


def _check_parts(parts: Mapping[str, Any]) -> None:
    """Refuse what has no state to keep, and an optimizer whose rate is changed by what is not kept."""
    for name, part in parts.items():
        if part is not None and not (hasattr(part, "state_dict") and hasattr(part, "load_state_dict")):
            raise InputError(
                f"the {name} must have state_dict() and load_state_dict(), or a run cannot go on from its checkpoint, "
                f"but this {type(part).__name__} has not; add them, or leave checkpoint= out"
            )
    moved = getattr(parts["optimizer"].step, "_wrapped_by_lr_sched", False)  # as torch's schedulers do
    if moved and parts["scheduler"] is None and not any(hasattr(part, "optimizer") for part in parts.values()):
        raise InputError(
            "a checkpoint must keep what changes the learning rate, but the optimizer has a scheduler that fit was not "
            'given; if a hook moves it, pass keep={"schedule": scheduler}'
        )


def _kind(name: str | None) -> str:
    return f"a {name}" if name else "none"


def _list_differences(kept: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Name what differs between two state dicts: tensors that only one has, their shapes and dtypes."""
    found = [f"it has {name}, which the model has not" for name in kept if name not in now]
    found += [f"it lacks {name}" for name in now if name not in kept]
    for name in kept:
        pair = [
            (tuple(getattr(one.get(name), "shape", ())), getattr(one.get(name), "dtype", None)) for one in (kept, now)
        ]
        if name in now and pair[0] != pair[1]:
            shapes = [f"{shape} {str(dtype).removeprefix('torch.')}" for shape, dtype in pair]
            found.append(f"{name} is {shapes[0]} there, and {shapes[1]} now")
    return found[:LISTED] + ([f"and {len(found) - LISTED} more"] if len(found) > LISTED else [])
