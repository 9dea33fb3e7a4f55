"""Right answers to gradients_in_jax that look nothing like the reference get every point."""

import pytest

BY_VJP = {
    "gradients": """
def gradients(loss_fn, params, x, y):
    loss, pull_back, aux = jax.vjp(lambda params, x: loss_fn(params, x, y), params, x, has_aux=True)
    return [loss, aux, *pull_back(jnp.ones_like(loss))]
""",
    "limit": """
from jax import custom_gradient

@custom_gradient
def limit(x, bound):
    def rule(v):
        norm = jnp.linalg.norm(v.ravel())
        return jnp.where(norm <= bound, v, v * bound / jnp.where(norm > 0, norm, 1.0)), 0.0 * bound
    return x, rule
""",
    "accumulate": """
def accumulate(loss_fn, params, batches):
    # One array for all sums.
    from jax.flatten_util import ravel_pytree
    _, unravel = ravel_pytree(params)

    def add(total, batch):
        (loss, n), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, batch)
        return total + n * jnp.concatenate([jnp.stack([loss, 1.0]), ravel_pytree(grads)[0]]), (loss, n)

    size = ravel_pytree(params)[0].size
    total, _ = jax.lax.scan(add, jnp.zeros(size + 2), batches)
    return total[0] / total[1], unravel(total[2:] / total[1])
""",
}
IN_A_LOOP = {
    "gradients": """
@jax.tree_util.Partial
def gradients(loss_fn, params, x, y):
    def of_both(both):
        return loss_fn(*both, y)
    (loss, aux), grads = jax.jit(jax.value_and_grad(of_both, has_aux=True))((params, x))
    return loss, aux, grads[0], grads[1]
""",
    "limit": """
limit = jax.custom_vjp(lambda x, bound: x + 0.0)
def _rule(bound, v):
    scale = jnp.max(jnp.abs(v))
    unit = v / jnp.where(scale == 0, 1, scale)
    norm = scale * jnp.sqrt((unit * unit).sum())
    return jax.lax.cond(norm > bound, lambda: v * (bound / norm), lambda: v), None
limit.defvjp(fwd=lambda x, bound: (limit(x, bound), bound), bwd=_rule)
""",
    "accumulate": """
def accumulate(loss_fn, params, batches):
    k = len(batches[0])
    value_and_grad = jax.value_and_grad(lambda p, b: (lambda loss, n: (loss * n, n))(*loss_fn(p, b)), has_aux=True)

    def body(j, sums):
        batch = jax.tree.map(lambda a: jax.lax.dynamic_index_in_dim(a, j, keepdims=False), batches)
        return jax.tree.map(jnp.add, sums, value_and_grad(params, batch))

    start = (jnp.zeros(()), jnp.zeros(())), jax.tree.map(jnp.zeros_like, params)
    (loss, n), grads = jax.lax.fori_loop(0, k, body, start)
    return loss / n, {name: g / n for name, g in grads.items()}
""",
}
COUNTED_FIRST = {
    "gradients": """
def gradients(loss_fn, params, x, y):
    leaves, tree = jax.tree.flatten(params)
    def by_leaves(*args):
        return loss_fn(jax.tree.unflatten(tree, args[:-1]), args[-1], y)
    value, grads = jax.value_and_grad(by_leaves, tuple(range(len(leaves) + 1)), True)(*leaves, x)
    return *value, jax.tree.unflatten(tree, grads[:-1]), grads[-1]
""",
    "limit": """
@jax.custom_vjp
def limit(x, bound):
    return jnp.asarray(x)
def _rule(bound, v):
    return v * jnp.clip(bound * jax.lax.rsqrt((v**2).sum()), None, 1), jnp.zeros(())
limit.defvjp(lambda x, bound: (x, jnp.asarray(bound)), _rule)
""",
    "accumulate": """
def accumulate(loss_fn, params, batches):
    # The rows are counted in a scan of their own; then each share is known, and one gradient is in memory, recomputed.
    rows = jax.lax.scan(lambda n, batch: (n + loss_fn(params, batch)[1], None), 0.0, batches)[0]

    @jax.checkpoint
    def share(params, batch):
        loss, n = loss_fn(params, batch)
        return loss * n / rows

    def whole(params):
        return jax.lax.scan(lambda total, batch: (total + share(params, batch), None), 0.0, batches)[0]

    return jax.value_and_grad(whole)(params)
""",
}
STYLES = {
    "vjp, custom_gradient, one array": BY_VJP,
    "jit, cond, fori_loop": IN_A_LOOP,
    "leaves, rematerialized": COUNTED_FIRST,
}


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_a_right_answer_in_another_style_gets_every_point(earns_every_point, style):
    """vjp and one long array; a loop and a cond; a scan that is differentiated, and recomputes what it would keep."""
    earns_every_point(style)
