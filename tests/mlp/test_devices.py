"""Nothing leaves the device, and every dtype is kept: on two devices without numbers, and under JAX.

A tensor on ``meta`` has a shape and a dtype and nothing else, and a fake tensor on ``cuda`` a device besides, under
torch's own rules for that device. Reading an entry, or mixing it with a tensor on the CPU, raises. So what runs there
runs on any device; where there is a GPU, the numbers are looked at too.
"""

from contextlib import nullcontext
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from course_lib.mlp import manual_mlp_grad, mlp_activations, mlp_grad

WIDTHS, ROWS = (5, 7, 6, 4, 3), 8
KEEPS = [None, "recompute", "pre-activation", ["activation", "both", "both"]]
LOSSES = ["half_sum", "mse", "cross_entropy"]
DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
ACTS = ("relu", "gelu", "tanh")
WITHOUT_NUMBERS = {"meta": nullcontext, "cuda": FakeTensorMode}


class Devices(TorchDispatchMode):
    """Note the device of every tensor that an operation reads or makes; labels are copied to be looked at."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        out = op(*args, **(kwargs or {}))
        if op is not torch.ops.aten._to_copy.default or args[0].is_floating_point():
            self.seen |= {x.device.type for x in tree_leaves((args, kwargs, out)) if isinstance(x, torch.Tensor)}
        return out


def on(device, dtype):
    """Return x, weights, biases, and a target for each loss."""
    make = {"device": device, "dtype": dtype}
    weights, biases = [torch.ones(s, **make) for s in pairwise(WIDTHS)], [torch.ones(n, **make) for n in WIDTHS[1:]]
    labels = torch.zeros(ROWS, device=device, dtype=torch.int64)
    square = torch.ones(ROWS, WIDTHS[-1], device=device, dtype=torch.float64)  # of another dtype than the network
    return torch.ones(ROWS, WIDTHS[0], **make), weights, biases, {"cross_entropy": labels, "mse": square}


@pytest.mark.parametrize("device", WITHOUT_NUMBERS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("keep", KEEPS)
def test_the_general_network_stays_on_its_device(keep, loss, dtype, device):
    """Every activation, loss and choice of what to keep; results have the shape and dtype of what they belong to."""
    acts = ("relu", "tanh", "relu") if keep == ["activation", "both", "both"] else ACTS
    with WITHOUT_NUMBERS[device](), Devices() as devices:
        x, weights, biases, targets = on(device, dtype)
        found = mlp_grad(x, weights, biases, target=targets.get(loss), loss=loss, activation=acts, keep=keep)
    assert devices.seen == {device}
    grads = (found.grads.x, *found.grads.weights, *found.grads.biases)
    assert [(g.shape, g.dtype) for g in grads] == [(a.shape, dtype) for a in (x, *weights, *biases)]
    assert (found.loss.shape, found.loss.dtype) == ((), dtype)


@pytest.mark.parametrize("device", WITHOUT_NUMBERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_small_form_stays_on_its_device(dtype, device):
    """Activations and gradients alike."""
    with WITHOUT_NUMBERS[device](), Devices() as devices:
        x, (w_0, w_1, *_), _, _ = on(device, dtype)
        loss, activations = mlp_activations(x, w_0, w_1)
        grads = manual_mlp_grad(x, w_0, w_1)
    assert devices.seen == {device}
    assert {a.dtype for a in (loss, *activations, *grads)} == {dtype}
    assert [g.shape for g in grads] == [x.shape, w_0.shape, w_1.shape]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("loss", LOSSES)
def test_on_a_gpu_the_numbers_are_those_of_the_cpu(loss):
    """Loss and gradients in double precision."""
    torch.manual_seed(0)
    x, weights, biases, targets = on("cpu", torch.float64)
    x, weights = torch.randn_like(x), [torch.randn_like(w) / 3 for w in weights]
    options = {"loss": loss, "activation": ACTS}
    right = mlp_grad(x, weights, biases, target=targets.get(loss), **options)
    x, weights, biases, targets = tree_map(lambda a: a.cuda(), (x, weights, biases, targets))
    found = mlp_grad(x, weights, biases, target=targets.get(loss), **options)
    for one, other in zip(
        *([r.loss, r.grads.x, *r.grads.weights, *r.grads.biases] for r in (found, right)), strict=True
    ):
        assert one.device.type == "cuda"
        torch.testing.assert_close(one.cpu(), other)


def test_the_proof_can_fail():
    """Reading a number raises, and so does mixing devices; a tensor made on the CPU is seen."""
    x = torch.ones(2, device="meta")
    with pytest.raises(RuntimeError):
        x.sum().item()
    with FakeTensorMode(), pytest.raises(RuntimeError, match="on the same device"):
        torch.ones(2, device="cuda") + torch.ones(2)
    with Devices() as devices:
        torch.ones(1) + 1
    assert devices.seen == {"cpu"}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("loss", LOSSES)
def test_on_the_cpu_the_dtype_is_kept_too(loss, dtype):
    """And the numbers are those of float64 within its precision."""
    torch.manual_seed(0)
    x, weights, biases, targets = on("cpu", torch.float64)
    x, weights = torch.randn_like(x), [torch.randn_like(w) / 3 for w in weights]
    options = {"target": targets.get(loss), "loss": loss, "activation": ACTS}
    right = mlp_grad(x, weights, biases, **options).grads
    found = mlp_grad(x.to(dtype), [w.to(dtype) for w in weights], [b.to(dtype) for b in biases], **options).grads
    for one, other in zip((found.x, *found.weights), (right.x, *right.weights), strict=True):
        assert one.dtype is dtype
        assert float((one - other).norm() / other.norm()) < 64 * torch.finfo(dtype).eps


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float16, jnp.bfloat16])
@pytest.mark.parametrize("loss", LOSSES)
def test_jax_traces_it_without_leaving_the_device(loss, dtype):
    """One program, without a call back to Python and without a transfer, whose results have the dtype of the inputs."""
    random = np.random.default_rng(0)
    x = jnp.asarray(random.normal(size=(ROWS, WIDTHS[0])), dtype)
    weights = [jnp.asarray(random.normal(size=shape), dtype) for shape in pairwise(WIDTHS)]
    target = {"cross_entropy": jnp.zeros(ROWS, jnp.int32), "mse": jnp.ones((ROWS, WIDTHS[-1]), dtype)}.get(loss)

    def run(x, weights, target):
        found = mlp_grad(x, weights, target=target, loss=loss, activation=ACTS, keep="recompute")
        return found.loss, found.grads.x, found.grads.weights

    program = str(jax.make_jaxpr(run)(x, weights, target))
    assert "callback" not in program
    compiled = jax.jit(run)
    compiled(x, weights, target)
    with jax.transfer_guard("disallow"):
        results = jax.tree.leaves(compiled(x, weights, target))
    assert {a.dtype for a in results} == {jnp.dtype(dtype)}
    assert [a.shape for a in results] == [(), x.shape, *(w.shape for w in weights)]
