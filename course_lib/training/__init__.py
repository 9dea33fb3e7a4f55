"""Train a model: epochs on torch and ``course_lib.autograd`` models alike, and a pure jitted step for JAX.

>>> from course_lib.autograd import nn, optim, tensor
>>> from course_lib.training import train_epoch
>>> model, x = nn.Linear(1, 1), tensor([[1.0], [2.0], [3.0]])
>>> optimizer = optim.SGD(model.parameters(), lr=0.1)
>>> losses = [train_epoch(model, [(x, 2 * x)], nn.MSELoss(), optimizer, "cpu") for epoch in range(100)]
>>> losses[-1] < losses[0]
True
"""

from course_lib.training.epochs import EpochLoss, train_epoch, validate
from course_lib.training.fit import fit
from course_lib.training.history import TrainingHistory
from course_lib.training.jax_step import make_jax_step
from course_lib.training.loader import ArrayLoader
from course_lib.training.metrics import accuracy
from course_lib.training.processes import run_processes
from course_lib.training.traffic import bytes_sent

__all__ = [
    "ArrayLoader",
    "EpochLoss",
    "TrainingHistory",
    "accuracy",
    "bytes_sent",
    "fit",
    "make_jax_step",
    "run_processes",
    "train_epoch",
    "validate",
]
