"""States of the random numbers that training draws from, and of the loaders, as plain data that torch can store."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from course_lib.extras import load

__all__ = ["fits_loaders", "read_state", "restore_state"]


def read_state(device: Any, loaders: Sequence[object]) -> dict[str, Any]:
    """Return the states of Python's, NumPy's and torch's generators, and of the loaders' own.

    Of a loader, its sampler and its batch sampler: that of its ``generator``, and what its ``state_dict()`` says.
    """
    torch = load("torch", extra="torch")
    state: Any = np.random.get_state(legacy=True)
    kind, keys, *rest = state
    found: dict[str, Any] = {"python": random.getstate(), "numpy": (kind, torch.tensor(keys.astype(np.int64)), *rest)}
    found |= {"torch": torch.get_rng_state(), "loaders": [_read_part(part) for part in _parts(loaders)]}
    if (accelerator := _accelerator(device)) is not None:
        found["accelerator"] = accelerator.get_rng_state(*_which(device))
    return found


def restore_state(state: dict[str, Any], device: Any, loaders: Sequence[object]) -> None:
    """Set all generators and loaders back to a state that :func:`read_state` returned."""
    torch = load("torch", extra="torch")
    random.setstate(state["python"])
    kind, keys, *rest = state["numpy"]
    np.random.set_state((kind, keys.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(state["torch"])
    for part, kept in zip(_parts(loaders), state["loaders"], strict=True):
        if kept["generator"] is not None:
            part.generator.set_state(kept["generator"])
        if kept["state"] is not None:
            part.load_state_dict(kept["state"])
    if "accelerator" in state and (accelerator := _accelerator(device)) is not None:
        accelerator.set_rng_state(state["accelerator"], *_which(device))


def fits_loaders(state: dict[str, Any], loaders: Sequence[object]) -> bool:
    """Return whether a state is of such loaders: as many, with generators and states of their own where it has them."""
    kept, now = state["loaders"], [_read_part(part) for part in _parts(loaders)]
    return [[value is None for value in part.values()] for part in kept] == [
        [value is None for value in part.values()] for part in now
    ]


def _accelerator(device: Any) -> Any:
    """Return torch's module for a device that draws random numbers of its own, or None."""
    module = None if device.type == "cpu" else getattr(load("torch", extra="torch"), device.type, None)
    return module if hasattr(module, "get_rng_state") else None


def _which(device: Any) -> tuple[Any, ...]:
    """Return what these functions take beside the state: of Apple's one device, nothing."""
    return () if device.type == "mps" else (device,)


def _parts(loaders: Sequence[object]) -> Iterator[Any]:
    """Yield the parts of loaders that may draw an order: in the same number for the same loaders."""
    for loader in loaders:
        batches = getattr(loader, "batch_sampler", None)
        yield from (loader, getattr(loader, "sampler", None), batches, getattr(batches, "sampler", None))


def _read_part(part: Any) -> dict[str, Any]:
    """Return the state of a loader or sampler, as far as it has one."""
    generator: Any = getattr(part, "generator", None)
    return {
        "generator": generator.get_state() if hasattr(generator, "get_state") else None,
        "state": part.state_dict() if hasattr(part, "load_state_dict") else None,
    }
