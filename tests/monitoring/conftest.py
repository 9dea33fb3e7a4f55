"""Both ways in which gradients in memory can be read: by compiled loops, and as on any other device."""

import pytest

from course_lib.monitoring.readers import on_torch
from course_lib.monitoring.readers.loops import loops


@pytest.fixture(scope="module", params=["compiled", "in rows"])
def way(request):
    """Read gradients in each of the two ways."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "in rows":
            patch.setattr(on_torch, "loops", lambda: None)
        else:
            assert loops(), "Numba must be importable where the tests run"
        yield request.param


@pytest.fixture
def in_rows(monkeypatch):
    """Read gradients as on any other device, or without Numba."""
    monkeypatch.setattr(on_torch, "loops", lambda: None)
