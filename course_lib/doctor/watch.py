"""Watch any training loop of torch, and report on its gradients, time and memory."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.doctor.doctor import Doctor
from course_lib.doctor.report.report_file import check_report_path
from course_lib.errors import InputError
from course_lib.extras import load

if TYPE_CHECKING:
    import torch

__all__ = ["watch"]


def watch(
    model: "torch.nn.Module",
    optimizer: "torch.optim.Optimizer | Sequence[torch.optim.Optimizer]",
    loss_fn: Callable[..., Any] | None = None,
    *,
    write_to: str | Path | None = None,
) -> Doctor:
    """Watch a training loop, which stays as it is: what is wrong with its gradients, and where time and memory go.

    Put the loop into a ``with`` block, and ask for the :meth:`~course_lib.doctor.Doctor.report` afterwards. It says
    whether gradients vanish, explode, die, add up, or barely move the weights; which operation made the first loss or
    gradient that is not finite; which part of a step, which modules and which operations take the time; what takes the
    memory; and what to try, each on what evidence.

    Parameters
    ----------
    model : torch.nn.Module
        What the loop calls: a compiled model rather than the one that it was made from. For several models, an
        ``nn.ModuleList`` of them.
    optimizer : torch.optim.Optimizer or sequence of them
        The steps of the one that steps first are the loop's steps.
    loss_fn : callable, optional
        A module, such as ``nn.CrossEntropyLoss()``: then an operation inside it can be named as the origin of NaN.
        Calls of a function cannot be seen; there the report names the operations of the graph.
    write_to : str or Path, optional
        A file that the report is written to when the block ends, even by an error: ``.html``, ``.md`` or ``.txt``.

    Returns
    -------
    Doctor
        To be entered with ``with``.

    Raises
    ------
    InputError
        If these are no model and optimizers of torch, an optimizer steps no parameter of the model, or the file cannot
        be written.

    Notes
    -----
    **Price.** Less than 3% of a step of a millisecond or more, as ``python -m benchmarks.doctor`` measures it beside
    the bare loop; of shorter steps more, up to a tenth of one of 0.3 milliseconds. In each step the loss and one
    gradient are looked at, which takes 20 to 40 microseconds. All gradients are measured at the first three steps, and
    then whenever that has taken less than 0.6% of the loop's time. Where the loop is so long that it costs about 0.3%,
    three steps are looked into module by module, and four are recorded with torch's profiler. The first value that is
    not finite is worth more: once, the calls of that step are repeated operation by operation.

    **What is attached.** Hooks on the optimizers' steps and on the model's calls; ``Tensor.backward`` is wrapped inside
    the block. What the loop computes stays the same to the last bit. Gradients are seen as the optimizer gets them,
    after clipping and unscaling. What fails in the doctor never stops the loop, and stands in the report's notes. A
    copy of the parameters is kept, as by :class:`~course_lib.monitoring.GradientMonitor`.

    **The first NaN** is found on a CPU in the step that made it, before its update. On an accelerator the loss is read
    when gradients are measured, and one gradient in each step of 5 milliseconds or more; where an update came first,
    only the step is known. Where several processes train together, the step is not repeated.

    Examples
    --------
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    >>> with watch(model, optimizer) as doctor:
    ...     for _ in range(20):
    ...         x = torch.randn(32, 8)
    ...         optimizer.zero_grad()
    ...         (model(x) - x.sum(1, keepdim=True)).square().mean().backward()
    ...         optimizer.step()
    >>> doctor.report().kinds[0]
    'barely moves'
    """
    torch = load("torch", extra="torch")
    if not isinstance(model, torch.nn.Module):
        raise InputError(
            f"the model must be a torch.nn.Module, but got a {type(model).__name__}. Pass what the loop calls."
        )
    optimizers: list[Any] = list(optimizer) if isinstance(optimizer, (list, tuple)) else [optimizer]
    for each in optimizers:
        if not isinstance(each, torch.optim.Optimizer):
            raise InputError(
                f"the optimizer must be a torch.optim.Optimizer, or a list of them, but got a {type(each).__name__}. "
                "Write watch(model, optimizer)."
            )
    if not optimizers:
        raise InputError("there must be an optimizer, but the list is empty. Write watch(model, optimizer).")
    if loss_fn is not None and not callable(loss_fn):
        raise InputError(
            f"loss_fn must compute the loss, but got a {type(loss_fn).__name__}. Pass it uncalled, or leave it out."
        )
    doctor = Doctor(loss_fn, write_to=None if write_to is None else check_report_path(write_to))
    for each in optimizers:
        doctor.add(each, model)
    return doctor
