"""Right answers to repair_a_loop that look nothing like the reference get every point."""

from pathlib import Path

import pytest

from course_grader.grading.exercises.wrong_answers import read_wrong_answer

WRONG = Path(__file__).parents[2] / "exercises/repair_a_loop/key/wrong"

ZEROED_LAST = {
    "validate": """
import numpy as np

def labels(targets, criterion):
    return int((targets.numpy() != criterion.ignore_index).sum())

def validate(model, batches, criterion):
    awake = {name for name, module in model.named_modules() if module.training}
    with torch.inference_mode():
        model.train(False)
        losses, weights = [], []
        for x, y in batches:
            losses.append(float(criterion(model(x), y)))
            weights.append(labels(y, criterion))
    for name, module in model.named_modules():
        if name in awake:
            module.training = True
    return np.average(losses, weights=weights)
""",
    "train_epoch": """
def train_epoch(model, batches, criterion, optimizer, scaler, max_norm):
    model.train(True)
    parts = []
    for x, y in batches:
        loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        params = [p for group in optimizer.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(params, max_norm, foreach=False)
        scaler.step(optimizer); scaler.update()
        optimizer.zero_grad(set_to_none=True)
        parts.append((loss.detach(), (y >= 0).sum()))
    return float(sum(l * n for l, n in parts) / sum(n for _, n in parts))
""",
    "fit": """
import copy

def fit(model, train_once, validate_once, scheduler, epochs):
    table = []
    for epoch in range(epochs):
        table.append([train_once(), validate_once()])
        finite = [v for _, v in table if v == v]
        if finite and finite.index(min(finite)) == len(finite) - 1 and table[-1][1] == table[-1][1]:
            keep = copy.deepcopy(model.state_dict())
        scheduler.step()
    if any(v == v for _, v in table):
        model.load_state_dict(keep)
    return table
""",
}
BY_HAND = {
    "validate": """
class Sleeping:
    def __init__(self, model): self.model = model
    def __enter__(self):
        self.kept = [m for m in self.model.modules() if m.training]
        self.model.eval()
    def __exit__(self, *_):
        for m in self.kept: m.training = True

def validate(model, batches, criterion):
    was = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    each = torch.nn.CrossEntropyLoss(reduction="sum", ignore_index=criterion.ignore_index)
    try:
        with Sleeping(model):
            total = sum(each(model(x), y).item() for x, y in batches)
    finally:
        torch.set_grad_enabled(was)
    return total / sum(1 for _, y in batches for t in y.tolist() if t != -100)
""",
    "train_epoch": """
def train_epoch(model, batches, criterion, optimizer, scaler, max_norm):
    for module in model.modules():
        module.training = True
    params, seen, mean = list(model.parameters()), 0, 0.0
    for x, y in iter(batches):
        loss = criterion(model(x), y)
        grads = torch.autograd.grad(scaler.scale(loss), params)
        for p, g in zip(params, grads):
            p.grad = g
        scaler.unscale_(optimizer)
        size = torch.cat([p.grad.flatten() for p in params]).norm()
        if size > max_norm:
            for p in params:
                p.grad.mul_(max_norm / size)
        scaler.step(optimizer)
        scaler.update()
        n = int((y != -100).sum())
        seen += n
        mean += (loss.item() - mean) * n / seen  # a running mean
    return mean
""",
    "fit": """
import io

def fit(model, train_once, validate_once, scheduler, epochs):
    disk, lowest, history = None, float("inf"), ()
    for _ in range(epochs):
        t = train_once()
        v = validate_once()
        scheduler.step()
        if not math.isnan(v) and v < lowest:
            lowest, disk = v, io.BytesIO()
            torch.save(model.state_dict(), disk)
        history += ((t, v),)
    if disk is not None:
        disk.seek(0)
        model.load_state_dict(torch.load(disk))
    return history
""",
}
ONE_LOOP = {
    "validate": """
def run(model, batches, criterion, each=None):
    rows = total = 0
    for x, y in batches:
        loss = criterion(model(x), y)
        if each is not None:
            each(loss)
        rows += (n := torch.count_nonzero(y != criterion.ignore_index).item())
        total += n * float(loss)
        del loss
    return total / rows

def validate(model, batches, criterion):
    modes = {m: m.training for m in model.modules()}
    with torch.no_grad():
        mean = run(model.eval(), batches, criterion)
    for m, mode in modes.items():
        m.training = mode
    return torch.tensor(mean).numpy()
""",
    "train_epoch": """
def train_epoch(model, batches, criterion, optimizer, scaler, max_norm):
    rows = total = 0
    model.train()
    for x, y in batches:
        model.zero_grad(set_to_none=False)
        loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
        torch.nn.utils.clip_grads_with_norm_(model.parameters(), max_norm, norm)
        scaler.step(optimizer)
        scaler.update()
        rows += (n := torch.count_nonzero(y != criterion.ignore_index).item())
        total += n * float(loss)
    return total / rows
""",
    "fit": """
import copy

def fit(model, train_once, validate_once, scheduler, epochs):
    best, history = (math.inf, None), []
    for _ in range(epochs):
        history.append((train_once(), validate_once()))
        scheduler.step()
        now = (history[-1][1], copy.deepcopy(model))
        best = min(best, now, key=lambda kept: math.inf if kept[0] != kept[0] else kept[0])
    if best[1] is not None:
        with torch.no_grad():
            for name, tensor in model.state_dict().items():
                tensor.copy_(best[1].state_dict()[name])
    return history
""",
}


@pytest.mark.parametrize("style", [ZEROED_LAST, BY_HAND, ONE_LOOP], ids=["zeroed last", "by hand", "one loop"])
def test_a_right_answer_in_another_style_gets_every_point(earns_every_point, style):
    """zero_grad last and detached losses; gradients asked for, clipped by hand; a model's copy, a list of arrays."""
    earns_every_point(style)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("loss_for_the_schedule", "only ReduceLROnPlateau takes one"),
        ("first_schedule_step", "is scheduler.step before it?"),
    ],
)
def test_the_check_of_fit_says_what_the_scheduler_was_given(grade, wrong, said):
    """A loss given to the scheduler raised inside the check's own schedule, and `fit` was blamed."""
    answers = read_wrong_answer(WRONG / f"{wrong}.py").answers
    checks = {row.name: row.message for row in grade(answers).rows if row.kind == "check"}
    assert said in checks["check_fit"]
