"""Load an optional dependency where it is used, or say which extra brings it."""

import importlib
from types import ModuleType

from course_lib.errors import MissingExtraError

__all__ = ["load"]


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
            f"install it with: pip install 'the-backward-pass[{extra}]'"
        ) from error
