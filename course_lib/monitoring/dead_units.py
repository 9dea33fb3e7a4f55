"""Count dead units: those that a ReLU keeps at 0 for every row of a batch."""

from typing import TYPE_CHECKING, Any, Self

from course_lib.errors import InputError, MonitorError
from course_lib.extras import load

if TYPE_CHECKING:
    import torch

__all__ = ["DeadUnits"]


class DeadUnits:
    """Watch the ReLUs of a model while it runs, and report the share of each one's units that was 0 for every row.

    Such a unit passes nothing on and no gradient back: for those rows it is dead. Give it many rows, since a unit that
    is 0 for a few may well be open for others; all that runs inside the block counts as one batch.

    Parameters
    ----------
    model : torch.nn.Module
        Its modules of the kinds ``nn.ReLU`` and ``nn.ReLU6`` are watched; ``F.relu`` is a function, and is not seen.
    unit_dim : int
        The dimension of the outputs along which the units lie: -1 after linear layers, 1 after convolutions.

    Attributes
    ----------
    shares : dict of str to float
        From 0 to 1, by the modules' names, in the order of their first call.

    Raises
    ------
    InputError
        If ``model`` is not a module, ``unit_dim`` is not a whole number or no dimension of the outputs, or one ReLU
        serves layers of several widths.
    MonitorError
        By ``shares``, if no ReLU has run inside the block, or all of them without a row.

    Notes
    -----
    The hooks are gone after the block, even after an error. Nothing is run but what you run, and the modes are
    yours: in ``train()`` batch normalization takes its statistics from the rows as always. Use a ReLU of its own for
    each layer; one that is used twice counts a unit as dead if it was 0 in both uses.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
    >>> _ = torch.nn.init.constant_(model[0].weight, 1.0)
    >>> model[0].bias = torch.nn.Parameter(torch.tensor([0.0, 1.0, -9.0, -9.0]))
    >>> with torch.no_grad(), DeadUnits(model) as dead:
    ...     _ = model(torch.rand(100, 3))
    >>> dead.shares
    {'1': 0.5}
    """

    def __init__(self, model: "torch.nn.Module", *, unit_dim: int = -1) -> None:
        self.torch = load("torch", extra="torch")
        if not isinstance(model, self.torch.nn.Module):
            raise InputError(
                f"the model must be a torch.nn.Module, but got a {type(model).__name__}. Pass the model itself."
            )
        if isinstance(unit_dim, bool) or not hasattr(unit_dim, "__index__"):
            raise InputError(
                f"unit_dim must be a whole number, but got {unit_dim!r}. Pass -1 for linear layers, 1 for convolutions."
            )
        self.model, self.unit_dim = model, unit_dim
        self.alive: dict[str, Any] = {}
        self.handles: list[Any] = []

    def __enter__(self) -> Self:
        kinds = (self.torch.nn.ReLU, self.torch.nn.ReLU6)
        self.alive = {}
        for name, module in self.model.named_modules():
            if isinstance(module, kinds):
                label = name or type(module).__name__
                self.handles.append(
                    module.register_forward_hook(lambda _, __, out, label=label: self._note_open_units(label, out))
                )
        return self

    def __exit__(self, *_: object) -> None:
        while self.handles:
            self.handles.pop().remove()

    def _note_open_units(self, name: str, out: "torch.Tensor") -> None:
        """Note which units were open for some row of an output."""
        if not -out.ndim <= self.unit_dim < out.ndim:
            raise InputError(
                f"unit_dim must be a dimension of the outputs, but got {self.unit_dim} for those of {name!r}, of shape "
                f"{tuple(out.shape)}. Pass -1 for linear layers, 1 for convolutions."
            )
        with self.torch.no_grad():
            rows = out.detach().movedim(self.unit_dim, 0).unsqueeze(-1).flatten(1)
            if not rows.shape[1]:  # of no rows, all would count as dead
                return
            is_open = (rows != 0).any(1)
        before = self.alive.get(name)
        if before is not None and before.shape != is_open.shape:
            raise InputError(
                f"each ReLU must serve layers of one width, but {name!r} got {len(before)} units, and then "
                f"{len(is_open)}. Give each layer a ReLU of its own."
            )
        self.alive[name] = is_open if before is None else before | is_open

    @property
    def shares(self) -> dict[str, float]:
        """The share of dead units of each ReLU that has run."""
        if not self.alive:
            raise MonitorError(
                "there must be an nn.ReLU or nn.ReLU6 that runs inside the block, but none did. Call the model there, "
                "with one row or more, and replace calls to F.relu by modules: a function cannot be watched. Nor can "
                "what torch.compile has compiled before: watch and run the model that it was made from."
            )
        found = self.torch.stack([(~is_open).double().mean() for is_open in self.alive.values()])
        return dict(zip(self.alive, found.tolist(), strict=True))
