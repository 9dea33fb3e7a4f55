"""Modules that make NaN or write in place, and recorders for gradients, forward hooks and update ratios.

Plain arrays go in and plain values come out, so whoever marks an answer sees no object of the learner's.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["Cell", "Chain", "Pointwise", "Refused", "Residual", "Scale", "Warm", "recorded", "searched", "stepped"]


class Refused(Exception):  # noqa: N818 - learners read it: a model refuses
    """Raised by a module that takes no input."""


def refuse(x: Tensor) -> Tensor:
    """Take no input at all."""
    raise Refused("this module takes no input at all")


# In torch, _ is for: in place.
POINTWISE: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "square": torch.square,
    "log": torch.log,
    "log_": torch.log_,
    "exp": torch.exp,
    "clean": torch.nan_to_num,
    "clean_": torch.nan_to_num_,
    "refuse": refuse,
}


class Pointwise(nn.Module):
    """Applies one function to each element; of a tuple, it takes the first part alone."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def forward(self, x: Tensor, *state: object) -> Tensor:
        """Apply it."""
        return POINTWISE[self.kind](x)


class Scale(nn.Module):
    """Multiplies each column by a weight."""

    def __init__(self, values: Sequence[float]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(values))

    def forward(self, x: Tensor) -> Tensor:
        """Multiply."""
        return x * self.weight


