"""Training in bfloat16 and float16, against the loop that one writes by hand."""

import math
from functools import partial

import pytest
import torch
from torch import nn

from course_lib import autograd
from course_lib.clipping import clip_by_global_norm
from course_lib.errors import InputError
from course_lib.training import fit, train_epoch, validate

EPOCHS = 3
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def by_hand(model, loader, precision, scaler, *, max_norm=None):
    """Train and validate as torch's documentation has it; return the losses and the steps left out."""
    optimizer, losses, skipped = torch.optim.SGD(model.parameters(), lr=0.5), [], []
    for _ in range(EPOCHS):
        total = left_out = samples = 0
        for x, y in loader:
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=DTYPES[precision]):
                loss = nn.functional.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            if max_norm:
                nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            scale = scaler.get_scale()
            scaler.step(optimizer)
            scaler.update()
            left_out += scaler.get_scale() < scale
            total, samples = total + loss.item() * len(y), samples + len(y)
        losses.append(total / samples)
        skipped.append(left_out)
    return losses, skipped


@pytest.mark.parametrize(
    ("precision", "scale"), [("bf16", None), ("fp16", 2.0**10), ("fp16", 2.0**20), ("bf16", 2.0**8)]
)
@pytest.mark.parametrize("max_norm", [None, 0.01])
def test_fit_trains_as_the_loop_by_hand(problem, precision, scale, max_norm):
    """To the last bit, clipped after unscaling or not; steps whose gradients overflow are left out and counted."""
    (model, loader, _, _), (twin, *_) = (problem(40, dtype=torch.float32) for _ in "ab")
    make = partial(torch.amp.GradScaler, "cpu", init_scale=scale or 1.0, enabled=scale is not None)
    losses, skipped = by_hand(twin, loader, precision, make(), max_norm=max_norm)
    clip = partial(nn.utils.clip_grad_norm_, max_norm=max_norm)
    history = fit(
        model, loader, nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.5), "cpu", epochs=EPOCHS,
        before_step=(lambda m: clip(m.parameters())) if max_norm else None, precision=precision, scaler=make(),
        progress=False,
    )  # fmt: skip
    assert history.train_loss == pytest.approx(losses, rel=1e-12)
    assert list(history.skipped_steps) == skipped
    assert ("skipped_steps" in history.to_frame()) == any(skipped) == (scale == 2.0**20)
    for p, q in zip(model.parameters(), twin.parameters(), strict=True):
        assert p.dtype == torch.float32
        assert torch.equal(p, q)


def test_what_is_called_before_a_step_sees_true_gradients_and_no_overflow(problem):
    """A norm beyond float16, as the scaler's first steps have it, stops neither clipping nor a monitor."""
    model, loader, _, _ = problem(40, dtype=torch.float32)
    seen = []
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20)

    def watch(model):
        seen.append(clip_by_global_norm(model, 1.0).item())

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = train_epoch(
        model, loader, nn.CrossEntropyLoss(), optimizer, "cpu", before_step=watch, precision="fp16", scaler=scaler
    )
    assert 0 < loss.skipped == loss.batches - len(seen)
    assert max(seen) < 10
    assert scaler.get_scale() == 2.0 ** (20 - loss.skipped)


def test_an_epoch_of_overflows_is_warned_of_as_such(problem):
    """It is the scale that was too large, which the next epoch with the same scaler does not begin with."""
    model, loader, _, _ = problem(8, dtype=torch.float32)
    scaler, before = torch.amp.GradScaler("cpu", init_scale=2.0**40), model[0].weight.clone()
    with pytest.warns(UserWarning, match=r"the scaler left out every step, 2 of 2.*It is 2.74878e\+11 now"):
        train_epoch(
            model, loader, nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=1.0), "cpu",
            precision="fp16", scaler=scaler,
        )  # fmt: skip
    assert torch.equal(before, model[0].weight)


def test_validation_computes_in_the_same_precision(problem):
    """Its loss is that of bfloat16, the mean is not."""
    model, loader, x, y = problem(dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        expected = nn.functional.cross_entropy(model(x), y).item()
    low, high = (validate(model, loader, nn.CrossEntropyLoss(), "cpu", precision=p) for p in ("bf16", None))
    assert low == pytest.approx(expected, rel=1e-6)
    assert low != high


def test_float16_without_a_scaler_is_refused_in_an_epoch_and_gets_one_in_fit(problem):
    """A scaler lives for all epochs, so that one epoch cannot make it."""
    model, loader, _, _ = problem(dtype=torch.float32)
    arguments = model, loader, nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.1), "cpu"
    with pytest.raises(InputError, match=r"needs a scaler.*scaler=torch\.amp\.GradScaler\(device\)"):
        train_epoch(*arguments, precision="fp16")
    with pytest.raises(InputError, match=r"'bf16', 'fp16' or None, but got 'half'"):
        fit(*arguments, epochs=1, precision="half", progress=False)
    with pytest.raises(InputError, match=r"must be a torch\.amp\.GradScaler"):
        train_epoch(*arguments, scaler=1024.0)
    assert math.isfinite(fit(*arguments, epochs=8, precision="fp16", progress=False).train_loss[-1])
    ours = autograd.nn.Linear(1, 1)
    optimizer = autograd.optim.SGD(ours.parameters(), lr=0.1)
    with pytest.raises(InputError, match=r"needs a torch model"):
        train_epoch(ours, [([[1.0]], [[1.0]])], autograd.nn.MSELoss(), optimizer, "cpu", precision="bf16")
