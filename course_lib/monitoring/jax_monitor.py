"""Monitor the gradients of a JAX training loop, from inside its jitted step."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.frameworks import is_jax_tracer
from course_lib.monitoring.gradient_history import GradientHistory, StepRecord
from course_lib.monitoring.gradient_record import GradientRecord
from course_lib.monitoring.log_writers import LogTarget
from course_lib.monitoring.measuring_schedule import MeasuringSchedule, check_counts
from course_lib.monitoring.reading.read_jax_gradients import JaxReader, WatchState

if TYPE_CHECKING:
    from optax import GradientTransformation, GradientTransformationExtraArgs

__all__ = ["JaxGradientMonitor", "WatchedState"]


class WatchedState(NamedTuple):
    """The state of a watched optimizer: what was measured, and the optimizer's own."""

    watch: WatchState
    optimizer: Any


class JaxGradientMonitor(GradientRecord):
    r"""Measures every gradient of a JAX training loop, keeps the numbers, draws and diagnoses them.

    A jitted step does not let its gradients out, but an optimizer's state goes through it. So :meth:`watch` returns the
    same optimizer with a few numbers more in its state, eight for each array, computed inside the step; :meth:`step`
    copies them, and waits for nothing. The step, its gradients and its results stay as they are. A loop that has its
    gradients at hand gives them to :meth:`step` itself.

    What can be asked is what a :class:`GradientMonitor` tells, with these differences: ``update_ratio`` is that of the
    step itself, :math:`\|u\| / \|w\|`, at every step; and a parameter that the loss does not use has a gradient of 0 in
    JAX, so that it counts as dead and not as unreached.

    **Cost.** Gradients, parameters and updates are read two or three times each. That shows where a step does little
    with each parameter: one of 2.6 million parameters, 64 examples and Adam on two cores takes 1.9 times as long, 1.4
    times with ``every=10``, since XLA would not write the updates to memory but for the monitor, and 1.1 times with
    ``updates=False`` besides.

    Parameters
    ----------
    params : pytree
        What the gradients are taken with respect to: a dict, what ``model.init`` of flax returns under ``"params"``, an
        ``nnx.State``, a model of equinox. Names are the keys with dots between them. :meth:`diagnose` takes their order
        for that of the forward pass: that in which dicts were filled, or, once JAX has sorted these, the sorted one.
    every : int
        Measure the first of every so many steps.
    keep : int
        How many measured steps the history holds.
    updates : bool
        Whether to measure what the optimizer adds, for ``update_ratio``.
    histogram_every : int or None
        Count the elements of each gradient by their size at one in so many measured steps; None for none. It takes as
        long as five readings; the counts, 1 kB a parameter, go through the optimizer's state. See :meth:`histogram` and
        :meth:`histogram_map`.
    log_to : optional
        Where the numbers are written, as for :class:`GradientMonitor`. Then each measured step is waited for.

    Examples
    --------
    >>> import jax
    >>> import jax.numpy as jnp
    >>> import optax
    >>> from course_lib.training import make_jax_step
    >>> params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
    >>> monitor = JaxGradientMonitor(params)
    >>> optimizer = monitor.watch(optax.sgd(0.1))
    >>> step = make_jax_step(lambda p, x: ((x @ p["w"] + p["b"]) ** 2).mean(), optimizer)
    >>> state, x = optimizer.init(params), jax.random.normal(jax.random.key(0), (8, 3))
    >>> for _ in range(5):
    ...     params, state, loss = step(params, state, x)
    ...     monitor.step(state)
    >>> monitor.diagnose().healthy
    True
    """

    def __init__(
        self,
        params: object,
        every: int = 1,
        *,
        keep: int = 2000,
        updates: bool = True,
        histogram_every: int | None = None,
        log_to: LogTarget = None,
    ) -> None:
        check_counts(every=every, keep=keep, histogram_every=1 if histogram_every is None else histogram_every)
        self._reader, self._schedule = JaxReader(params, every, histogram_every), MeasuringSchedule(every, None)
        self._histogram_every, self._count = histogram_every, 0
        super().__init__(GradientHistory(self._reader.names, self._reader.shapes, keep=keep), log_to)
        self._state: WatchState | None = None
        self._updates = updates
        jax = load("jax", extra="jax")
        self._copy, self._measure = jax.jit(_copy), jax.jit(self._reader.measure)

    def watch(self, optimizer: "GradientTransformation") -> "GradientTransformationExtraArgs":
        """Return an optimizer that does the same, and measures the gradients that it gets.

        What stands inside, such as ``optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))``, comes after the
        measuring: gradients are those before clipping, updates those that are applied.

        Parameters
        ----------
        optimizer : optax.GradientTransformation
            Call ``init`` of what is returned, and give it to whatever takes an optimizer: ``make_jax_step``, a
            ``TrainState`` of flax, ``nnx.Optimizer``.
        """
        reader, measured, inner = (
            self._reader,
            self._updates,
            load("optax", extra="jax").with_extra_args_support(optimizer),
        )

        def init(params: object) -> WatchedState:
            return WatchedState(reader.start(), inner.init(params))

        def update(grads: object, state: WatchedState, params: object = None, **extra: Any) -> tuple[Any, WatchedState]:
            updates, own = inner.update(grads, state.optimizer, params, **extra)
            seen = reader.advance(state.watch, grads, params, updates if measured else None)
            return updates, WatchedState(seen, own)

        optax = load("optax", extra="jax")
        return optax.GradientTransformationExtraArgs(init, update)

    def step(self, state: object, params: object = None, updates: object = None) -> None:
        """Take in one step: call it once after each.

        Parameters
        ----------
        state : pytree
            The state of a watched optimizer, or anything that holds it: a ``TrainState``, an ``nnx.Optimizer``. Or the
            gradients themselves, with the structure of the monitor's ``params``.
        params, updates : pytree, optional
            With gradients, the parameters before the step and what it adds to them, for ``weight_norm`` and
            ``update_ratio``.

        Raises
        ------
        InputError
            If this is neither.
        """
        watched = _find_watch_state(state)
        if watched is not None and not self._count:
            self._count = int(watched.steps) - 1  # a run that is resumed goes on counting
        self._count += 1
        if not self._schedule.measures_gradients(self._count):
            return
        if watched is None:
            grads = self._reader.arrange(state, required=True)
            others = map(self._reader.arrange, (params, updates))
            self._state = self._measure(self._state or self._reader.start(), self._count, grads, *others)
        else:
            self._state = self._copy(watched)  # itself it may be donated to the next step, and gone
        if self._schedule.looks_at_units(self._count):
            self._looks.append(self._count)
        self._history.records.append(StepRecord(self._count, self._reader.reading(self._state), 0.0, -1))
        if self._schedule.counts_histograms(self._count, self._histogram_every) and self._state.counts is not None:
            self._history.histograms.append((self._count, self._state.counts))
        self._log()

    def close(self) -> None:
        """Nothing is attached, so that there is nothing to remove."""

    def __repr__(self) -> str:
        return f"JaxGradientMonitor({len(self._history.names)} arrays, {self._count} steps)"

    def _seen(self) -> dict[int, NDArray[np.int_]]:
        return {} if self._state is None else self._reader.last_seen(self._state)


def _find_watch_state(tree: object) -> WatchState | None:
    """Return what was measured out of an optimizer's state, or of anything that holds it."""
    jax = load("jax", extra="jax")
    leaves = jax.tree.leaves(tree, is_leaf=lambda node: isinstance(node, WatchState))
    if any(map(is_jax_tracer, jax.tree.leaves(leaves))):
        raise InputError(
            "a monitor's step() must get arrays, but JAX traces here: call it after the jitted step, with the state "
            "that this returns."
        )
    found = [node for node in leaves if isinstance(node, WatchState)]
    if not found:
        return None
    arrays: Any = (next(iter(jax.tree.leaves(box)), None) for box in found[0])  # flax.nnx puts each into a box
    return WatchState(*arrays)


def _copy(state: WatchState) -> WatchState:
    """Copy arrays."""
    copied: WatchState = load("jax", extra="jax").tree.map(load("jax.numpy", extra="jax").copy, state)
    return copied
