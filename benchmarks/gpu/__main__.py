"""Record what the book shows of a GPU, in one file with the GPU's name, versions and date.

    python -m benchmarks.gpu                     # on a machine with a CUDA GPU: under eight minutes
    python -m benchmarks.gpu --only memory       # some sections again; the others stay, if it is the same GPU
    python -m benchmarks.gpu --try-on-cpu        # small, writes nothing: does every section still run?

A section that fails is left out, and its error printed. The file is written after each section.
"""

import argparse
import datetime
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # before torch is loaded: the profiler's own notes

import torch

from benchmarks.autograd import list_versions
from benchmarks.gpu.sections import SECTIONS
from benchmarks.gpu.work import LARGE, TINY

__all__ = ["main"]

OUTPUT = Path(__file__).parents[1] / "results" / "gpu.json"


def main(argv: list[str] | None = None) -> int:
    """Record the sections; return 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), default=list(SECTIONS), metavar="SECTION")
    parser.add_argument("--try-on-cpu", action="store_true")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    args = parser.parse_args(argv)
    if not args.try_on_cpu and not torch.cuda.is_available():
        print("this needs a CUDA GPU that torch can see; try it without one: --try-on-cpu", file=sys.stderr)
        return 2
    device, sizes = ("cpu", TINY) if args.try_on_cpu else ("cuda", LARGE)
    about = {} if args.try_on_cpu else describe_gpu()
    recorded, failed = {} if args.try_on_cpu else read_recorded(args.output, about), 0
    for name in args.only:
        start = time.perf_counter()
        try:
            recorded[name] = SECTIONS[name](sizes, device)
        except Exception:  # the others are worth having
            recorded.pop(name, None)
            failed = 1
            print(f"== {name}: failed\n{traceback.format_exc()}", file=sys.stderr)
            continue
        finally:
            torch.cuda.empty_cache()
        print(f"== {name} ({time.perf_counter() - start:.0f} s)\n{recorded[name]['text']}\n", flush=True)
        if not args.try_on_cpu:
            args.output.write_text(json.dumps(about | {"results": recorded}, indent=1) + "\n", encoding="utf-8")
    return failed


def describe_gpu() -> dict[str, Any]:
    """Name the GPU, its memory, the versions, and the day."""
    properties = torch.cuda.get_device_properties(0)
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "gpu": properties.name,
        "memory_gb": round(properties.total_memory / 1e9, 1),
        "capability": f"{properties.major}.{properties.minor}",
        "versions": {k: v for k, v in list_versions().items() if k in ("python", "torch")}
        | {"cuda": torch.version.cuda},
    }


def read_recorded(path: Path, about: dict[str, Any]) -> dict[str, Any]:
    """Return what was recorded before, if on the same GPU with the same versions."""
    if not path.is_file():
        return {}
    before: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    same = all(before.get(key) == about[key] for key in ("gpu", "versions"))
    return dict(before["results"]) if same else {}


if __name__ == "__main__":
    sys.exit(main())
