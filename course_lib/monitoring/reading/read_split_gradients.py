"""Read the gradients of a torch model that is split over processes (DTensors), as those of the whole."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from course_lib.extras import load
from course_lib.monitoring.reading.batched_kernels import VECTOR
from course_lib.monitoring.reading.gradient_measures import Float64, GradientMeasures, Reading
from course_lib.monitoring.reading.read_torch_gradients import Part, TorchReader, join_parts
from course_lib.norms import total_norms
from course_lib.split_tensors import gather_parts, local_part, placed_gradient, split_over

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["SplitReader"]


class SplitReader(TorchReader):
    """Reads gradients of which this process holds parts, and puts the numbers of all processes together.

    Every process measures its own part, as a :class:`TorchReader` does; then all of them exchange ten numbers for each
    parameter, in one exchange for each way of splitting. So all must measure at the same steps. Which elements of short
    vectors have a gradient is exchanged where it is noted.

    Parameters
    ----------
    parameters : sequence of torch.Tensor
        DTensors, and others, which are taken to be whole.
    """

    def __init__(self, parameters: "Sequence[Tensor]") -> None:
        parts = [local_part(p.detach()).detach() for p in parameters]
        super().__init__(parts)
        self._parts, self._parameters = parts, list(parameters)  # the base class asks these whether they have moved
        self._sizes = np.array([p.numel() * (2 if p.is_complex() else 1) for p in parts])
        self._split, self._seen = defaultdict[Any, list[int]](list), dict[int, NDArray[np.int_]]()
        for i, p in enumerate(parameters):
            if groups := split_over(p):
                self._split[groups].append(i)

    def keep_weights(self) -> None:
        """Copy the parameters, so that the next :meth:`measure` can tell how far they moved."""
        self._refresh()
        super().keep_weights()

    def measure(self, step: int = 0, *, weights: bool = False, extra: "Tensor | None" = None) -> Reading:
        """Measure every gradient; see :class:`GradientReader`."""
        self._refresh()
        parts = self.measure_parts(step, weights=weights, extra=extra)
        here, changes = join_parts(parts), _join_changes(parts)
        if step:
            self._seen = self._gather_seen()
        columns = np.stack([*vars(here).values(), *changes, self._sizes])
        for groups, places in self._split.items():
            numbers = self._torch.from_numpy(columns[:, places]).to(self._parts[places[0]].device)
            for i, of_all in zip(places, gather_parts(numbers, groups).cpu().numpy().T, strict=True):
                columns[: len(vars(here)), i] = _put_together(of_all)
        measures = GradientMeasures(*columns[: len(vars(here))])
        measures = GradientMeasures(**(vars(measures) | {"nonfinite": measures.nonfinite > 0}))
        return Reading(lambda: measures, bool(measures.nonfinite.any()), parts[0].extra)

    def last_seen(self) -> dict[int, NDArray[np.int_]]:
        """Return for each vector the last step at which each element had a gradient, or 0, without an exchange."""
        return self._seen

    def _refresh(self) -> None:
        """Look anew at what this process holds: an optimizer may have replaced it, and each gradient is a new one."""
        with self._torch.no_grad():
            for part, p in zip(self._parts, self._parameters, strict=True):
                part.data = local_part(p)
                part.grad = None if p.grad is None else local_part(placed_gradient(p))

    def _gather_seen(self) -> dict[int, NDArray[np.int_]]:
        """Put together which elements of short vectors had a gradient, those of one length in one exchange."""
        alike, seen = defaultdict[Any, list[int]](list), super().last_seen()
        for i in seen:
            p: Any = self._parameters[i]
            if not split_over(p):
                alike[None, p.numel()].append(i)
            elif p.numel() <= VECTOR:
                alike[(p.device_mesh, p.placements), p.numel()].append(i)
        found: dict[int, NDArray[np.int_]] = {}
        for (split, size), places in alike.items():
            columns: Any = self._torch.from_numpy(np.stack([seen[i] for i in places], 1))
            if split is not None:
                shape = {"shape": (size, len(places)), "stride": (len(places), 1)}
                split_tensor = load("torch.distributed.tensor", extra="torch").DTensor.from_local
                columns = split_tensor(columns.to(self._parts[places[0]].device), *split, **shape).full_tensor().cpu()
            found |= dict(zip(places, columns.numpy().T, strict=True))
        return found


def _join_changes(parts: Sequence[Part]) -> Float64:
    """Return the norms of each parameter's change, of what it was and of what it is, in the parameters' order."""
    order = np.argsort([i for part in parts for i in part.where])
    columns = [part.numbers[-3:] if len(part.numbers) > 5 else np.full((3, len(part.where)), np.nan) for part in parts]
    changes: Float64 = np.concatenate(columns, axis=1).astype(np.float64)[:, order]
    return changes


@np.errstate(all="ignore")
def _put_together(of_all: Float64) -> list[float]:
    """Return the measures of one parameter from those of its parts, its changes and its sizes: a column for each."""
    norm, mean, std, largest, nonfinite, _, _, moved, before, now, sizes = of_all
    count, broken = sizes.sum(), nonfinite.any()
    moved, before, now = total_norms(np.stack([moved, before, now]))
    middle = (mean * sizes).sum() / count if count else 0.0
    # The squares about the common mean are those about each part's own, and the means' own about it.
    spread = total_norms(np.concatenate([std * np.sqrt(np.maximum(sizes - 1, 0)), np.sqrt(sizes) * (mean - middle)]))
    return [
        largest.max() if broken else float(total_norms(norm)),
        math.nan if broken else middle,
        math.nan if broken else float(spread / math.sqrt(max(count - 1, 1))),
        largest.max(),
        broken,
        moved / before if before > 0 and math.isfinite(moved) else math.nan,
        now,
    ]
