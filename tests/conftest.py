"""What every test may use: the machine's tools, or a skip that says which one is missing."""

import os
import shutil
from collections.abc import Callable

import pytest


@pytest.fixture(scope="session")
def tool() -> Callable[..., str]:
    """Return a finder of commands: the first of the names that is installed, else a skip, and in CI a failure."""

    def find(*names: str, package: str) -> str:
        for name in names:
            if path := shutil.which(name):
                return path
        missing = f"{names[0]} is not installed; run: sudo apt-get install {package}"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)

    return find


@pytest.fixture(scope="session")
def chromium(tool: Callable[..., str]) -> str:
    """Return the path of Chrome or Chromium: Chrome first, because Ubuntu's Chromium is a snap, which sees no /tmp."""
    return tool("google-chrome", "chromium", "chromium-browser", package="chromium")
