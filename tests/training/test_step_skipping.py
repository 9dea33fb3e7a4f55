"""Steps that are not taken, and modules that are not trained."""

import math
from functools import partial

import numpy as np
import pytest
import torch

from course_lib import autograd
from course_lib.clipping import clip_by_global_norm, clip_by_value
from course_lib.training import train_epoch

pytestmark = pytest.mark.filterwarnings("ignore:.*before_step left out every step")
ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)
ZEROS = np.zeros((4, 1), np.float32)


def distance(outputs, targets):
    """Its root has no slope at 0, where torch and course_lib.autograd answer NaN."""
    return ((outputs - targets) ** 2).sum(1).sqrt().mean()


def line(library, weight=0.0):
    """Return a line that predicts a multiple of the sum, and its optimizer."""
    model = library.nn.Linear(3, 1, bias=False)
    with library.no_grad():
        model.weight = library.nn.Parameter(library.full((1, 3), weight))
    return model, library.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.5)


def weights(model):
    return model.weight.detach().numpy().ravel().tolist()


@pytest.mark.parametrize("clip", [partial(clip_by_global_norm, max_norm=1.0), partial(clip_by_value, clip_value=1.0)])
@pytest.mark.parametrize("library", [torch, autograd])
def test_a_step_with_bad_gradients_is_skipped_if_clipping_says_so(library, clip):
    """The loss is 0 and finite, its gradients are NaN, and the weights stay what they were."""
    model, optimizer = line(library)
    loss = train_epoch(model, [(ROWS, ZEROS)], distance, optimizer, "cpu", before_step=partial(clip, nonfinite="skip"))
    assert (loss, weights(model)) == (0.0, [0.0] * 3)
    assert np.isnan(model.weight.grad.numpy()).all()


@pytest.mark.parametrize("library", [torch, autograd])
def test_an_epoch_without_a_step_is_warned_of(library):
    """Gradients that are never finite would otherwise look like a plateau."""
    model, optimizer = line(library)
    skip = partial(clip_by_global_norm, max_norm=1.0, nonfinite="skip")
    with pytest.warns(UserWarning, match=r"before_step left out every step, 2 of 2"):
        train_epoch(model, [(ROWS, ZEROS)] * 2, distance, optimizer, "cpu", before_step=skip)


def test_sparse_gradients_are_looked_at():
    """An embedding's are, too, where what was returned is not finite."""
    model = torch.nn.Sequential(torch.nn.Embedding(3, 1, sparse=True), torch.nn.Flatten())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = model[0].weight.detach().clone()
    batch = (torch.tensor([[1], [2]]), torch.ones(2, 1))
    train_epoch(model, [batch], torch.nn.MSELoss(), optimizer, "cpu", before_step=lambda _: math.inf)
    assert not torch.equal(before, model[0].weight)


def test_a_new_wrapper_around_a_model_in_evaluation_mode_freezes_nothing():
    """Whoever loads a model and wraps it has frozen no layer of it."""
    inner = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 1)).eval()
    model = torch.nn.Sequential(inner)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train_epoch(model, [(ROWS, ZEROS)], torch.nn.MSELoss(), optimizer, "cpu")
    assert inner[0].num_batches_tracked == 1
    assert (model.training, inner.training, inner[0].training) == (True, False, False)


@pytest.mark.parametrize("library", [torch, autograd])
def test_the_steps_after_a_skipped_one_are_taken(library):
    """A function that says nothing steps, and so does the next batch."""
    model, optimizer = line(library)
    skip = partial(clip_by_global_norm, max_norm=1.0, nonfinite="skip")
    train_epoch(model, [(ROWS, ZEROS), (ROWS, ZEROS + 1)], distance, optimizer, "cpu", before_step=skip)
    assert all(np.isfinite(weights(model)))
    assert any(weights(model))


@pytest.mark.filterwarnings("error")
def test_an_epoch_with_one_step_is_not_warned_of():
    """Now and then one is left out."""
    model, optimizer = line(torch, weight=1.0)
    answers = iter([False, True, False])
    train_epoch(model, [(ROWS, ZEROS)] * 3, distance, optimizer, "cpu", before_step=lambda _: next(answers))
    assert weights(model) != [1.0] * 3


@pytest.mark.parametrize("library", [torch, autograd])
def test_gradients_that_were_set_to_zero_are_a_step(library):
    """Weight decay acts, though the norm that is returned is not finite."""
    model, optimizer = line(library, weight=1.0)
    norms = []

    def zeroed(model):
        model.weight.grad = model.weight.grad * math.inf
        norms.append(clip_by_global_norm(model, 1.0, nonfinite="zero"))
        return norms[0]

    train_epoch(model, [(ROWS, ZEROS)], distance, optimizer, "cpu", before_step=zeroed)
    assert not math.isfinite(norms[0])
    assert weights(model) == pytest.approx([0.95] * 3)


@pytest.mark.parametrize("library", [torch, autograd])
@pytest.mark.parametrize(
    ("answer", "steps"),
    [
        (None, True),
        (True, True),
        (0.0, True),
        (math.inf, True),  # the gradients are finite: only their norm is too large
        ([math.nan], True),
        ("no", True),
        (False, False),
        (np.False_, False),
        (np.array([False, False]), True),
        (np.array([math.nan, math.nan]), True),
    ],
)
def test_what_the_function_returns_decides(library, answer, steps):
    """False leaves the step out; a number that is not finite does so only for gradients that are not either."""
    model, optimizer = line(library, weight=1.0)
    train_epoch(model, [(ROWS, ZEROS)], distance, optimizer, "cpu", before_step=lambda _: answer)
    assert (weights(model) != [1.0] * 3) == steps


@pytest.mark.parametrize("bad", [True, False])
def test_tensors_answer_too(bad):
    """A truth value, and a norm of torch's, of gradients that are bad or good."""
    for answer in (lambda norm: norm.isfinite(), lambda norm: norm):
        model, optimizer = line(torch, weight=0.0 if bad else 1.0)
        before = weights(model)
        train_epoch(
            model, [(ROWS, ZEROS)], distance, optimizer, "cpu",
            before_step=lambda m, answer=answer: answer(torch.nn.utils.get_total_norm([m.weight.grad])),
        )  # fmt: skip
        assert (weights(model) == before) == bad


@pytest.mark.parametrize("library", [torch, autograd])
@pytest.mark.parametrize("root_trains", [True, False])
def test_a_frozen_batch_norm_stays_frozen_while_the_rest_trains(library, root_trains):
    """Its averages stay; unless the model itself is in evaluation mode, from which all of it is trained."""
    model = library.nn.Sequential(library.nn.Linear(3, 2), library.nn.BatchNorm1d(2), library.nn.Linear(2, 1))
    model.train(root_trains)
    model[1].eval()
    optimizer = library.optim.SGD(model.parameters(), lr=0.001)
    train_epoch(model, [(ROWS, ZEROS)] * 3, library.nn.MSELoss(), optimizer, "cpu")
    assert int(model[1].num_batches_tracked) == (0 if root_trains else 3)
    assert (model[1].running_mean.numpy().tolist() == [0, 0]) == root_trains
    assert [module.training for module in model.modules()] == [root_trains, root_trains, False, root_trains]
