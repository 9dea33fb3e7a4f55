"""Cost of one operation, and of a chain of them in training: with or without frozen layers and checkpointing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from course_lib.errors import InputError

__all__ = ["Cost", "TrainingCost", "freeze", "ratio_from_first_layer", "training_cost"]


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Cost of one operation: FLOPs of its passes, and bytes it saves for the backward pass.

    FLOPs are those of matrix products and convolutions, a multiplication and an addition for each term. Element-wise
    work, normalization included, is left out, as torch's ``FlopCounterMode`` leaves it out: it is limited by memory
    traffic.

    Attributes
    ----------
    name : str
    forward : int
        FLOPs of the forward pass.
    input_backward, weight_backward : int
        FLOPs for the cotangent of the input, and for the gradients of the parameters.
    parameters : int
        How many numbers it learns; 0 for an operation without parameters.
    trainable : bool
        Whether they are learned. See :func:`freeze`.
    input_bytes, output_bytes, other_bytes : int
        What is saved for the backward pass: of the input, of the result, and anything else. An operation and the next
        one save the same tensor if the first saves its result and the second its input: a chain counts it once.
    for_weights : bool
        The saved input serves only the gradients of the parameters, as in a linear layer: it is not saved when frozen.
    """

    name: str
    forward: int = 0
    input_backward: int = 0
    weight_backward: int = 0
    parameters: int = 0
    trainable: bool = True
    input_bytes: int = 0
    output_bytes: int = 0
    other_bytes: int = 0
    for_weights: bool = False

    @property
    def saved_bytes(self) -> int:
        """Bytes saved when all gradients are wanted."""
        return self.input_bytes + self.output_bytes + self.other_bytes

    @property
    def learns(self) -> bool:
        """Whether gradients of its parameters are wanted."""
        return self.trainable and self.parameters > 0


@dataclass(frozen=True)
class TrainingCost:
    """Cost of a forward and a backward pass through a chain of operations.

    Attributes
    ----------
    forward, backward : int
        FLOPs; what the backward pass recomputes is in ``backward``.
    recompute : int
        The part of ``backward`` that repeats the forward pass.
    saved_bytes : int
        What autograd holds when the forward pass is over, parameters left out.
    """

    forward: int
    backward: int
    recompute: int
    saved_bytes: int

    @property
    def ratio(self) -> float:
        """FLOPs of the backward pass over FLOPs of the forward pass."""
        return self.backward / self.forward


def freeze(*layers: Cost) -> tuple[Cost, ...]:
    """Freeze layers: return the same costs, without gradients of the weights.

    Examples
    --------
    >>> from course_lib.costs import linear
    >>> body, head = freeze(linear(8, 256, 256)), linear(8, 256, 10)
    >>> training_cost([*body, head]).ratio  # the head's own share
    0.03759...
    """
    return tuple(replace(layer, trainable=False) for layer in layers)


def training_cost(layers: Sequence[Cost], *, input_grad: bool = False, recomputed: Sequence[Cost] = ()) -> TrainingCost:
    """Add up a forward and a backward pass through a chain of operations.

    The backward pass goes no further down than something that wants a gradient: below the first trained layer, and
    for the input of that layer, nothing is computed and nothing is saved, unless the input of the chain wants a
    gradient itself.

    Parameters
    ----------
    layers : sequence of Cost
        In the order of the forward pass.
    input_grad : bool
        Whether the input of the chain requires grad.
    recomputed : sequence of Cost
        Those of the layers whose forward pass is repeated in the backward pass, because they were checkpointed.

    Returns
    -------
    TrainingCost

    Raises
    ------
    InputError
        If there is nothing to count.

    Examples
    --------
    >>> from course_lib.costs import linear
    >>> training_cost([linear(8, 256, 256), linear(8, 256, 10)]).ratio
    1.0375...
    """
    if not sum(layer.forward for layer in layers):
        raise InputError("a ratio needs a forward pass with FLOPs, but no layer has any. Pass linear(), conv2d(), ...")
    backward, saved, edge, wanted = 0, 0, 0, input_grad
    for layer in layers:
        saves_input = layer.learns or (wanted and not layer.for_weights)
        saved += max(edge, layer.input_bytes * saves_input)
        backward += layer.input_backward * wanted + layer.weight_backward * layer.learns
        wanted = wanted or layer.learns
        edge = layer.output_bytes * wanted
        saved += layer.other_bytes * wanted
    recompute = sum(layer.forward for layer in recomputed)
    return TrainingCost(sum(layer.forward for layer in layers), backward + recompute, recompute, saved + edge)


def ratio_from_first_layer(layers: Sequence[Cost]) -> float:
    r"""Predict backward / forward from the first layer's share of the forward FLOPs.

    A product :math:`Y = X W` of the forward pass becomes two of the same size, :math:`G W^T` and :math:`X^T G`, save
    in the first layer, whose input wants no gradient:

    .. math:: \frac{\text{backward}}{\text{forward}} = 2 - \frac{\text{first layer}}{\text{forward}}

    It holds where every layer is trained, each costs twice its forward pass, and nothing is recomputed.

    Examples
    --------
    >>> from course_lib.costs import linear
    >>> ratio_from_first_layer([linear(8, 256, 256), linear(8, 256, 256)])
    1.5
    """
    costly = [layer.forward for layer in layers if layer.forward]
    return 2 - costly[0] / sum(costly)
