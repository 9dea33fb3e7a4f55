"""A device that is not the CPU, on any machine: its tensors hold numbers, and torch takes it for an accelerator.

torch lets a backend be written in Python, under a name of its own. This one keeps its numbers in tensors on the CPU, to
which only the operations run here have access. As on a GPU, operands must lie on one device (but for tensors without
dimensions), ``numpy()`` is refused, and a number comes to the host only by a copy. Each copy is counted.

To register a device is for good and for the whole process, so that is done in a process of its own.
"""

from collections import Counter
from unittest.mock import patch

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend

__all__ = ["NAME", "OnSecond", "Second", "generator", "register"]

NAME = "second"
aten = torch.ops.aten
COPIES = {aten._to_copy.default, aten.copy_.default}


generator = torch.Generator()  # of the device


class Module(_DummyBackendModule):
    """The functions of torch.second: as torch.cuda, it knows the random numbers of all devices, here of one."""

    def get_rng_state_all(self):
        """Return where each generator is."""
        return [generator.get_state()]

    def set_rng_state_all(self, states):
        """Set each generator back."""
        generator.set_state(*states)


def register():
    """Make the device known to torch."""
    _setup_privateuseone_for_python_backend(NAME, backend_module=Module())


class OnSecond(torch.Tensor):
    """A tensor on the device; ``numbers`` are what is stored there."""

    @staticmethod
    def __new__(cls, numbers):
        """Put numbers, a tensor on the CPU, on the device."""
        layout = {"strides": numbers.stride(), "storage_offset": numbers.storage_offset()}
        made = cls._make_wrapper_subclass(cls, numbers.shape, dtype=numbers.dtype, device=f"{NAME}:0", **layout)
        made.numbers = numbers
        return made

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is torch.Tensor.numpy:
            raise TypeError(f"can't convert a tensor on {NAME} to NumPy: copy it to the host first")
        if function is torch.Tensor.tolist:  # which torch refuses for subclasses
            return args[0].cpu().tolist()
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, operation, types, args=(), kwargs=None):
        raise RuntimeError("the device is used outside of a Second()")


class Second(TorchDispatchMode):
    """While this is entered the device can be used.

    ``crossed`` counts copies to the host and to the device, ``waited`` how often the host waited for the device.
    """

    def __init__(self):
        super().__init__()
        self.crossed, self.waited = Counter(), 0
        self._waits = patch("torch.accelerator.synchronize", self._synchronize)

    def __enter__(self):
        self._waits.start()
        return super().__enter__()

    def __exit__(self, *exc_info):
        self._waits.stop()
        return super().__exit__(*exc_info)

    def _synchronize(self, device=None):
        self.waited += 1

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        """Do the operation with the numbers, after what a GPU would refuse has been refused."""
        kwargs = dict(kwargs or {})
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        there = [x for x in tensors if isinstance(x, OnSecond)]
        to = kwargs.get("device")
        result_there = bool(there) if to is None else torch.device(to).type == NAME
        if operation in COPIES:
            onto = args[0] if operation is aten.copy_.default else None
            self._cross(args[-1] if onto is not None else args[0], result_there if onto is None else onto)
        elif there and any(x.dim() and not isinstance(x, OnSecond) for x in tensors):
            raise RuntimeError(f"{operation}: expected all tensors on one device, found {NAME} and cpu")
        elif operation is aten._local_scalar_dense.default and there:
            self.crossed["to the host"] += 1
        if to is not None:
            kwargs["device"] = "cpu"
        known = {id(x.numbers): x for x in there}
        came = operation(*tree_map(_numbers, args), **tree_map(_numbers, kwargs))
        if operation is aten.copy_.default:
            return args[0]

        def placed(x):
            if not isinstance(x, torch.Tensor):
                return x
            if result_there:
                return known[id(x)] if id(x) in known else OnSecond(x)
            return x.clone() if id(x) in known else x

        return tree_map(placed, came)

    def _cross(self, source, onto):
        """Count a copy between the devices."""
        leaves, arrives = isinstance(source, OnSecond), onto is True or isinstance(onto, OnSecond)
        if leaves != arrives:
            self.crossed["to the host" if leaves else "to the device"] += 1


def _numbers(x):
    return x.numbers if isinstance(x, OnSecond) else x
