"""Look into torch: operations, module calls, the graph and what it saves, storages, FLOPs; and restore what changed."""

from course_lib.instrument.flop_counter import Flops, count_flops
from course_lib.instrument.saved_tensors import SavedTensors, saved_tensors
from course_lib.instrument.storages import peak_bytes

__all__ = ["Flops", "SavedTensors", "count_flops", "peak_bytes", "saved_tensors"]
