"""Train or validate for one epoch: batches, criterion, losses, notes on errors, skipped steps."""

from course_lib.training.epochs.epoch import train_epoch, validate
from course_lib.training.epochs.epoch_loss import EpochLoss

__all__ = ["EpochLoss", "train_epoch", "validate"]
