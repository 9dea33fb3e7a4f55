"""What must hold before a pass by hand begins. Each message says what came and what to do."""

from collections.abc import Sequence
from typing import Any

from course_lib.errors import InputError
from course_lib.mlp.activations import ACTIVATIONS
from course_lib.mlp.losses import LOSSES

__all__ = ["check_chain", "checked", "kept_by_torch"]

KEEPS = ("activation", "pre-activation", "both", "recompute")


def check_chain(x: Any, weights: Sequence[Any]) -> None:
    """Refuse shapes whose products do not exist; shapes are known while ``jax.jit`` traces, values are not."""
    names = ["x", *(f"w_{i}" for i in range(len(weights)))]
    for name, array in zip(names, [x, *weights], strict=True):
        if not hasattr(array, "shape"):
            raise InputError(
                f"{name} must be an array of NumPy, torch or JAX, but it is a {type(array).__name__}. "
                f"Convert it, as in np.array({name})."
            )
    shapes = [tuple(x.shape), *(tuple(w.shape) for w in weights)]
    for name, shape in zip(names, shapes, strict=True):
        if len(shape) != 2:
            raise InputError(
                f"{name} must have 2 dimensions, but its shape is {shape}. "
                f"Flatten leading dimensions into rows first, as in x.reshape(-1, x.shape[-1])."
            )
    for i, w in enumerate(shapes[1:]):
        if shapes[i][1] != w[0]:
            raise InputError(
                f"{names[i]} must have as many columns as w_{i} has rows, because the product "
                f"sums over them, but the shapes are {shapes[i]} and {w}: {shapes[i][1]} and {w[0]}. "
                f"Is w_{i} transposed, as torch.nn.Linear stores it?"
            )


def kept_by_torch(act: str) -> str:
    """Name what torch keeps: the result where the slope can be read from it; the next product keeps that anyway."""
    return "activation" if ACTIVATIONS[act].slope_from_h else "both"


def checked(
    x: Any, weights: Sequence[Any], biases: Sequence[Any] | None, activation: Any, loss: str, keep: Any
) -> tuple[list[str], list[str]]:
    """Refuse what cannot be computed; return activation and keep for each hidden layer."""
    if not weights:
        raise InputError("a network must have at least one layer, but weights is empty. Pass a list of (d, f) arrays.")
    check_chain(x, list(weights))
    widths = [(w.shape[1],) for w in weights]
    if biases and (found := [tuple(b.shape) for b in biases]) != widths:
        raise InputError(
            f"each layer adds one bias to each of its columns, so the shapes must be {widths}, but they are {found}."
        )
    acts = for_each("activation", activation, len(weights) - 1, tuple(ACTIVATIONS))
    keeps = [kept_by_torch(a) for a in acts] if keep is None else for_each("keep", keep, len(acts), KEEPS)
    for_each("loss", loss, 1, tuple(LOSSES))
    if ("gelu", "activation") in zip(acts, keeps, strict=True):
        raise InputError(
            "the slope of gelu cannot be read from its output, because gelu falls before it rises: "
            "two inputs share one output. "
            'Pass keep="pre-activation", "both" or "recompute" for that layer.'
        )
    return acts, keeps


def for_each(name: str, choice: str | Sequence[str], n: int, known: tuple[str, ...]) -> list[str]:
    """Turn one choice, or one for each of n layers, into a list of known names."""
    choices = [choice] * n if isinstance(choice, str) else list(choice)
    if len(choices) != n:
        raise InputError(
            f"{name} must be one name or one for each hidden layer, {n} in all, "
            f"but there are {len(choices)}: {choices}. Leave the output layer out."
        )
    for one in [choice] if isinstance(choice, str) else choices:
        if one not in known:
            raise InputError(f"{name} must be one of {', '.join(known)}, but it is {one!r}.")
    return choices
