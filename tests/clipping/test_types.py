"""What a type checker is told that clipping returns."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

PROGRAM = """
from typing import Any, assert_type
import jax
import numpy as np
import torch
from course_lib.autograd import Tensor, nn
from course_lib.clipping import clip_by_global_norm, clip_by_value

model = torch.nn.Sequential(torch.nn.Linear(2, 1))
assert_type({clip}(model, 1.0), torch.Tensor)
assert_type({clip}(model.parameters(), 1.0, nonfinite="skip"), torch.Tensor)
assert_type({clip}(model.named_parameters(), 1.0), torch.Tensor)
assert_type({clip}(dict(model.named_parameters()), 1.0), torch.Tensor)
assert_type({clip}([model, model], 1.0), torch.Tensor)

ours = nn.Linear(2, 1)
assert_type({clip}(ours, 1.0), Tensor)
assert_type({clip}(ours.weight, 1.0), Tensor)
assert_type({clip}(ours.parameters(), 1.0), Tensor)


def arrays(x: np.ndarray[Any, np.dtype[np.float64]], y: jax.Array, params: dict[str, jax.Array], what: Any) -> None:
    assert_type({clip}([x, x], 1.0), tuple[list[np.ndarray[Any, np.dtype[np.float64]]], Any])
    assert_type({clip}(y, 1.0), tuple[jax.Array, Any])
    assert_type({clip}(params, y, axis_name="devices"), tuple[dict[str, jax.Array], Any])
    assert_type({clip}(what, 1.0), Any)
"""


def test_the_type_that_comes_back_is_the_target_s(tmp_path):
    """A tensor for what has gradients, and for arrays the tree that went in, with its norm."""
    programs = [tmp_path / f"{clip}.py" for clip in ("clip_by_global_norm", "clip_by_value")]
    for program in programs:
        program.write_text(PROGRAM.replace("{clip}", program.stem), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", *programs]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
