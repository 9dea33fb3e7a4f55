"""Pages are run again under the settings that they were built under, and compared as what they are."""

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from nbval.plugin import IPyNbFile

from course_grader.notebooks.execute import KERNEL_ENVIRONMENT
from course_grader.notebooks.page_items import PageFile

os.environ.update(KERNEL_ENVIRONMENT)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: Any) -> Generator[None, list[Any], list[Any]]:
    """Put our notebook in the place of nbval's."""
    collected = yield
    return [PageFile.from_parent(parent, path=file_path) if isinstance(one, IPyNbFile) else one for one in collected]
