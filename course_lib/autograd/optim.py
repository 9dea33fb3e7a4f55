"""Optimizers in the style of torch.optim: SGD with momentum, Adam and AdamW, with torch's defaults."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from course_lib.autograd import grad_mode
from course_lib.autograd.fast.sgd import fast_sgd_step
from course_lib.autograd.graph import write_clock
from course_lib.autograd.numpy_errors import quiet_context
from course_lib.autograd.tensor import Tensor
from course_lib.autograd.variable import list_tensors
from course_lib.errors import AutogradError
from course_lib.types import Array

__all__ = ["SGD", "Adam", "AdamW"]


class Optimizer:
    """Base class of optimizers; ``param_groups`` holds parameters and settings, ``state`` what it remembers of each."""

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise AutogradError(f"an optimizer takes a list of parameters, but got a tensor {params.shape}. Pass [x].")
        groups = list(params)
        if not groups:
            raise AutogradError(
                "an optimizer needs parameters, but the list is empty. Pass model.parameters() anew: it is read once."
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        self.param_groups = [{**defaults, **group, "params": list_tensors(group["params"])} for group in groups]
        _check_parameters(self.param_groups)
        for group in self.param_groups:
            _check_settings(group)
        self.state: dict[Tensor, dict[str, Any]] = {}

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines += [
                f"Parameter Group {i}",
                *(f"    {name}: {group[name]}" for name in sorted(group.keys() - {"params"})),
            ]
        return "\n".join([*lines, ")"])

    def zero_grad(self) -> None:
        """Reset the gradients of all parameters."""
        for group in self.param_groups:
            for p in group["params"]:
                p.stored_grad = None

    def step(self, closure: Callable[[], Tensor] | None = None) -> Tensor | None:
        """Update each parameter that has a gradient, in place; a closure computes the loss anew first."""
        loss = None
        if closure is not None:
            with grad_mode.enable_grad():
                loss = closure()
        for group in self.param_groups:
            changed = [p for p in group["params"] if p.stored_grad is not None]
            quiet_context.copy().run(self.update_all, changed, group)
            write_clock.record_write("an optimizer step", *changed)
        return loss

    def update_all(self, params: list[Tensor], group: dict[str, Any]) -> None:
        """Update the parameters of one group, all of which have a gradient."""
        for p in params:
            self.update(p, p.value, p.stored_grad.value, group)  # type: ignore[union-attr] # has a gradient

    def update(self, p: Tensor, x: Array, g: Array, group: dict[str, Any]) -> None:
        """Update the array ``x`` of parameter ``p`` by its gradient ``g``."""
        raise NotImplementedError


def _check_parameters(groups: list[dict[str, Any]]) -> None:
    """Refuse parameters that an optimizer cannot update, and those it would update twice."""
    before = set[int]()
    for group in groups:
        for p in group["params"]:
            if not isinstance(p, Tensor) or not p.is_leaf:
                what = f"the result of {p.node.name()}" if isinstance(p, Tensor) else f"a {type(p).__name__}"
                raise AutogradError(
                    f"an optimizer changes leaves, but among the parameters is {what}. Pass its inputs."
                )
            if id(p) in before:
                raise AutogradError(
                    f"a parameter must be in one group only, but one of shape {p.shape} is in two. Remove it from one."
                )
        before |= {id(p) for p in group["params"]}


def _check_settings(settings: dict[str, Any]) -> None:
    """Refuse settings for which the update is not defined."""
    for name, value in settings.items():
        for n in value if name == "betas" else (value,):
            if isinstance(n, float | int) and not (n >= 0 and (name != "betas" or n < 1)):
                raise AutogradError(
                    f"{name} must not be negative{' and must be below 1' * (name == 'betas')}, but it is {value}. The "
                    "usual values are the defaults."
                )
    if settings.get("nesterov") and (not settings["momentum"] or settings["dampening"]):
        raise AutogradError("nesterov needs a momentum, and no dampening. Pass momentum=0.9, say, and dampening=0.")


class SGD(Optimizer):
    r"""Stochastic gradient descent: :math:`b \leftarrow \mu b + (1 - \tau) g`, :math:`x \leftarrow x - \eta b`.

    Examples
    --------
    >>> from course_lib.autograd import optim, tensor
    >>> x = tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = optim.SGD([x], lr=0.1)
    >>> (x**2).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        settings = {"momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov}
        super().__init__(params, {"lr": lr, **settings})

    def update_all(self, params: list[Tensor], group: dict[str, Any]) -> None:
        """Update the parameters of one group; by the fast twin if there is no momentum and no decay."""
        if group["momentum"] or group["weight_decay"]:
            super().update_all(params, group)
        else:
            fast_sgd_step(params, group["lr"])

    def update(self, p: Tensor, x: Array, g: Array, group: dict[str, Any]) -> None:
        """Move against the gradient, or the running sum of gradients."""
        if group["weight_decay"]:
            g = g + group["weight_decay"] * x
        momentum = group["momentum"]
        if momentum:
            state = self.state.setdefault(p, {})
            if "momentum_buffer" in state:
                state["momentum_buffer"] = momentum * state["momentum_buffer"] + (1 - group["dampening"]) * g
            else:
                state["momentum_buffer"] = g.copy()
            g = g + momentum * state["momentum_buffer"] if group["nesterov"] else state["momentum_buffer"]
        x -= group["lr"] * g


class Adam(Optimizer):
    r"""Adam (Kingma and Ba, 2015): steps :math:`\eta\, \hat m / (\sqrt{\hat v} + \epsilon)`.

    :math:`m` and :math:`v` are running averages of the gradient and its square, divided by :math:`1 - \beta^t`.
    """

    decoupled = False

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def update(self, p: Tensor, x: Array, g: Array, group: dict[str, Any]) -> None:
        """Move by the averaged gradient over the root of the averaged square."""
        (a, b), lr, decay = group["betas"], group["lr"], group["weight_decay"]
        if self.decoupled:
            x *= 1 - lr * decay
        elif decay:
            g = g + decay * x
        s = self.state.setdefault(p, {"step": 0, "exp_avg": np.zeros_like(x), "exp_avg_sq": np.zeros_like(x)})
        s["step"] += 1
        s["exp_avg"] += (1 - a) * (g - s["exp_avg"])
        s["exp_avg_sq"] *= b
        s["exp_avg_sq"] += (1 - b) * g * g
        root = np.sqrt(s["exp_avg_sq"]) / (1 - b ** s["step"]) ** 0.5
        x -= lr / (1 - a ** s["step"]) * s["exp_avg"] / (root + group["eps"])


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019): ``x *= 1 - lr * weight_decay``."""

    decoupled = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay)
