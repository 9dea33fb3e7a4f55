"""Read the clock of a device: the host's, or CUDA events where a call only queues its work."""

import sys
from collections.abc import Callable, Iterable
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    import torch

__all__ = ["Clock", "CudaClock", "HostClock", "block_until_ready", "clock_for", "has_jax_arrays", "jax_devices"]


_Mark = TypeVar("_Mark")


class Clock(Protocol[_Mark]):
    """A clock that marks moments, and subtracts two of them once the work between them is done."""

    device: str

    def mark(self) -> _Mark:
        """Mark this moment, on the device's own time line."""
        ...

    def synchronize(self) -> None:
        """Wait until everything that was queued is done."""
        ...

    def seconds(self, start: _Mark, end: _Mark) -> float:
        """Return the time between two marks, after :meth:`synchronize`."""
        ...


class HostClock:
    """Clock of the host. On an accelerator that has no other, each mark first waits for the work that is queued."""

    def __init__(self, device: str = "cpu", synchronize: Callable[[], None] = lambda: None) -> None:
        self.device, self._synchronize = device, synchronize

    def mark(self) -> float:
        """Wait for queued work, and read the clock."""
        self._synchronize()
        return perf_counter()

    def synchronize(self) -> None:
        """Wait until everything that was queued is done."""
        self._synchronize()

    def seconds(self, start: float, end: float) -> float:
        """Return the time between two marks."""
        return end - start


class CudaClock:
    """Clock of a CUDA device: a mark is an event, queued on the current stream like any kernel, without waiting."""

    def __init__(self, cuda: ModuleType, device: "torch.device") -> None:
        self._cuda, self._device, self.device = cuda, device, str(device)

    def mark(self) -> "torch.cuda.Event":
        """Queue an event on the current stream."""
        with self._cuda.device(self._device):
            event: torch.cuda.Event = self._cuda.Event(enable_timing=True)
            event.record()
        return event

    def synchronize(self) -> None:
        """Wait for the device."""
        self._cuda.synchronize(self._device)

    def seconds(self, start: "torch.cuda.Event", end: "torch.cuda.Event") -> float:
        """Read the two events; CUDA gives milliseconds."""
        return float(start.elapsed_time(end)) / 1e3


def clock_for(*things: object) -> Clock[Any]:
    """Choose the clock for tensors and modules, found in any nest of lists, tuples and dicts.

    If none is on an accelerator, it is the host's, which waits for every CUDA device on which this process has memory.
    """
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "Tensor"):
        return HostClock()
    found = {device for thing in things for device in _devices_in(torch, thing)}
    named = {device for device in found if device.type != "cpu"}
    if len(named) == 1 and (device := next(iter(named))).type in ("cuda", "meta"):
        return CudaClock(torch.cuda, device) if device.type == "cuda" else HostClock()
    if not (devices := named or _cuda_devices_in_use(torch)):
        return HostClock()

    def synchronize() -> None:
        for device in devices:
            torch.accelerator.synchronize(device)

    return HostClock("cpu" if found and not named else ", ".join(sorted(map(str, devices))), synchronize)


def _cuda_devices_in_use(torch: ModuleType) -> "set[torch.device]":
    """Return the CUDA devices that this process has allocated memory on."""
    if not torch.cuda.is_initialized():
        return set()
    return {torch.device("cuda", i) for i in range(torch.cuda.device_count()) if torch.cuda.memory_reserved(i)}


def _devices_in(torch: ModuleType, thing: object) -> "Iterable[torch.device]":
    """Yield the devices of all tensors and parameters in a nest."""
    for part in _flatten(thing):
        if isinstance(part, torch.Tensor):
            yield part.device
        elif isinstance(part, torch.nn.Module):
            yield from {p.device for p in part.parameters()}


def _flatten(thing: object) -> Iterable[object]:
    """Yield the items in a nest of lists, tuples and dicts, which may hold itself."""
    waiting, seen = [thing], set[int]()
    while waiting:
        part = waiting.pop()
        if not isinstance(part, (list, tuple, dict)):
            yield part
        elif id(part) not in seen:
            seen.add(id(part))
            waiting += part.values() if isinstance(part, dict) else part


def has_jax_arrays(result: object) -> bool:
    """Return whether a result has arrays that JAX may still be computing, in any tree that JAX knows."""
    if (jax := sys.modules.get("jax")) is None or not hasattr(jax, "block_until_ready"):
        return False
    # flat, since JAX's own walk over a list that holds itself would not come back unharmed
    return any(hasattr(leaf, "block_until_ready") for leaf in jax.tree.leaves(list(_flatten(result))))


def jax_devices(result: object) -> str:
    """Name the devices that hold the JAX arrays in a result, such as ``cuda:0``; ``cpu`` stands for all of the host."""
    leaves = sys.modules["jax"].tree.leaves(list(_flatten(result)))
    devices = {device for leaf in leaves if hasattr(leaf, "devices") for device in leaf.devices()}
    return ", ".join(sorted({"cpu" if device.platform == "cpu" else str(device) for device in devices}))


def block_until_ready(result: object) -> None:
    """Wait for the JAX arrays in a result."""
    sys.modules["jax"].block_until_ready(result)
