"""Load an optional dependency where it is used, or say which extra brings it."""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

from course_lib.errors import MissingExtraError

__all__ = ["load"]

NAME = "the-backward-pass"


def load(module: str, *, extra: str) -> ModuleType:
    """Import and return ``module``.

    Parameters
    ----------
    module : str
        Dotted name of the module.
    extra : str
        The extra of ``the-backward-pass`` that installs it.

    Raises
    ------
    MissingExtraError
        If the module, or something it needs, is not installed.

    Examples
    --------
    >>> load("numpy", extra="torch").float32(2)
    np.float32(2.0)
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"this needs {module}, which could not be imported ({error}); "
            f"install {NAME}[{extra}] with: {_command(extra)}"
        ) from error


def _command(extra: str) -> str:
    """Return the command that installs an extra from where this package came from, since no package index has it."""
    import shlex
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    origin, checkout = _origin(), Path(__file__).parents[1]
    if origin.get("dir_info", {}).get("editable"):
        checkout = Path(url2pathname(urlsplit(origin["url"]).path))
    elif origin:
        source = origin.get("vcs_info", {})
        url = f"{source['vcs']}+{origin['url']}" if source else origin["url"]
        url += f"@{source['requested_revision']}" if "requested_revision" in source else ""
        return f"pip install {shlex.quote(f'{NAME}[{extra}] @ {url}')}"
    elif not (checkout / "pyproject.toml").is_file():
        return f"pip install {shlex.quote(f'{NAME}[{extra}]')}"  # there was an index that had it
    return f"pip install -e {shlex.quote(f'{checkout}[{extra}]')}"


def _origin() -> dict[str, Any]:
    """Return what pip wrote down about the folder or address this was installed from (PEP 610), or nothing."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        origin: dict[str, Any] = json.loads(distribution(NAME).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return {}
    return origin
