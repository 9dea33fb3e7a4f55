"""Callbacks that watch gradients where a trainer has the loop: Lightning's, and that of transformers."""

import sys
from typing import Any

from course_lib.extras import load
from course_lib.monitoring import GradientMonitor
from course_lib.monitoring.measuring_schedule import check_counts

__all__ = ["huggingface_callback", "lightning_callback"]


def lightning_callback(every: int = 1, **options: Any) -> Any:
    """Return a callback that watches the gradients of a training by Lightning, and logs them where it logs.

    It measures at each step of an optimizer, once gradients are accumulated and unscaled, before they are clipped.

    Parameters
    ----------
    every : int
        Measure the first of every so many steps.
    **options
        Those of ``GradientMonitor``. ``log_to`` takes the place of the trainer's own loggers.

    Returns
    -------
    lightning.pytorch.Callback
        For ``Trainer(callbacks=[...])``. Its ``monitor`` is a ``GradientMonitor``, or None before the training.

    Raises
    ------
    MissingExtraError
        Without Lightning. Where ``lightning.pytorch`` is loaded the callback is one of its, else of
        ``pytorch_lightning``.

    Examples
    --------
    >>> callback = lightning_callback(every=10)  # for Trainer(callbacks=[callback])
    >>> callback.monitor is None  # after fit(), callback.monitor.diagnose()
    True
    """
    check_counts(every=every)
    lightning = sys.modules.get("lightning.pytorch") or load("pytorch_lightning", extra="lightning")
    return type("GradientCallback", (_LightningHooks, lightning.Callback), {})({"every": every} | options)


def huggingface_callback(every: int = 1, **options: Any) -> Any:
    """Return a callback that watches the gradients of a training by the ``Trainer`` of transformers.

    It measures at each step of the optimizer, once gradients are accumulated. The trainer has clipped them then, to
    ``max_grad_norm``, which is 1 unless you say otherwise: with 0 it leaves them as they are, and the monitor can see
    that they explode.

    Parameters
    ----------
    every : int
        Measure the first of every so many steps.
    **options
        Those of ``GradientMonitor``, such as ``log_to=wandb``, for the run that ``report_to="wandb"`` begins.

    Returns
    -------
    transformers.TrainerCallback
        For ``Trainer(callbacks=[...])``. Its ``monitor`` is a ``GradientMonitor``, or None before the training.

    Raises
    ------
    MissingExtraError
        Without transformers.

    Examples
    --------
    >>> callback = huggingface_callback(every=10)  # for Trainer(..., callbacks=[callback])
    >>> callback.monitor is None  # after train(), callback.monitor.diagnose()
    True
    """
    check_counts(every=every)
    transformers = load("transformers", extra="transformers")
    return type("GradientCallback", (_TrainerHooks, transformers.TrainerCallback), {})({"every": every} | options)


class _Hooks:
    """Holds the monitor of a training."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.monitor: GradientMonitor | None = None
        self._options = options

    def _measure(self) -> None:
        if self.monitor is not None:
            self.monitor.step()

    def _close(self) -> None:
        if self.monitor is not None:
            self.monitor.close()


class _LightningHooks(_Hooks):
    """Callback for Lightning's trainer."""

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Watch the module; a training that is resumed goes on counting."""

        def log(scalars: dict[str, float], step: int) -> None:
            for logger in trainer.loggers:
                logger.log_metrics(scalars, step=step)

        options = {"log_to": log} | self._options
        if not (trainer.is_global_zero and ("log_to" in self._options or trainer.loggers)):
            options["log_to"] = None
        self.monitor = GradientMonitor(pl_module, start=trainer.global_step, **options)

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        """Measure: gradients are accumulated and unscaled, and not yet clipped."""
        self._measure()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Let go of the module."""
        self._close()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Let go of the module."""
        self._close()


class _TrainerHooks(_Hooks):
    """Callback for the trainer of transformers."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        """Watch the model; a training that is resumed goes on counting."""
        options = self._options if state.is_world_process_zero else self._options | {"log_to": None}
        self.monitor = GradientMonitor(objects["model"], start=state.global_step, **options)

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        """Measure: gradients are accumulated, unscaled and clipped."""
        self._measure()

    def on_train_end(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        """Let go of the model."""
        self._close()
