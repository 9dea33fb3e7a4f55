"""Statistics of the gradients of a model, as a table."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from course_lib.extras import load
from course_lib.monitoring.reading.gradient_reader import make_reader
from course_lib.monitoring.reading.trainable_parameters import parameters_with_gradient, shape_tuple
from course_lib.norms import Magnitude, combine_norms
from course_lib.rendering import ReadableResult, Section, format_table
from course_lib.types import AnyModule

if TYPE_CHECKING:
    import pandas

__all__ = ["GradientStats", "ParameterStats", "log_gradient_stats"]


@dataclass(frozen=True)
class ParameterStats:
    """The gradient of one parameter in numbers; NaN where there is none.

    Attributes
    ----------
    shape : tuple of int
    norm, mean, std, max : float
        Euclidean norm, mean, standard deviation (with n - 1; 0 for one element) and largest absolute value. A complex
        element counts as two real ones, so the largest is that of the real and imaginary parts.
    nonfinite : bool
        Whether an element is infinite or NaN.
    """

    shape: tuple[int, ...]
    norm: float
    mean: float
    std: float
    max: float
    nonfinite: bool


@dataclass(frozen=True, repr=False)
class GradientStats(ReadableResult, Mapping[str, ParameterStats]):
    """The statistics of each parameter by its name; prints as a table.

    Attributes
    ----------
    total_norm : float
        The Euclidean norm of all gradients together.
    """

    parameters: dict[str, ParameterStats]
    total_norm: float

    def __getitem__(self, name: str) -> ParameterStats:
        return self.parameters[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.parameters)

    def __len__(self) -> int:
        return len(self.parameters)

    def frame(self) -> "pandas.DataFrame":
        """Return the table as a pandas DataFrame, one row for each parameter."""
        pandas = load("pandas", extra="torch")
        return pandas.DataFrame([vars(row) for row in self.values()], index=pandas.Index(list(self), name="parameter"))

    def sections(self) -> list[Section]:
        """Return a table with a row for each parameter, and one for all together."""
        rows: list[tuple[str, ...]] = [("parameter", "shape", "norm", "mean", "std", "max")]
        for name, row in self.items():
            numbers = [f"{value + 0:.2g}" for value in (row.norm, row.mean, row.std, row.max)]
            if math.isnan(row.norm) and not row.nonfinite:  # no gradient at all
                numbers = ["none", "", "", ""]
            rows.append((name, "x".join(map(str, row.shape)) or "scalar", *numbers))
        rows.append(("all together", "", f"{self.total_norm:.2g}", "", "", ""))
        return [Section(rows=tuple(rows), caption="Gradient of each parameter")]

    def __repr__(self) -> str:
        return format_table(self.sections()[0].rows, gap=1)  # a phone shows 46 characters


def log_gradient_stats(model: AnyModule) -> GradientStats:
    """Measure the gradient of every trainable parameter.

    Parameters
    ----------
    model : torch.nn.Module or course_lib.autograd.nn.Module
        After ``backward()``. Nothing in it is changed. Of one that FSDP2 splits (DTensors), the statistics are those of
        the whole, and all processes must ask for them.

    Returns
    -------
    GradientStats
        A mapping from names to statistics, in float64 whatever the gradients are in, that prints as a table.

    Raises
    ------
    MonitorError
        If no parameter has a gradient.
    InputError
        If this is not a model with trainable parameters.

    Examples
    --------
    >>> from course_lib.autograd import nn, tensor
    >>> model = nn.Linear(2, 1)
    >>> model(tensor([[3.0, 4.0]])).sum().backward()
    >>> log_gradient_stats(model)
    parameter    shape norm mean  std max
    weight         1x2    5  3.5 0.71   4
    bias             1    1    1    0   1
    all together        5.1
    """
    found = parameters_with_gradient(model)
    m = make_reader(list(found.values())).measure().measures
    rows = zip(m.norm.tolist(), m.mean.tolist(), m.std.tolist(), m.largest.tolist(), m.nonfinite.tolist(), strict=True)
    table = {name: ParameterStats(shape_tuple(p), *row) for (name, p), row in zip(found.items(), rows, strict=True)}
    norms = [row.norm for name, row in table.items() if found[name].grad is not None]
    return GradientStats(table, combine_norms(Magnitude(norm, 1.0) for norm in norms).value)
