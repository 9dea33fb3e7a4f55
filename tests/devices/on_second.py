"""The library on a device that is not the CPU, held against the CPU; run in a process of its own, see ``second.py``."""

import copy
from itertools import pairwise

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from course_lib.clipping import clip_by_global_norm, clip_by_value
from course_lib.doctor import watch
from course_lib.errors import NonFiniteError, TrainingError
from course_lib.mlp import mlp_grad
from course_lib.monitoring import GradientMonitor, compute_grad_norm, log_gradient_stats
from course_lib.profiling import count_flops, profile_step, saved_activations, time_call
from course_lib.training import fit, train_epoch, validate
from tests.devices.report import run_checks
from tests.devices.second import NAME, OnSecond, Second, generator, register

ONE_TRANSFER = {"to the host": 1}


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.LayerNorm(16), nn.Linear(16, 5), nn.ReLU(), nn.Linear(5, 3))


def rows(count=11):
    torch.manual_seed(1)
    return torch.randn(count, 6), torch.randn(count, 3)


def pair(*, scale=1.0, dtype=torch.float32):
    """Return one network on the CPU and its like on the device, each after a backward; to be used in a Second."""
    x, y = (each.to(dtype) for each in rows())
    here = network().to(dtype)
    there = copy.deepcopy(here).to(NAME)
    for model, a, b in ((here, x, y), (there, x.to(NAME), y.to(NAME))):
        (nn.functional.mse_loss(model(a), b) * scale).backward()
    return here, there


def equal(found, right, **options):
    """See that what is on the device is what is on the CPU, and that it is on the device."""
    for one, other in zip(found, right, strict=True):
        assert isinstance(one, OnSecond), "it left the device"
        torch.testing.assert_close(one.numbers, other, **options)


def gradients(model):
    return [p.grad for p in model.parameters()]


def check_clipping_by_global_norm():
    for bound, scale in ((0.1, 1.0), (1e9, 1.0), (0.1, 1e-30), (0.1, 1e30)):
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            with Second() as device:
                here, there = pair(scale=scale, dtype=dtype)
                device.crossed.clear()
                norm = clip_by_global_norm(there.parameters(), bound)
                once = scale == 1.0 or (dtype == torch.float64 and scale > 1)  # else measured again, with more care
                assert device.crossed == {"to the host": 1 if once else 2}, device.crossed
            torch.testing.assert_close(norm, clip_by_global_norm(here.parameters(), bound))
            close = {"rtol": 1e-2, "atol": 0} if dtype == torch.bfloat16 else {}
            equal(gradients(there), gradients(here), **close)


def check_clipping_of_what_is_not_finite():
    for policy in ("error", "skip", "zero"):
        with Second() as device:
            here, there = pair()
            here[3].bias.grad[1] = there[3].bias.grad[1] = float("nan")
            device.crossed.clear()
            if policy == "error":
                for model in (here, there):
                    with pytest.raises(NonFiniteError, match=r"3\.bias"):
                        clip_by_global_norm(model, 1.0)
                assert device.crossed == {"to the host": 2}, device.crossed
            else:
                norms = [clip_by_global_norm(model, 1.0, nonfinite=policy) for model in (here, there)]
                assert not device.crossed, device.crossed
                assert isinstance(norms[1], OnSecond)
        equal(gradients(there), gradients(here), equal_nan=True)


def check_clipping_without_a_wait():
    """Where nothing can raise, the host learns no number: the device decides, and hands out the norm."""
    for bound, scale in ((0.1, 1.0), (1e9, 1.0), (0.1, 1e-30), (0.1, 1e30)):
        with Second() as device:
            here, there = pair(scale=scale)
            device.crossed.clear()
            norms = [clip_by_global_norm(there, bound, nonfinite="skip", norm_type=p) for p in (2, 3, float("inf"))]
            assert not device.crossed, device.crossed
        equal(norms, [clip_by_global_norm(here, bound, norm_type=p) for p in (2, 3, float("inf"))])
        equal(gradients(there), gradients(here))


def check_steps_that_clipping_leaves_out():
    """The norm is on the device then; the loop must ask for it once a step, to know."""
    with Second() as device:
        model = network().to(NAME)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x, y = rows()
        batches = [(x, y), (x, y / 0), (x, y)]  # the second has a loss that is not finite, in a loop that looks late
        steps = []
        optimizer.register_step_post_hook(lambda *_: steps.append(len(steps)))

        def clip(model):
            device.crossed.clear()
            return clip_by_global_norm(model, 1.0, nonfinite="skip")

        with pytest.raises(TrainingError):
            train_epoch(model, batches, nn.MSELoss(), optimizer, NAME, before_step=clip)
    assert len(steps) == 2, steps


