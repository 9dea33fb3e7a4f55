"""Find the operation behind the first loss or gradient that is not finite, by repeating what the step has called."""

import linecache
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import course_lib
from course_lib.extras import load
from course_lib.instrument.graph_walk import graph_nodes
from course_lib.instrument.restore_model import restore_training
from course_lib.monitoring import NonfiniteOrigin, first_nonfinite
from course_lib.rendering import ReadableResult, Section

if TYPE_CHECKING:
    import torch

__all__ = ["Call", "FirstNonfinite", "Where", "count_nodes", "loss_operations", "search_calls"]

OWN_CODE = str(Path(course_lib.__file__).parent)
LISTED = 8  # operations of a loss

Where: TypeAlias = Literal["loss", "gradients", "parameters"]


@dataclass(frozen=True, repr=False)
class FirstNonfinite(ReadableResult):
    """The first loss or gradient of a run that was not finite.

    Attributes
    ----------
    step : int
        Of the first optimizer, counted from 1.
    where : {"loss", "gradients", "parameters"}
        What was seen. ``"parameters"`` if these were no longer finite themselves when it was.
    value : float
        The loss, if it is the loss.
    origin : NonfiniteOrigin or None
        The operation that made it, where the step could be repeated on finite parameters.
    note : str
        What is known besides, or why there is no origin.
    """

    step: int
    where: Where
    value: float
    origin: NonfiniteOrigin | None
    note: str

    def sections(self) -> list[Section]:
        """Return what was seen, and the usual cure."""
        return [Section(paragraphs=(self.words, ("Try", self.remedy)))]

    @property
    def words(self) -> str:
        """What was seen, and what made it."""
        seen = f"the loss is {self.value} for the first time" if self.where == "loss" else "the loss is finite still"
        seen = f"at step {self.step} {seen}"
        if self.where == "gradients":
            seen += ", a gradient is not"
        if self.where == "parameters":
            seen = f"at step {self.step} parameters are not finite ({self.note})"
        said = " ".join(str(self.origin).split()).removesuffix(self.origin.remedy) if self.origin else ""
        found = f" {said.strip()}" if said else ""
        note = f" {self.note}" if self.note and self.where != "parameters" else ""
        return f"{seen}.{found}{note}"

    @property
    def remedy(self) -> str:
        """Advice: the usual cure."""
        if self.where == "parameters":
            return (
                "The step before made them so, by a gradient that was not finite or too large an update: look at its "
                "batch, lower the learning rate, or clip the gradients."
            )
        return (self.origin.remedy if self.origin else "") or (
            "Look for log(0), sqrt(0), 0/0, or exp of a large number there; first_nonfinite(step) names the operation."
        )


class Call(NamedTuple):
    """A call of a module, with what it depends on besides its arguments."""

    module: "torch.nn.Module"
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    random_state: "torch.Tensor | None"
    autocast: tuple[str, Any] | None  # the kind of device, and the dtype
    began_at: int  # in the order of nodes

    def repeat(self) -> object:
        """Call the module again, as it was called."""
        torch = load("torch", extra="torch")
        if self.random_state is not None:
            torch.set_rng_state(self.random_state)
        if self.autocast is None:
            return self.module(*self.args, **self.kwargs)
        with torch.autocast(self.autocast[0], dtype=self.autocast[1]):
            return self.module(*self.args, **self.kwargs)

    def detached(self) -> "Call":
        """Return the call with arguments that are leaves, so that a backward pass ends there."""
        torch, trees = load("torch", extra="torch"), load("torch.utils._pytree", extra="torch")

        def cut(x: object) -> object:
            if not isinstance(x, torch.Tensor) or not x.requires_grad:
                return x
            return x.detach().requires_grad_()

        args, kwargs = trees.tree_map(cut, (self.args, self.kwargs))
        return self._replace(args=args, kwargs=kwargs)


def search_calls(
    models: Sequence[Call], losses: Sequence[Call], optimizer: "torch.optim.Optimizer"
) -> NonfiniteOrigin | None:
    """Repeat the calls of a step one by one, and return the first operation whose result is not finite.

    In the order of the step: models forward, losses forward and backward, models backward, from upstream gradients of
    1 where the model returns no loss. Parameters, gradients, buffers and random numbers are afterwards what they were.
    """
    modules = list({id(call.module): call.module for call in (*models, *losses)}.values())
    tries = [call.repeat for call in models]
    tries += [_backward(call.detached()) for call in losses]
    tries += [_backward(call) for call in models]
    with restore_training(modules, optimizer):
        for step in tries:
            with _gradients_recorded():
                found = first_nonfinite(step)
            if found is not None:
                return _without_our_place(found)
    return None


@contextmanager
def _gradients_recorded() -> Iterator[None]:
    with load("torch", extra="torch").enable_grad():
        yield


def _backward(call: Call) -> Callable[[], object]:
    """Return a function that repeats a call with its backward pass."""

    def step() -> object:
        torch, trees = load("torch", extra="torch"), load("torch.utils._pytree", extra="torch")
        out = call.repeat()
        roots = [t for t in trees.tree_leaves(_plain(out)) if isinstance(t, torch.Tensor) and t.requires_grad]
        losses = [t for t in roots if t.numel() == 1]
        if roots:
            chosen = losses or [t for t in roots if t.is_floating_point()]
            torch.autograd.backward(chosen, [torch.ones_like(t) for t in chosen])
        return out

    return step


def _plain(out: object) -> object:
    """Return a model's output as containers that torch's trees know, such as a dict for a dataclass."""
    return dict(vars(out)) if not isinstance(out, (tuple, list, dict)) and hasattr(out, "__dataclass_fields__") else out


def _without_our_place(found: NonfiniteOrigin) -> NonfiniteOrigin:
    """Take away the line that repeated the step, as the place of what only torch's own modules call; clean the name."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OWN_CODE):
        frame = frame.f_back
    torch_folder = str(Path(str(load("torch", extra="torch").__file__)).parent)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((OWN_CODE, torch_folder)):
        frame = frame.f_back
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno, frame.f_globals).strip()
    place = replace(found.place, module=found.place.module.replace("_orig_mod.", ""))
    if place.line == line and place.file in ("", f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"):
        place = replace(place, line="", file="")
    return replace(found, place=place)


def count_nodes(call: Call, optimizer: "torch.optim.Optimizer") -> int:
    """Return how many nodes of the graph a call records."""
    number = load("torch", extra="torch")._C._autograd._get_sequence_nr
    with restore_training([call.module], optimizer), _gradients_recorded():
        began = number()
        call.repeat()
        recorded: int = number() - began
        return recorded


def loss_operations(loss: "torch.Tensor", after: int) -> str:
    """Name the operations that were recorded after a number in the order of nodes: how the loop computes its loss."""
    nodes = [node for node in graph_nodes(loss) if getattr(node, "_sequence_nr", lambda: -1)() >= after]
    nodes.sort(key=lambda node: node._sequence_nr())
    names = [
        node.name().removesuffix("0").removesuffix("Backward") for node in nodes if "Accumulate" not in node.name()
    ]
    return ", ".join(names[-LISTED:])
