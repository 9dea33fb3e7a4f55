"""Errors of others keep their type and words, and say which batch it was and what it was like."""

import numpy as np
import pytest
import torch
from torch import nn

from course_lib import autograd
from course_lib.training import train_epoch, validate
from course_lib.training.epochs.error_notes import add_note_to_errors, describe_shapes

X, Y = np.ones((4, 3), np.float32), np.ones((4, 1), np.float32)
CLASSES = np.array([0, 1, 1, 0])
MODEL = r"the model was called with {}; its parameters are float32\. Inputs that are not indices need the dtype"
CRITERION = r"the criterion is for outputs float32 \(4, {}\) and targets {}\. Classes must be int64, from 0 to C - 1"
ARGUMENTS = r"\[float32 \(4, 3\), float32 \(4, 3\)\], each an argument, as the inputs are a {}"
CASES = {
    "float64 inputs": ((X.astype(np.float64), Y), nn.MSELoss(), RuntimeError, MODEL.format(r"float64 \(4, 3\)")),
    "integer inputs": ((X.astype(int), Y), nn.MSELoss(), RuntimeError, MODEL.format(r"int64 \(4, 3\)")),
    "wrong size": ((X[:, :2], Y), nn.MSELoss(), RuntimeError, MODEL.format(r"float32 \(4, 2\)")),
    "two inputs": (((X, X), Y), nn.MSELoss(), TypeError, MODEL.format(ARGUMENTS.format("tuple"))),
    "a list of inputs": (([X, X], Y), nn.MSELoss(), TypeError, MODEL.format(ARGUMENTS.format("list"))),
    "float classes": (
        (X, CLASSES.astype(np.float32)),
        nn.CrossEntropyLoss(),
        RuntimeError,
        CRITERION.format(2, r"float32 \(4,\)"),
    ),
    "classes in columns": (
        (X, CLASSES[:, None]),
        nn.CrossEntropyLoss(),
        RuntimeError,
        CRITERION.format(2, r"int64 \(4, 1\)"),
    ),
    "class beyond": ((X, CLASSES + 5), nn.CrossEntropyLoss(), IndexError, CRITERION.format(2, r"int64 \(4,\)")),
    "class beyond the weights": (
        (X, CLASSES + 5),
        nn.CrossEntropyLoss(weight=torch.ones(2)),
        IndexError,
        r"the criterion is for targets int64 \(4,\)\. Classes must be int64, from 0 to C - 1",
    ),
    "integers for yes and no": (
        (X, Y.astype(int)),
        nn.BCEWithLogitsLoss(),
        RuntimeError,
        CRITERION.format(1, r"int64 \(4, 1\)"),
    ),
    "single class": ((X, np.int64(1)), nn.CrossEntropyLoss(), ValueError, "the criterion is for targets int64"),
    "strings": (
        (np.array([["a"] * 3] * 4), Y),
        nn.MSELoss(),
        ValueError,
        r"what was to become tensors is .*<U1 \(4, 3\)",
    ),
    "strings as targets": (
        (X, np.array(["a"] * 4)),
        nn.MSELoss(),
        ValueError,
        r"what was to become tensors is .*<U1 \(4,\)",
    ),
    "single samples": ((X, np.float32(1)), nn.MSELoss(), ValueError, "the criterion is for targets float32"),
}


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_the_error_of_a_batch_gets_a_note(name, accumulate):
    """In training and validation, for the second batch; type and words are torch's."""
    batch, criterion, kind, note = CASES[name]
    outputs = 2 if isinstance(criterion, nn.CrossEntropyLoss) else 1
    model = nn.Linear(3, outputs)
    good, optimizer = (X, CLASSES if outputs == 2 else Y), torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(kind) as caught:
        train_epoch(model, [good, batch], criterion, optimizer, "cpu", epoch=3, accumulate=accumulate)
    assert_noted(caught.value, rf"^train, epoch 3, batch 1 \(counted from 0\): {note}")
    with pytest.raises(kind) as caught:
        validate(model, [good, batch], criterion, "cpu")
    assert_noted(caught.value, rf"^validate, batch 1 \(counted from 0\): {note}")


def assert_noted(error, pattern):
    (note,) = error.__notes__
    with pytest.raises(RuntimeError, match=pattern):
        raise RuntimeError(note)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_the_small_engine_is_noted_as_well(accumulate):
    """Its model, and its criterion."""
    model = autograd.nn.Linear(3, 2)
    optimizer = autograd.optim.SGD(model.parameters(), lr=0.1)
    for batch, note in (
        ((X[:, :2], CLASSES), r"model was called with float32 \(4, 2\); its parameters are float32"),
        ((X, CLASSES + 5), r"criterion is for outputs float32 \(4, 2\) and targets int64 \(4,\)"),
    ):
        with pytest.raises((ValueError, RuntimeError, IndexError)) as caught:
            train_epoch(
                model, [(X, CLASSES), batch], autograd.nn.CrossEntropyLoss(), optimizer, "cpu", accumulate=accumulate
            )
        assert_noted(caught.value, rf"^train, batch 1 \(counted from 0\): the {note}")


def test_containers_and_other_things_are_named():
    """Three entries of each, and the types of what has no dtype."""
    model = nn.Linear(3, 1)
    inputs = {"a": [X] * 5, "b": None}
    with pytest.raises(TypeError) as caught:
        validate(model, [(inputs, Y)], nn.MSELoss(), "cpu")
    text = r"\{a: \[float32 \(4, 3\), float32 \(4, 3\), float32 \(4, 3\), \.\.\.\], b: NoneType\}"
    assert_noted(caught.value, rf"the model was called with {text}; its")


def test_a_model_that_returns_more_than_its_outputs_is_noted():
    """A recurrent one, whose states the criterion gets too: it is said what they are."""
    with pytest.raises(AttributeError) as caught:
        validate(nn.GRU(3, 1), [(X[:, None], Y[:, None])], nn.MSELoss(), "cpu")
    assert_noted(caught.value, r"outputs \[float32 \(4, 1, 1\), float32 \(1, 1, 1\)\] and targets float32 \(4, 1, 1\)")


def test_the_metric_that_fails_is_named():
    """Of two."""
    metrics = {"good": lambda z, y: z.mean(), "bad": lambda z, y: z.mean() + y.no_such_thing}
    with pytest.raises(AttributeError) as caught:
        validate(nn.Linear(3, 1), [(X, Y)], nn.MSELoss(), "cpu", metrics=metrics)
    assert_noted(
        caught.value, r"batch 0 .* the metric 'bad' was called with outputs float32 \(4, 1\) and targets float"
    )


def test_a_key_pressed_gets_no_note():
    """It has nothing to do with the batch."""

    def pressed(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        validate(nn.Linear(3, 1), [(X, Y)], pressed, "cpu")
    assert not hasattr(caught.value, "__notes__")


def test_a_note_is_never_in_the_way():
    """It stands there once, not under errors of other causes, and not at all where it cannot be made."""

    class Broken:
        dtype = "float32"

        @property
        def shape(self):
            raise RuntimeError("no shape")

    assert describe_shapes([Broken()]) == "[Broken]"
    assert describe_shapes((1, "a", None)) == "[int, str, NoneType]"
    error = ValueError("mine")
    for raised in (error, error, NotImplementedError("never"), torch.OutOfMemoryError("full")):
        with pytest.raises(type(raised)), add_note_to_errors(lambda: "a note"):
            raise raised
        assert getattr(raised, "__notes__", []) == (["a note"] if raised is error else [])