def check_clipping_over_two_devices():
    """Half of the parameters on each: the norm is that of all of them."""
    with Second() as device:
        here, mixed = network(), network()
        mixed[3:].to(NAME)
        for one, other in zip(here.parameters(), mixed.parameters(), strict=True):
            one.grad, other.grad = torch.ones_like(one), torch.ones_like(other)
        device.crossed.clear()
        norm = clip_by_global_norm(mixed.parameters(), 0.5)
        assert device.crossed == ONE_TRANSFER, device.crossed
    torch.testing.assert_close(norm, clip_by_global_norm(here.parameters(), 0.5))
    equal([p.grad for p in mixed[3:].parameters()], [p.grad for p in here[3:].parameters()])
    torch.testing.assert_close(mixed[0].weight.grad, here[0].weight.grad)


def check_clipping_by_value():
    with Second() as device:
        here, there = pair()
        device.crossed.clear()
        largest = clip_by_value(there.parameters(), 0.01)
        assert device.crossed == ONE_TRANSFER, device.crossed
    torch.testing.assert_close(largest, clip_by_value(here.parameters(), 0.01))
    equal(gradients(there), gradients(here))


def check_the_norm_and_the_statistics():
    for scale in (1.0, 1e-30, 1e30):
        with Second() as device:
            here, there = pair(scale=scale)
            for norm_type in (1, 2, 3, float("inf")):
                device.crossed.clear()
                found = compute_grad_norm(there, norm_type)
                assert device.crossed == ONE_TRANSFER, device.crossed
                torch.testing.assert_close(found, compute_grad_norm(here, norm_type))
            assert str(log_gradient_stats(there)) == str(log_gradient_stats(here))


def check_the_monitor():
    """Thirty steps of AdamW: the same history, and one transfer a step from the second on."""
    for scale in (1.0, 1e-30, 1e30):
        with Second() as device:
            x, y = rows()
            histories = []
            for name in ("cpu", NAME):
                model = network().to(name)
                optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
                with GradientMonitor(model) as monitor:
                    for step in range(30):
                        optimizer.zero_grad()
                        (nn.functional.mse_loss(model(x.to(name)), y.to(name)) * scale).backward()
                        device.crossed.clear()
                        monitor.step()
                        if name == NAME and step:
                            assert device.crossed == ONE_TRANSFER, (step, device.crossed)
                        optimizer.step()
                histories.append(monitor)
        here, there = histories
        for column in here.history.columns:
            one, other = here.history[column], there.history[column]
            if one.dtype.kind == "f":
                torch.testing.assert_close(
                    torch.tensor(other.to_numpy()), torch.tensor(one.to_numpy()), equal_nan=True, rtol=1e-4, atol=1e-9
                )
            else:
                assert one.equals(other), column
        assert str(there.diagnose()) == str(here.diagnose())


def check_training():
    """An epoch, a validation and a whole fit, whose numbers come to the host once for each."""
    x, y = rows(23)
    results = {}
    with Second() as device:
        for name in ("cpu", NAME):
            loader = DataLoader(TensorDataset(x, y), batch_size=5)
            model, criterion = network().to(name), nn.MSELoss()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            losses = []
            for run in (
                lambda: train_epoch(model, loader, criterion, optimizer, name),  # noqa: B023 - called here
                lambda: validate(model, loader, criterion, name),  # noqa: B023 - called here
            ):
                device.crossed.clear()
                losses.append(float(run()))
                if name == NAME:
                    assert device.crossed["to the host"] == 1, device.crossed
            history = fit(model, loader, criterion, optimizer, device=name, epochs=2, progress=False)
            results[name] = losses, str(history), [p.detach() for p in model.parameters()]
    (losses, said, right), (losses_there, said_there, found) = results.values()
    torch.testing.assert_close(losses_there, losses)
    assert said_there == said
    equal(found, right)


