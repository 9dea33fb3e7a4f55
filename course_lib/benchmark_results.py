"""Read the committed benchmark results, in a checkout and in an installed package alike."""

import json
from pathlib import Path
from typing import Any

from course_lib.errors import InputError

__all__ = ["read_benchmark", "recorded_gpu"]

PACKAGED = Path(__file__).parent / "results"  # the wheel holds a copy of the checkout's benchmarks/results
CHECKOUT = Path(__file__).parents[1] / "benchmarks" / "results"


def read_benchmark(name: str) -> dict[str, Any]:
    """Read the results of ``benchmarks/<name>.py``, with their date and the versions of what was measured.

    Raises
    ------
    InputError
        If nothing was measured under that name.

    Examples
    --------
    >>> read_benchmark("autograd")["units"]
    'seconds of CPU; bytes for tower'
    """
    folder = CHECKOUT if CHECKOUT.is_dir() else PACKAGED
    path = folder / f"{name}.json"
    if not path.is_file():
        known = ", ".join(sorted(found.stem for found in folder.glob("*.json")))
        raise InputError(f"the name must be that of a benchmark with results, {known}, but it is {name!r}.")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def recorded_gpu(section: str) -> dict[str, Any] | None:
    """Return what ``benchmarks.gpu`` recorded in one section, or None where no GPU has been recorded.

    Parameters
    ----------
    section : str
        ``profile``, ``trace``, ``precision``, ``roofline``, ``mfu``, ``memory``, ``compile`` or ``overhead``.

    Returns
    -------
    dict or None
        The section's numbers; ``text`` lays them out, below a line with the GPU's name, the versions and the date.

    Examples
    --------
    >>> if panel := recorded_gpu("no such section"):
    ...     print(panel["text"])
    """
    try:
        found = read_benchmark("gpu")
    except InputError:
        return None
    panel: dict[str, Any] | None = found["results"].get(section)
    if panel is None:
        return None
    on = f"recorded on {found['gpu']}, torch {found['versions']['torch']}, {found['date']}"
    return panel | {"text": f"{on}\n{panel['text']}"}
