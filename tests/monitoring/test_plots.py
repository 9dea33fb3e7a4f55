"""What the monitor draws."""

import re

import numpy as np
import pytest

from course_lib.errors import InputError
from course_lib.monitoring import GradientMonitor
from tests.monitoring.zoo import backward, fit, mlp


def test_the_heat_map_has_a_row_for_each_weight_and_a_column_for_each_step():
    """Root mean squares, so that layers of different size compare."""
    monitor = fit(mlp(2), steps=5)
    drawn = monitor.heat_map()
    assert list(drawn.rows) == ["0.weight", "2.weight", "4.weight"]
    assert list(drawn.columns) == [1, 2, 3, 4, 5]
    frame = monitor.history
    norms = frame[frame.parameter == "4.weight"].norm.to_numpy()
    np.testing.assert_allclose(drawn.maps[""][2], norms / (4 * 24) ** 0.5)


def test_the_norm_curves_are_the_total_and_what_is_asked_for():
    """At most three, by their names."""
    monitor = fit(mlp(2), steps=5)
    total = np.sqrt(monitor.history.groupby("step").norm.apply(lambda n: (n**2).sum()))
    assert f"all together: from {total.iloc[0]:.3g} to {total.iloc[-1]:.3g}" in repr(monitor.norm_curves("0.weight"))
    with pytest.raises(InputError, match=r"there is no parameter 'head'"):
        monitor.norm_curves("head")
    with pytest.raises(InputError, match=r"got a list\. Write norm_curves\(\*names\)"):
        monitor.norm_curves(["0.weight"])
    with pytest.raises(InputError, match=r"at most three parameters"):
        monitor.norm_curves("0.weight", "2.weight", "4.weight", "0.bias")


def test_the_norm_curves_have_a_gap_where_a_gradient_is_nan_and_none_where_it_is_absent():
    """The norm of the others would look as if all were well."""
    model = mlp(1)
    with GradientMonitor(model) as monitor:
        for step in range(8):
            backward(model)
            if step == 2:
                model[2].weight.grad = None
            if step > 4:
                model[0].weight.grad[0, 0] = float("nan")
            monitor.step()
    assert re.search(
        r"all together: from [^.]*\.\d+ to [^,]*, between [^,]*, 3 not finite", repr(monitor.norm_curves())
    )
