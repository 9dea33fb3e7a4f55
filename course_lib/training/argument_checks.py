"""Check the arguments of a training loop before an epoch is spent on them."""

from collections.abc import Iterable, Mapping
from functools import partial
from numbers import Integral
from operator import length_hint

from course_lib.errors import InputError
from course_lib.training.framework import Framework
from course_lib.types import AnyModule

__all__ = [
    "check_count",
    "check_hook",
    "check_library",
    "check_loader",
    "check_metrics",
    "check_scheduler",
    "check_trainable",
    "optimizer_parameter_ids",
]


def check_count(name: str, value: object, *, least: int = 1) -> None:
    """Refuse a count that is not a whole number, or is too small."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        wanted = "a positive integer" if least else "an integer of 0 or more"
        raise InputError(f"{name} must be {wanted}, but got {value!r}")


def check_loader(loader: object) -> None:
    """Refuse a loader that yields no batches."""
    if not isinstance(loader, Iterable) and not hasattr(loader, "__getitem__"):
        raise InputError(
            f"the loader must yield batches when a loop goes over it, but got {loader!r:.60}; pass a DataLoader, an "
            "ArrayLoader, or a list of pairs (inputs, targets)"
        )


def check_hook(before_step: object) -> None:
    """Refuse a ``before_step`` that is no function, such as a threshold."""
    if before_step is not None and not callable(before_step):
        raise InputError(
            f"before_step must be a function of the model, but got {before_step!r}; to clip, pass "
            "partial(clip_by_global_norm, max_norm=1.0)"
        )


def check_library(framework: Framework, criterion: object) -> None:
    """Refuse a criterion that is not from the model's library."""
    function = criterion.func if isinstance(criterion, partial) else criterion
    name = getattr(function, "__name__", type(function).__name__)
    homes = [f"{getattr(one, '__module__', '')}." for one in (function, *type(function).__mro__)]
    for other in {"torch", "course_lib.autograd"} - {framework.name}:
        if any(home.startswith(f"{other}.") for home in homes):
            raise InputError(
                f"model and criterion must be from one library, but the model is from {framework.name} and {name} from "
                f"{other}; import both from {framework.name}"
            )


def check_metrics(metrics: object) -> None:
    """Refuse metrics that have no names, or the name that the loss has."""
    if not isinstance(metrics, Mapping) or not all(map(callable, metrics.values())):
        raise InputError(
            f'metrics must be a dict from names to functions, but got {metrics!r:.60}; pass {{"accuracy": accuracy}}'
        )
    for name in metrics:
        if not isinstance(name, str) or name == "loss":
            raise InputError(
                f"the name of a metric must be a string other than 'loss', which the criterion has, but got {name!r}; "
                "choose another, such as 'accuracy'"
            )


def check_scheduler(scheduler: object, optimizer: object, epochs: int, loader: object, accumulate: int) -> None:
    """Refuse a scheduler that cannot step, belongs to another optimizer, or is planned in steps, not epochs."""
    if scheduler is None:
        return
    if isinstance(scheduler, type) or scheduler is optimizer or not callable(getattr(scheduler, "step", None)):
        raise InputError(
            f"the scheduler must have a step() that changes the rate, but got {scheduler!r:.60}; use one of "
            "torch.optim.lr_scheduler, made from the optimizer"
        )
    theirs, ours = (optimizer_parameter_ids(one) for one in (getattr(scheduler, "optimizer", None), optimizer))
    if theirs and ours and not theirs & ours:  # a wrapper shares them
        raise InputError(
            f"the scheduler must change the rate of this optimizer, but this {type(scheduler).__name__} was made from "
            "another; make it anew from the one that is passed"
        )
    planned = getattr(scheduler, "total_steps", getattr(scheduler, "T_max", None))
    if planned and planned == epochs * -(-length_hint(loader) // accumulate) > epochs:
        raise InputError(
            f"the scheduler must be planned in epochs, after each of which it moves on, but this "
            f"{type(scheduler).__name__} is planned for {planned} steps, as many as {epochs} epochs have; plan "
            f"it for {epochs}, or leave it out and let the optimizer move it: "
            "optimizer.register_step_post_hook(lambda *_: scheduler.step())"
        )


def optimizer_parameter_ids(optimizer: object) -> set[int]:
    """Return the ids of an optimizer's parameters."""
    return {id(p) for group in getattr(optimizer, "param_groups", []) for p in group["params"]}


def check_trainable(model: AnyModule, optimizer: object) -> None:
    """Check that the optimizer trains some parameter of the model."""
    parameters = list(model.parameters())
    trainable = {id(p) for p in parameters if p.requires_grad}
    if not trainable:
        came = f"all of its {len(parameters)} are frozen" if parameters else "it has none at all"
        raise InputError(
            f"{type(model).__name__} must have parameters that require grad, but {came}; call requires_grad_(True) on "
            "what is to be trained, or use validate()"
        )
    if not hasattr(optimizer, "param_groups"):
        raise InputError(
            f"the optimizer must have been made from model.parameters(), but got a {type(optimizer).__name__}; "
            "for optax, use make_jax_step"
        )
    if "LBFGS" in type(optimizer).__name__:
        raise InputError(
            "the optimizer must step on gradients already computed, but LBFGS asks for the loss several times a step; "
            "use another, or write a loop around optimizer.step(closure)"
        )
    if not optimizer_parameter_ids(optimizer) & trainable:
        raise InputError(
            f"the optimizer must hold parameters of this {type(model).__name__} that require grad, but it holds none; "
            "make it from this model's parameters(), after the model was made or copied"
        )
