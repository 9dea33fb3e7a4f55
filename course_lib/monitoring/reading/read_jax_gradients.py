"""Measure the gradients of a JAX pytree: pure functions, so that they run inside a jitted step."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.monitoring.histograms import BINS, EDGES
from course_lib.monitoring.reading.gradient_measures import Care, GradientMeasures, LazyMeasures, compute_measures
from course_lib.monitoring.reading.tree_names import leaves_by_path, name_leaves

if TYPE_CHECKING:
    import jax

__all__ = ["JaxReader", "WatchState"]

Arrays: TypeAlias = "Sequence[jax.Array | None]"

LARGE = 1 << 16  # numbers: larger arrays are not stacked, so that the copy takes little memory
VECTOR = 512  # elements: in longer vectors it is not noted which have a gradient
ABSENT = -1.0  # in the place of a norm
CARE = Care(itemsize=4, scaled=True, centred=True)


class WatchState(NamedTuple):
    """What is known of the gradients of the latest step: a pytree of arrays.

    Attributes
    ----------
    steps : jax.Array
        How many steps there were.
    numbers : jax.Array, shape (8, p)
        What :func:`compute_measures` takes.
    seen : jax.Array, shape (n,)
        For each element of all short vectors, the last step at which it had a gradient, or 0.
    counts : jax.Array of int32, shape (p, bins), or None
        The histogram of each gradient when one was last counted; None if none ever is.
    """

    steps: "jax.Array"
    numbers: "jax.Array"
    seen: "jax.Array"
    counts: "jax.Array | None"


class JaxReader:
    """Reads gradients that have the structure of given parameters.

    Parameters
    ----------
    params : pytree
        Its real or complex floating-point arrays are watched; none of them is kept.
    every : int
        :meth:`advance` measures the first of every so many steps.
    histogram_every : int or None
        It counts the elements of gradients by their size at one in so many of these.
    """

    def __init__(self, params: object, every: int = 1, histogram_every: int | None = None) -> None:
        jnp, self._every, self._histogram_every = load("jax.numpy", extra="jax"), int(every), histogram_every
        found = name_leaves(params)
        self.names, self._paths = [leaf.name for leaf in found], [leaf.path for leaf in found]
        self.shapes = [tuple(map(int, leaf.value.shape)) for leaf in found]
        double = any(leaf.value.dtype in (jnp.float64, jnp.complex128) for leaf in found)
        self._wide, self._care = (jnp.float64, replace(CARE, itemsize=8)) if double else (jnp.float32, CARE)
        parts = [2 if jnp.issubdtype(leaf.value.dtype, jnp.complexfloating) else 1 for leaf in found]
        self._sizes = np.array([int(np.prod(s)) * n for s, n in zip(self.shapes, parts, strict=True)])
        alike = defaultdict(list)
        for i, n in enumerate(self._sizes.tolist()):
            if n:
                alike[n, i if n > LARGE else -1].append(i)
        self._groups = list(alike.values())
        vectors = [i for i, shape in enumerate(self.shapes) if len(shape) == 1 and shape[0] <= VECTOR]
        ends = np.cumsum([self.shapes[i][0] for i in vectors], dtype=int)
        self._vectors = dict(zip(vectors, ends.tolist(), strict=True))

    def start(self) -> WatchState:
        """Return the state before the first step."""
        jnp = load("jax.numpy", extra="jax")
        length = max(self._vectors.values(), default=0)
        numbers = jnp.zeros((8, len(self.names)), self._wide)
        counts = jnp.zeros((len(self.names), BINS), jnp.int32) if self._histogram_every else None
        return WatchState(jnp.zeros((), jnp.int32), numbers, jnp.zeros(length, jnp.int32), counts)

    def advance(self, state: WatchState, grads: object, params: object = None, updates: object = None) -> WatchState:
        """Go on by one step, and measure it if it is its turn; can be traced."""
        arrays = [self.arrange(grads, required=True), *map(self.arrange, (params, updates))]
        step = state.steps + 1
        if self._every == 1:
            return self.measure(state, step, *arrays)
        return load("jax", extra="jax").lax.cond(  # type: ignore[no-any-return]
            (step - 1) % self._every == 0,
            lambda: self.measure(state, step, *arrays),
            lambda: state._replace(steps=step),
        )

    def arrange(self, tree: object, *, required: bool = False) -> Arrays:
        """Return the arrays of a tree in the order of the names, None where there is none.

        Raises
        ------
        InputError
            If one has another shape than its parameter, or none is there, though ``required``.
        """
        found = leaves_by_path(tree)
        arrays = [found.get(path) for path in self._paths]
        if required and all(x is None for x in arrays):
            raise InputError(
                "the gradients must have the structure of the params that the monitor was made with, but none is where "
                f"{self.names[0]} is there. Make the monitor with what the optimizer's init gets; and what step() is "
                "given must be gradients, or the state of an optimizer from the monitor's watch()."
            )
        for name, shape, x in zip(self.names, self.shapes, arrays, strict=True):
            if x is not None and tuple(x.shape) != shape:
                raise InputError(
                    f"arrays must have their parameter's shape, but one for {name} has shape {tuple(x.shape)}, and the "
                    f"parameter had {shape} when the monitor was made. Under vmap or pmap, make the monitor with one "
                    "member's params."
                )
        return arrays

    def measure(
        self, state: WatchState, step: "jax.Array", grads: Arrays, params: Arrays, updates: Arrays
    ) -> WatchState:
        """Measure arranged arrays as the step with this number; can be traced."""
        jax, jnp = load("jax", extra="jax"), load("jax.numpy", extra="jax")
        number = jnp.asarray(step, jnp.int32)
        grads, params, updates = jax.lax.optimization_barrier((grads, params, updates))  # or XLA would make each thrice
        norms = self._norms(jnp, params)
        numbers = jnp.concatenate([self._measure_gradients(jnp, grads), self._norms(jnp, updates), norms, norms])
        counts = state.counts
        if self._histogram_every:
            due = (number - 1) // self._every % self._histogram_every == 0
            counts = jax.lax.cond(due, lambda: self._count(jnp, grads), lambda: state.counts)
        return WatchState(number, numbers, self._look(jnp, state.seen, grads, number), counts)

    def _measure_gradients(self, jnp: ModuleType, grads: Arrays) -> "jax.Array":
        """Return of each gradient largest and least element, and, over its scale, norm, mean, norm without mean."""
        rows = jnp.zeros((5, len(grads)), self._wide)
        for where, x in self._stacks(jnp, grads):
            top, bottom = x.max(1), x.min(1)
            x = x / jnp.clip(jnp.maximum(top, -bottom), *self._care.scales)[:, None]
            mean = x.mean(1)
            norms = [jnp.sqrt(jnp.sum(jnp.square(y), 1)) for y in (x, x - mean[:, None])]
            rows = rows.at[:, where].set(jnp.stack([top, bottom, norms[0], mean, norms[1]]))
        absent = np.array([i for i, g in enumerate(grads) if g is None], int)
        return rows.at[2, absent].set(ABSENT)  # type: ignore[no-any-return]

    def _count(self, jnp: ModuleType, grads: Arrays) -> "jax.Array":
        """Count the elements of each gradient by bin; a row of zeros where there is none."""
        counts = jnp.zeros((len(grads), BINS + 1), jnp.int32)
        edges = jnp.asarray(EDGES, self._wide)
        for where, x in self._stacks(jnp, grads):
            bins = jnp.clip(jnp.searchsorted(edges, x, side="right"), 1, BINS) - 1
            counts = counts.at[where[:, None], jnp.where(jnp.isnan(x), BINS, bins)].add(1)
        return counts[:, :BINS]  # type: ignore[no-any-return] # jnp is loaded by name

    def _norms(self, jnp: ModuleType, arrays: Arrays) -> "jax.Array":
        """Return the norm of each array, shape (1, p), NaN where there is none."""
        row = jnp.full(len(arrays), jnp.nan, self._wide)
        for where, x in self._stacks(jnp, arrays):
            scale = jnp.clip(jnp.max(jnp.abs(x), 1), *self._care.scales)
            row = row.at[where].set(jnp.sqrt(jnp.sum(jnp.square(x / scale[:, None]), 1)) * scale)
        return row[None]  # type: ignore[no-any-return]

    def _stacks(self, jnp: ModuleType, arrays: Arrays) -> "Iterator[tuple[NDArray[np.int_], jax.Array]]":
        """Yield small arrays of one size as the rows of one matrix, large ones alone, in one precision, and where."""
        for where in self._groups:
            there = [(i, _as_real_vector(jnp, x, self._wide)) for i in where if (x := arrays[i]) is not None]
            if there:
                yield np.array([i for i, _ in there]), jnp.stack([x for _, x in there])

    def reading(self, state: WatchState) -> LazyMeasures:
        """Return the measures of a state, for which nobody waits until they are asked for."""
        return LazyMeasures(partial(self._measures, state.numbers))

    def last_seen(self, state: WatchState) -> dict[int, NDArray[np.int_]]:
        """Return for each vector among the parameters the last step at which each element had a gradient, or 0."""
        seen = np.asarray(state.seen)
        return {i: seen[end - self.shapes[i][0] : end] for i, end in self._vectors.items()}

    def _measures(self, numbers: "jax.Array") -> GradientMeasures:
        host = np.asarray(numbers)
        absent = np.flatnonzero(host[2] == ABSENT).tolist()
        return compute_measures(host, self._sizes, care=self._care, absent=absent)

    def _look(self, jnp: ModuleType, seen: "jax.Array", arrays: Arrays, step: "jax.Array") -> "jax.Array":
        """Note which elements of short vectors have a gradient."""
        if not self._vectors:
            return seen
        marks = [jnp.zeros(self.shapes[i], bool) if (g := arrays[i]) is None else g != 0 for i in self._vectors]
        return jnp.where(jnp.concatenate(marks), step, seen)  # type: ignore[no-any-return]


def _as_real_vector(jnp: ModuleType, x: "jax.Array", wide: type[Any]) -> "jax.Array":
    """Return the elements in one precision; a complex one as two."""
    x = jnp.asarray(x)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        x = jnp.stack([x.real, x.imag])
    return x.reshape(-1).astype(wide)
