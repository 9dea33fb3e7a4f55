"""The benchmark's own arithmetic; what it measures is not tested."""

import numpy as np
import pytest

from benchmarks.monitoring import TARGETS, spread, table


def test_the_interval_holds_the_true_median_nineteen_times_in_twenty():
    """Of skewed samples, as times are; counted over two thousand of them."""
    rng = np.random.default_rng(0)
    found = [spread(rng.exponential(size=60).tolist()) for _ in range(2000)]
    held = np.mean([s["from"] <= np.log(2) <= s["to"] for s in found])
    assert held == pytest.approx(0.95, abs=0.02)
    assert all(s["from"] <= s["median"] <= s["to"] for s in found)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(-0.02, -0.01, "met"), (0.01, 0.02, "NOT MET"), (-0.01, 0.01, "not shown: more rounds")],
)
def test_a_target_is_met_only_where_the_whole_interval_says_so(low, high, verdict):
    """And missed likewise; in between, nothing is claimed."""
    most = TARGETS["every=1"]
    ratio = {"median": most, "low": 1.0, "high": 1.1, "from": most + low, "to": most + high}
    result = {"ratio": ratio, "share": {"median": 0.04}, "median": 0.01}
    last = table({"healthy": {"every=1": result}}).splitlines()[-1]
    assert last.endswith(f"<= {most}: {verdict}")