class Cell(nn.Module):
    """Like an LSTM: takes values, and perhaps a state (h, c); returns values and the new state."""

    def __init__(self, values: Sequence[float]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(values))

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Add the state before, and return the one after."""
        h, c = (torch.zeros_like(x), torch.zeros_like(x)) if state is None else state
        h, c = torch.tanh(x + h), c + self.weight * x
        return h, (h, c)


class Warm(nn.Module):
    """Has one child, a cell, and begins it with a state of its own making."""

    def __init__(self, values: Sequence[float]) -> None:
        super().__init__()
        self.cell = Cell([1.0])
        self.start = torch.tensor(values)

    def forward(self, x: Tensor) -> Any:
        """Run the cell."""
        return self.cell(x, (torch.zeros_like(x), x * 0 + torch.log(self.start)))


class Residual(nn.Module):
    """Has one child, and adds its input to what that returns."""

    def __init__(self, values: Sequence[float]) -> None:
        super().__init__()
        self.inner = Scale(values)

    def forward(self, x: Tensor) -> Tensor:
        """Add."""
        return x + self.inner(x)  # type: ignore[no-any-return]


class Chain(nn.Module):
    """Has parts, each given as (name, kind, values), and runs them in their order, or in that of ``calls``."""

    def __init__(self, parts: Sequence[tuple[str, str, Any]], calls: Sequence[str] | None = None) -> None:
        super().__init__()
        for name, kind, values in parts:
            self.add_module(name, MAKES[kind](values) if kind in MAKES else Pointwise(kind))
        self.calls = list(calls or [name for name, _, _ in parts])
        self.runs: list[dict[str, Any]] = []

    def forward(self, x: Any) -> Any:
        """Run the parts, and note in which modes."""
        modes = {name: module.training for name, module in self.named_modules()}
        self.runs.append({"graph": torch.is_grad_enabled(), "modes": modes})
        for name in self.calls:
            part = self.get_submodule(name)
            x = part(*x) if isinstance(x, tuple) else part(x)
        return x


MAKES: dict[str, Callable[[Any], nn.Module]] = {
    "scale": Scale,
    "cell": Cell,
    "warm": Warm,
    "residual": Residual,
    "chain": Chain,
}


def recorded(
    record: Callable[[nn.Module], object],
    parameters: Mapping[str, Any],
    pulls: Mapping[str, Any],
    frozen: Sequence[str] = (),
) -> dict[str, Any]:
    """Return what ``record`` says of a model with these gradients, whether it holds tensors, and the gradients after.

    Parameters
    ----------
    record : callable
        The learner's.
    parameters : dict of str to array
        By dotted names such as ``"encoder.weight"``; where a name stands for an array, that parameter is shared.
    pulls : dict of str to array
        The gradients that a backward pass leaves; a parameter without one has none.
    frozen : sequence of str
        What requires no gradient.

    Examples
    --------
    >>> recorded(lambda model: model.w.grad.tolist(), {"w": [1.0, 2.0]}, {"w": [3.0, -4.0]})["said"]
    [3.0, -4.0]
    """
    model = _model_of(parameters, frozen)
    _backward(model, pulls)
    said = record(model)
    after = {name: p.grad for name, p in model.named_parameters()}
    return {"said": said, "tensors": bool(_tensors_in(said)), "gradients": after}


def searched(
    first_nonfinite: Callable[[nn.Module, Tensor], object],
    parts: Sequence[tuple[str, str, Any]],
    x: Any,
    calls: Sequence[str] | None = None,
    asleep: Sequence[str] = (),
) -> dict[str, Any]:
    """Return what ``first_nonfinite`` says or raises for a chain of such parts, and the model before it and after it.

    Before it looks, the modules named in ``asleep`` are put into evaluation mode, each parameter gets a gradient, and
    somebody else's hook is set.

    Examples
    --------
    >>> searched(lambda model, x: None, [("root", "log", None)], [0.0])["hooks"]
    0
    """
    model, raised = Chain(parts, calls), False
    for name in asleep:
        model.get_submodule(name).eval()
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    last = list(model.modules())[-1]
    own = last.register_forward_hook(lambda module, inputs, output: None)
    hooks, before_it, said = _hooks_of(model), _state_of(model), None
    with torch.enable_grad():
        try:
            said = first_nonfinite(model, torch.tensor(x))
        except Refused:
            raised = True
        after_it = _state_of(model)
    left = _hooks_of(model) - hooks
    nn.modules.module._global_forward_hooks.clear()
    nn.modules.module._global_forward_pre_hooks.clear()
    found = {"said": said, "raised": raised, "hooks": left, "runs": model.runs}
    return found | {"own": own.id in last._forward_hooks, "before": before_it, "after": after_it}


def stepped(
    before: Callable[[nn.Module], object],
    ratios: Callable[[nn.Module, Any], object],
    parameters: Mapping[str, Any],
    pulls: Mapping[str, Any],
    rate: float,
    frozen: Sequence[str] = (),
) -> dict[str, Any]:
    """Take a step of gradient descent between ``before`` and ``ratios``, and say what came.

    Examples
    --------
    >>> found = stepped(lambda model: None, lambda model, kept: model.w.tolist(), {"w": [1.0]}, {"w": [2.0]}, 0.25)
    >>> found["said"], found["keeps"]
    ([0.5], False)
    """
    model = _model_of(parameters, frozen)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    _backward(model, pulls)
    kept = before(model)
    graph = any(t.grad_fn is not None for t in _tensors_in(kept))
    optimizer.step()
    after = {name: p.detach().clone() for name, p in model.named_parameters()}
    said = ratios(model, kept)
    left = {name: p.detach().clone() for name, p in model.named_parameters()}
    found = {"said": said, "graph": graph, "keeps": kept is not None, "tensors": bool(_tensors_in(said))}
    return found | {"after": after, "left": left}


def _model_of(parameters: Mapping[str, Any], frozen: Sequence[str]) -> nn.Module:
    model = nn.Module()
    for name, values in parameters.items():
        *path, last = name.split(".")
        owner = model
        for part in path:
            if part not in owner._modules:
                owner.add_module(part, nn.Module())
            owner = owner.get_submodule(part)
        p = model.get_parameter(values) if isinstance(values, str) else nn.Parameter(torch.tensor(values))
        p.requires_grad_(name not in frozen)
        owner.register_parameter(last, p)
    return model


def _backward(model: nn.Module, pulls: Mapping[str, Any]) -> None:
    """Go back from the sum of all pull * parameter, so that the gradient of each parameter is its pull."""
    pulled = [(model.get_parameter(name) * torch.tensor(pull)).sum() for name, pull in pulls.items()]
    if pulled:
        torch.stack([total.double() for total in pulled]).sum().backward()


def _tensors_in(value: Any, depth: int = 6) -> list[Tensor]:
    """Return the tensors that are held by lists, tuples, dicts and simple objects."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, (str, nn.Module)) or depth == 0:
        return []
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if not isinstance(value, (list, tuple, set)):
        value = list(getattr(value, "__dict__", {}).values())
    return [t for item in value for t in _tensors_in(item, depth - 1)]


def _hooks_of(model: nn.Module) -> int:
    """Return how many forward hooks there are, on all modules and on modules at large."""
    at_large = nn.modules.module
    kept: list[Mapping[Any, Any]] = [at_large._global_forward_hooks, at_large._global_forward_pre_hooks]
    kept += [hooks for m in model.modules() for hooks in (m._forward_hooks, m._forward_pre_hooks)]
    return sum(map(len, kept))


def _state_of(model: nn.Module) -> dict[str, Any]:
    modes = {name: m.training for name, m in model.named_modules()}
    values = {name: p.detach().clone() for name, p in model.named_parameters()}
    grads = {name: None if p.grad is None else p.grad.clone() for name, p in model.named_parameters()}
    trainable = {name: p.requires_grad for name, p in model.named_parameters()}
    found = {"modes": modes, "parameters": values, "gradients": grads, "requires grad": trainable}
    return found | {"gradients on": torch.is_grad_enabled()}
