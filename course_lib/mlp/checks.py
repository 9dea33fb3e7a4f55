"""Check the arguments of a pass by hand: shapes, dtypes, frameworks and names. Each message says what to do."""

from collections.abc import Iterable, Mapping, Sequence

from course_lib.errors import InputError
from course_lib.frameworks import is_torch_tensor
from course_lib.mlp.activations import ACTIVATIONS
from course_lib.mlp.array_functions import is_supported
from course_lib.mlp.losses import LOSSES
from course_lib.types import NumericArray

__all__ = ["check_chain", "check_network", "list_arrays", "torch_keeps"]

KEEPS = ("activation", "pre-activation", "both", "recompute")


def check_chain(x: NumericArray, weights: Sequence[NumericArray]) -> None:
    """Refuse shapes whose products do not exist; shapes are known while ``jax.jit`` traces, values are not."""
    names = ["x", *(f"w_{i}" for i in range(len(weights)))]
    _check_arrays(dict(zip(names, [x, *weights], strict=True)))
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


def _check_arrays(arrays: Mapping[str, NumericArray]) -> None:
    """Refuse what is no array, what is not real and floating point, and what one product cannot take together."""
    for name, array in arrays.items():
        if not is_supported(array):
            raise InputError(
                f"{name} must be an array of NumPy, torch or JAX, but it is a {type(array).__name__}. "
                f"Convert it, as in np.array({name})."
            )
        if "float" not in str(array.dtype):
            convert = f"{name}.float()" if is_torch_tensor(array) else f"np.asarray({name}, float)"
            raise InputError(
                f"{name} must be real and floating point, but it is {array.dtype}, in which a target or a gradient "
                f"would be cut off without a word. Convert it, as in {convert}."
            )
    kinds = {name: str(array.dtype) if is_torch_tensor(array) else "not of torch" for name, array in arrays.items()}
    if len(set(kinds.values())) > 1:
        found = ", ".join(f"{name} is {kind}" for name, kind in kinds.items())
        raise InputError(
            f"arrays must all be of torch and of one dtype, or none of torch, but {found}. Convert them, as in "
            "torch.as_tensor(x, dtype=w_0.dtype)."
        )


def list_arrays(name: str, arrays: Iterable[NumericArray]) -> list[NumericArray]:
    """Return the arrays of all layers in a list, or refuse one array alone, whose rows would count as layers."""
    if hasattr(arrays, "shape") or not isinstance(arrays, Iterable):
        came = f"one array of shape {tuple(arrays.shape)}" if hasattr(arrays, "shape") else f"{arrays!r:.60}"
        raise InputError(f"{name} must be a list with one array for each layer, but got {came}. Pass [{name}[0], ...].")
    return list(arrays)


def torch_keeps(act: str) -> str:
    """Return what torch keeps: the result where the slope can be read from it; the next product keeps that anyway."""
    return "activation" if ACTIVATIONS[act].slope_from_h else "both"


def check_network(
    x: NumericArray,
    weights: Sequence[NumericArray],
    biases: Sequence[NumericArray] | None,
    activation: str | Sequence[str],
    loss: str,
    keep: str | Sequence[str] | None,
) -> tuple[list[str], list[str]]:
    """Refuse what cannot be computed; return activation and keep for each hidden layer."""
    if not weights:
        raise InputError("a network must have at least one layer, but weights is empty. Pass a list of (d, f) arrays.")
    check_chain(x, list(weights))
    _check_arrays({"x": x, **{f"b_{i}": b for i, b in enumerate(biases or ())}})
    widths = [(w.shape[1],) for w in weights]
    if biases and (found := [tuple(b.shape) for b in biases]) != widths:
        raise InputError(
            f"each layer adds one bias to each of its columns, so the shapes must be {widths}, but they are {found}."
        )
    acts = _expand_choice("activation", activation, len(weights) - 1, tuple(ACTIVATIONS))
    keeps = [torch_keeps(a) for a in acts] if keep is None else _expand_choice("keep", keep, len(acts), KEEPS)
    if not isinstance(loss, str) or loss not in LOSSES:
        raise InputError(f"loss must be one of {', '.join(LOSSES)}, but it is {loss!r}.")
    if ("gelu", "activation") in zip(acts, keeps, strict=True):
        raise InputError(
            "the slope of gelu cannot be read from its output, because gelu falls before it rises: "
            "two inputs share one output. "
            'Pass keep="pre-activation", "both" or "recompute" for that layer.'
        )
    return acts, keeps


def _expand_choice(name: str, choice: str | Sequence[str], n: int, known: tuple[str, ...]) -> list[str]:
    """Turn one choice, or one for each of n layers, into a list of known names."""
    if not isinstance(choice, (str, Sequence)):
        raise InputError(f"{name} must be one of {', '.join(known)}, but it is {choice!r}.")
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
