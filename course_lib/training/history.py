"""History of a training run: losses, metrics, learning rates and seconds by epoch, drawn or in a table."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.rendering import ReadableResult, Section

if TYPE_CHECKING:
    import pandas as pd

    from course_lib.figures import Drawing

__all__ = ["TrainingHistory"]


SHOWN = 12  # epochs


@dataclass(frozen=True, repr=False)
class TrainingHistory(ReadableResult):
    """History of a training run, one entry for each epoch; prints as a table.

    Attributes
    ----------
    train_loss : tuple of float
        The mean over the samples, each at the parameters of its own step.
    val_loss : tuple of float
        Over the validation set after the epoch; empty without one.
    train_metrics, val_metrics : dict of str to tuple of float
        The same for each metric.
    learning_rate : tuple of float
        That of the optimizer's first group, during the epoch.
    seconds : tuple of float
        Wall time of the epoch, validation included.
    skipped_steps : tuple of int
        Steps of the optimizer that the epoch left out: by ``before_step``, or by a scaler whose gradients overflowed.

    Examples
    --------
    >>> history = TrainingHistory(train_loss=(2.0, 1.0, 0.5), val_loss=(2.1, 1.2, 1.3))
    >>> history
    epoch  train_loss  val_loss
    0               2       2.1
    1               1       1.2
    2             0.5       1.3
    The lowest val_loss is that of epoch 1.
    >>> history.plot()
    Loss over 3 epochs. training: from 2 to 0.5, between 0.5 and 2. validation: from 2.1 to 1.3, between 1.2 and 2.1.
    """

    train_loss: tuple[float, ...] = ()
    val_loss: tuple[float, ...] = ()
    train_metrics: dict[str, tuple[float, ...]] = field(default_factory=dict)
    val_metrics: dict[str, tuple[float, ...]] = field(default_factory=dict)
    learning_rate: tuple[float, ...] = ()
    seconds: tuple[float, ...] = field(default=(), compare=False)
    skipped_steps: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.train_loss)

    @property
    def best_epoch(self) -> int:
        """The first epoch, from 0, with the lowest validation loss, or training loss if there is none."""
        losses = self.val_loss or self.train_loss
        if not losses:
            raise InputError("the history must have an epoch to name the best one, but it is empty; train first")
        return min(range(len(losses)), key=lambda epoch: (math.isnan(losses[epoch]), losses[epoch]))

    def plot(self, metric: str = "loss", *, y_scale: Literal["linear", "log"] = "linear") -> "Drawing":
        """Draw a quantity over the epochs, for training and validation.

        Parameters
        ----------
        metric : str
            ``"loss"``, or the name of a metric.
        y_scale : {"linear", "log"}
            How the values are spaced.

        Returns
        -------
        course_lib.figures.Drawing
            An inline SVG in a notebook, a sentence anywhere else.

        Raises
        ------
        InputError
            If there is no such metric.
        MissingExtraError
            Without matplotlib.
        """
        known = {"loss": (self.train_loss, self.val_loss)}
        known |= {name: (values, self.val_metrics.get(name, ())) for name, values in self.train_metrics.items()}
        if metric not in known:
            raise InputError(f"the history must have {metric!r}, but it has {', '.join(known)}; name one of these")
        series = {
            name: values for name, values in zip(("training", "validation"), known[metric], strict=True) if values
        }
        lines = load("course_lib.figures", extra="plots").lines
        title = f"{metric.capitalize()} over {len(self)} epochs"
        drawing: Drawing = lines(series, x_label="epoch", y_label=metric, y_scale=y_scale, title=title)
        return drawing

    def to_frame(self) -> "pd.DataFrame":
        """Return a pandas DataFrame with one row for each epoch.

        Examples
        --------
        >>> TrainingHistory(train_loss=(2.0, 1.0), val_loss=(2.5, 1.5)).to_frame()
               train_loss  val_loss
        epoch
        0             2.0       2.5
        1             1.0       1.5
        """
        frame = load("pandas", extra="torch").DataFrame({name: list(v) for name, v in self._columns().items()})
        return frame.rename_axis("epoch")

    def sections(self) -> list[Section]:
        """Return a table of the epochs, of a long run the first and the last ones, and which was best.

        The times of :meth:`to_frame` are left out, so that two runs that are the same print the same.
        """
        if not len(self):
            return [Section(paragraphs=("There is no epoch yet.",))]
        columns = {name: values for name, values in self._columns().items() if name != "seconds"}
        rows = [(str(epoch), *(f"{values[epoch]:.4g}" for values in columns.values())) for epoch in range(len(self))]
        if len(rows) > SHOWN:
            rows[SHOWN // 2 : -SHOWN // 2] = [("...", *("" for _ in columns))]
        of, losses = ("val_loss", self.val_loss) if self.val_loss else ("train_loss", self.train_loss)
        known = not math.isnan(losses[self.best_epoch])
        notes = (f"The lowest {of} is that of epoch {self.best_epoch}.",) if known else ()
        return [Section(rows=(("epoch", *columns), *rows), caption="Training history", notes=notes)]

    def _columns(self) -> dict[str, tuple[float, ...]]:
        """Return what there is for each epoch, by the names of the frame."""
        columns = {"train_loss": self.train_loss, "val_loss": self.val_loss}
        columns |= {f"train_{name}": values for name, values in self.train_metrics.items()}
        columns |= {f"val_{name}": values for name, values in self.val_metrics.items()}
        columns |= {"learning_rate": self.learning_rate, "seconds": self.seconds}
        columns |= {"skipped_steps": self.skipped_steps if any(self.skipped_steps) else ()}
        return {name: values for name, values in columns.items() if values}
