"""Look into torch: operations, module calls, the graph and what it saves, storages, FLOPs; and restore what changed."""

from course_lib.instrument.flop_counter import Flops, count_flops
from course_lib.instrument.flop_owners import ModuleFlops
from course_lib.instrument.saved_tensors import SavedTensors, saved_tensors
from course_lib.instrument.storages import Storage, StorageLog, log_storages, peak_bytes

__all__ = [
    "Flops",
    "ModuleFlops",
    "SavedTensors",
    "Storage",
    "StorageLog",
    "count_flops",
    "log_storages",
    "peak_bytes",
    "saved_tensors",
]
