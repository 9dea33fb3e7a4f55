"""Clocks that are right on their device: the host's, and the device's own where work is only queued by a call."""

import sys
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any, Protocol

__all__ = ["Clock", "CudaClock", "HostClock", "clock_for", "is_deferred", "wait_for"]


class Clock(Protocol):
    """Marks moments, and says how many seconds lie between two of them once the work is done."""

    device: str

    def mark(self) -> Any:
        """Note this moment, on the device's own time line."""
        ...

    def settle(self) -> None:
        """Wait until everything that was queued is done."""
        ...

    def seconds(self, start: Any, end: Any) -> float:
        """Return the time between two marks, after :meth:`settle`."""
        ...


class HostClock:
    """The host's clock. On an accelerator that has no other, each mark first waits for what is queued."""

    def __init__(self, device: str = "cpu", settle: Callable[[], None] = lambda: None) -> None:
        self.device, self._settle = device, settle

    def mark(self) -> float:
        """Wait, and read the clock."""
        self._settle()
        return perf_counter()

    def settle(self) -> None:
        """Wait."""
        self._settle()

    def seconds(self, start: float, end: float) -> float:
        """Subtract."""
        return end - start


class CudaClock:
    """Events on the current CUDA stream: a mark is queued like any kernel, so it makes nobody wait."""

    def __init__(self, cuda: Any, device: Any) -> None:
        self._cuda, self._device, self.device = cuda, device, str(device)

    def mark(self) -> Any:
        """Queue an event on the stream that is current."""
        with self._cuda.device(self._device):
            event = self._cuda.Event(enable_timing=True)
            event.record()
        return event

    def settle(self) -> None:
        """Wait for the device."""
        self._cuda.synchronize(self._device)

    def seconds(self, start: Any, end: Any) -> float:
        """Read the two events; CUDA gives milliseconds."""
        return float(start.elapsed_time(end)) / 1e3


def clock_for(*things: Any) -> Clock:
    """Choose the clock for tensors and modules, found in any nest of lists, tuples and dicts.

    If none is on an accelerator, it is the host's, which waits for every CUDA device this process has put something on.
    """
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "Tensor"):
        return HostClock()
    found = {device for thing in things for device in devices_of(torch, thing)}
    named = {device for device in found if device.type != "cpu"}
    if len(named) == 1 and (device := next(iter(named))).type in ("cuda", "meta"):
        return CudaClock(torch.cuda, device) if device.type == "cuda" else HostClock()
    if not (devices := named or in_use(torch)):
        return HostClock()

    def settle() -> None:
        for device in devices:
            torch.accelerator.synchronize(device)

    return HostClock("cpu" if found and not named else ", ".join(sorted(map(str, devices))), settle)


def in_use(torch: Any) -> set[Any]:
    """Return the CUDA devices that this process has put something on."""
    if not torch.cuda.is_initialized():
        return set()
    return {torch.device("cuda", i) for i in range(torch.cuda.device_count()) if torch.cuda.memory_reserved(i)}


def devices_of(torch: Any, thing: Any) -> Iterable[Any]:
    """Yield the devices of all tensors in something."""
    for part in parts_of(thing):
        if isinstance(part, torch.Tensor):
            yield part.device
        elif isinstance(part, torch.nn.Module):
            yield from {p.device for p in part.parameters()}


def parts_of(thing: Any) -> Iterable[Any]:
    """Yield what is in a nest of lists, tuples and dicts, which may hold itself."""
    waiting, seen = [thing], set[int]()
    while waiting:
        part = waiting.pop()
        if not isinstance(part, (list, tuple, dict)):
            yield part
        elif id(part) not in seen:
            seen.add(id(part))
            waiting += part.values() if isinstance(part, dict) else part


def is_deferred(result: Any) -> bool:
    """Say whether a result has something that JAX may still be computing, in any tree that JAX knows."""
    if (jax := sys.modules.get("jax")) is None or not hasattr(jax, "block_until_ready"):
        return False
    # flat, since JAX's own walk over a list that holds itself would not come back unharmed
    return any(hasattr(leaf, "block_until_ready") for leaf in jax.tree.leaves(list(parts_of(result))))


def wait_for(result: Any) -> None:
    """Wait for JAX arrays in a result; everything else is left alone."""
    sys.modules["jax"].block_until_ready(result)
