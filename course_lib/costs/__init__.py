"""What a backward pass costs: FLOPs and saved bytes by formula, and the same counted in torch."""

from course_lib.costs.blocks import peak_bytes
from course_lib.costs.checkpointing import CheckpointPlan, best_every, checkpoint_plan
from course_lib.costs.cost import Cost, TrainingCost, frozen, law, training_cost
from course_lib.costs.counted import Flops, count_flops
from course_lib.costs.elementwise import (
    cross_entropy,
    dropout,
    elementwise,
    embedding,
    layer_norm,
    max_pool2d,
    mse_loss,
)
from course_lib.costs.kept import SavedTensors, saved_tensors
from course_lib.costs.products import attention, conv2d, linear
from course_lib.costs.recurrent import gru, lstm, rnn
from course_lib.costs.transformer import mlp, transformer_activation_bytes, transformer_layer

__all__ = [
    "CheckpointPlan",
    "Cost",
    "Flops",
    "SavedTensors",
    "TrainingCost",
    "attention",
    "best_every",
    "checkpoint_plan",
    "conv2d",
    "count_flops",
    "cross_entropy",
    "dropout",
    "elementwise",
    "embedding",
    "frozen",
    "gru",
    "law",
    "layer_norm",
    "linear",
    "lstm",
    "max_pool2d",
    "mlp",
    "mse_loss",
    "peak_bytes",
    "rnn",
    "saved_tensors",
    "training_cost",
    "transformer_activation_bytes",
    "transformer_layer",
]