def check_manual_gradients():
    """Nothing crosses over: what is made on the way is made on the device."""
    torch.manual_seed(2)
    sizes = (6, 9, 7, 4)
    x, labels = torch.randn(8, 6, dtype=torch.float64), torch.randint(4, (8,))
    weights = [torch.randn(shape, dtype=torch.float64) for shape in pairwise(sizes)]
    biases = [torch.randn(size, dtype=torch.float64) for size in sizes[1:]]
    targets = {"half_sum": None, "mse": torch.randn(8, 4, dtype=torch.float64), "cross_entropy": labels}
    for loss, target in targets.items():
        for activation in ("relu", "gelu", "tanh"):
            for keep in ("both", "pre-activation", "recompute"):
                options = {"loss": loss, "activation": activation, "keep": keep}
                right = mlp_grad(x, weights, biases, target=target, **options)
                with Second() as device:
                    there = [[w.to(NAME) for w in many] for many in (weights, biases)]
                    aim = None if target is None else target.to(NAME)
                    moved = x.to(NAME)
                    device.crossed.clear()
                    found = mlp_grad(moved, *there, target=aim, **options)
                    checked = {"to the host": 1} if loss == "cross_entropy" else {}  # are the labels in range?
                    assert device.crossed == checked, device.crossed
                equal(
                    [found.loss, found.grads.x, *found.grads.weights, *found.grads.biases],
                    [right.loss, right.grads.x, *right.grads.weights, *right.grads.biases],
                )


def check_profiling():
    """The same count of operations; who measures time waits for the device."""
    x, y = rows()
    with Second() as device:
        here = network()
        there = copy.deepcopy(here).to(NAME)
        a, b = x.to(NAME), y.to(NAME)
        right = count_flops(lambda: nn.functional.mse_loss(here(x), y))
        found = count_flops(lambda: nn.functional.mse_loss(there(a), b))
        assert (found.forward, found.backward) == (right.forward, right.backward)
        assert device.waited == 0
        timing = time_call(there, a)
        assert timing.device == f"{NAME}:0", timing.device
        assert device.waited > 0
        device.waited = 0
        optimizer, before = torch.optim.SGD(there.parameters(), lr=0.1), [p.detach().cpu() for p in there.parameters()]
        step = profile_step(there, nn.functional.mse_loss, optimizer, (a, b))
        assert device.waited > 0
        assert step.forward_seconds > 0
        assert step.backward_seconds > 0
        assert set(step.modules) >= {"0", "3", "5"}, step.modules
        equal([p.detach() for p in there.parameters()], before)


def check_counting_draws_no_random_numbers():
    """What is drawn on the device while FLOPs or saved activations are counted is drawn again afterwards."""
    with Second():
        layer = nn.Linear(3, 3).to(NAME)

        def forward():
            keep = torch.rand(3, generator=generator) < 0.5
            return (layer(torch.ones(2, 3, device=NAME)) * keep.to(NAME)).sum()

        before = generator.get_state()
        for count in (count_flops, saved_activations):
            count(forward)
            assert torch.equal(generator.get_state(), before), count.__name__
        forward()
        assert not torch.equal(generator.get_state(), before)


def check_the_device_refuses_what_a_gpu_refuses():
    """Operands on two devices, NumPy's view; a number read is a transfer, and so is a copy."""
    with Second() as device:
        x = torch.ones(2, device=NAME)
        for wrong in (lambda: x + torch.ones(2), x.numpy):
            with pytest.raises((RuntimeError, TypeError), match=NAME):
                wrong()
        assert (x.sum().item(), x.tolist(), x.cpu().tolist()) == (2, [1, 1], [1, 1])
        assert device.crossed == {"to the host": 3}
        assert isinstance(x.to(torch.float64), OnSecond)


def check_the_doctor_waits_only_where_it_measures():
    with Second() as device:
        x, y = (each.to(NAME) for each in rows())
        model = network().to(NAME)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with watch(model, optimizer) as doctor:
            for step in range(40):
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(x), y)
                device.crossed.clear()
                (loss * float("nan") if step == 30 else loss).backward()
                assert device.crossed == {}, (step, device.crossed)
                optimizer.step()
        found = doctor.report()
        # Losses are read when gradients are measured: on a busy machine after the step at fault, which the note says.
        assert (found.steps, found.nonfinite.where) == (40, "loss")
        assert found.nonfinite.step == 31 or (found.nonfinite.step > 31 and "later" in found.nonfinite.note)


if __name__ == "__main__":
    register()
    run_checks(globals().copy())
