"""What a type checker is told that clipping returns; ``tests/house`` runs mypy on it, and nothing calls it."""

from typing import Any, assert_type

import jax
import numpy as np
import torch

from course_lib.autograd import Tensor, nn
from course_lib.clipping import clip_by_global_norm, clip_by_value

Array = np.ndarray[Any, np.dtype[np.float64]]


def what_has_gradients_gives_a_norm(model: torch.nn.Linear, ours: nn.Linear) -> None:
    """A tensor, of torch or of ours."""
    assert_type(clip_by_global_norm(model, 1.0), torch.Tensor)
    assert_type(clip_by_global_norm(model.parameters(), 1.0, nonfinite="skip"), torch.Tensor)
    assert_type(clip_by_global_norm(model.named_parameters(), 1.0), torch.Tensor)
    assert_type(clip_by_global_norm(dict(model.named_parameters()), 1.0), torch.Tensor)
    assert_type(clip_by_global_norm([model, model], 1.0), torch.Tensor)
    assert_type(clip_by_global_norm(ours, 1.0), Tensor)
    assert_type(clip_by_global_norm(ours.weight, 1.0), Tensor)
    assert_type(clip_by_global_norm(ours.parameters(), 1.0), Tensor)
    assert_type(clip_by_value(model, 1.0), torch.Tensor)
    assert_type(clip_by_value(model.parameters(), 1.0, nonfinite="skip"), torch.Tensor)
    assert_type(clip_by_value(model.named_parameters(), 1.0), torch.Tensor)
    assert_type(clip_by_value(dict(model.named_parameters()), 1.0), torch.Tensor)
    assert_type(clip_by_value([model, model], 1.0), torch.Tensor)
    assert_type(clip_by_value(ours, 1.0), Tensor)
    assert_type(clip_by_value(ours.weight, 1.0), Tensor)
    assert_type(clip_by_value(ours.parameters(), 1.0), Tensor)


def arrays_give_the_tree_and_its_norm(x: Array, y: jax.Array, params: dict[str, jax.Array], what: Any) -> None:
    """The tree that went in, clipped."""
    assert_type(clip_by_global_norm([x, x], 1.0), tuple[list[Array], Any])
    assert_type(clip_by_global_norm(y, 1.0), tuple[jax.Array, Any])
    assert_type(clip_by_global_norm(params, y, axis_name="devices"), tuple[dict[str, jax.Array], Any])
    assert_type(clip_by_global_norm(what, 1.0), Any)
    assert_type(clip_by_value([x, x], 1.0), tuple[list[Array], Any])
    assert_type(clip_by_value(y, 1.0), tuple[jax.Array, Any])
    assert_type(clip_by_value(params, y, axis_name="devices"), tuple[dict[str, jax.Array], Any])
    assert_type(clip_by_value(what, 1.0), Any)
