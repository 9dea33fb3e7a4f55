"""Count the cost of a backward pass by formula: FLOPs, saved bytes, checkpointing; and how much of a device it uses."""

from course_lib.costs.checkpointing import CheckpointPlan, best_checkpoint_interval, checkpoint_plan
from course_lib.costs.cost import Cost, TrainingCost, freeze, ratio_from_first_layer, training_cost
from course_lib.costs.elementwise import (
    cross_entropy,
    dropout,
    elementwise,
    embedding,
    layer_norm,
    max_pool2d,
    mse_loss,
)
from course_lib.costs.products import attention, conv2d, linear
from course_lib.costs.recurrent import gru, lstm, rnn
from course_lib.costs.transformer import mlp, transformer_activation_bytes, transformer_layer
from course_lib.costs.utilization import mfu, peak_flops

__all__ = [
    "CheckpointPlan",
    "Cost",
    "TrainingCost",
    "attention",
    "best_checkpoint_interval",
    "checkpoint_plan",
    "conv2d",
    "cross_entropy",
    "dropout",
    "elementwise",
    "embedding",
    "freeze",
    "gru",
    "layer_norm",
    "linear",
    "lstm",
    "max_pool2d",
    "mfu",
    "mlp",
    "mse_loss",
    "peak_flops",
    "ratio_from_first_layer",
    "rnn",
    "training_cost",
    "transformer_activation_bytes",
    "transformer_layer",
]
