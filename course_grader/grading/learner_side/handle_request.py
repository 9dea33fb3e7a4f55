"""Answer requests for the learner's names: look one up, call it, return plain data.

Nothing here is trusted by the grader. The learner's code shares this process and may change all of it; it gains the
power to send other values, which it has anyway.
"""

import contextlib
import dis
import linecache
import traceback
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from course_grader.grading.protocol.codec import CodecError, decode, encode

__all__ = ["handle_request"]

MESSAGE_CHARS = 600


def handle_request(request: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    """Look up or call what was asked for; return ``{"status": ..., ...}`` with the value, or with what went wrong.

    Examples
    --------
    >>> handle_request({"name": "double", "call": encode({"args": [2], "kwargs": {}})}, {"double": lambda x: 2 * x})
    {'status': 'ok', 'value': 4}
    >>> handle_request({"name": "triple"}, {})
    {'status': 'missing'}
    """
    if "instead" in request:
        with _replaced(names, request.pop("instead")):
            return handle_request(request, names)
    if request["name"] not in names:
        return {"status": "missing"}
    value = names[request["name"]]
    reply: dict[str, Any] = {"status": "ok"}
    try:
        if "call" in request:
            if not callable(value):
                return {"status": "uncallable", "type": type(value).__name__}
            call, function = decode(request["call"]), value
            value = function(*call["args"], **call["kwargs"])
            with contextlib.suppress(Exception):  # it is the learner's object
                reply |= {"reads": reads} if (reads := _find_global_data(function, names)) else {}
            if request.get("arguments"):
                reply["call"] = encode(call)
        return reply | {"value": encode(value)}
    except CodecError as error:
        return {"status": "opaque", "message": _error_text(error)}
    except BaseException as error:  # sys.exit and KeyboardInterrupt are the learner's errors here too
        raised: dict[str, Any] = {"status": "raised", "type": type(error).__name__, "message": _error_text(error)}
        with contextlib.suppress(Exception):
            raised["line"] = _find_line(error, names)
        with contextlib.suppress(Exception):  # it is the learner's object
            raised["reads"] = _find_global_data(value, names)
        return raised


@contextlib.contextmanager
def _replaced(names: dict[str, Any], source: str) -> Iterator[None]:
    """Let the functions that a source defines stand in for the notebook's for a while."""
    exec(source, own := dict(names))  # noqa: S102 - sent by the hidden tests
    new = {name: value for name, value in own.items() if value is not names.get(name)}
    functions = {name: value for name, value in new.items() if isinstance(value, FunctionType)}
    before = {name: names[name] for name in functions.keys() & names.keys()}
    names |= functions
    try:
        yield
    finally:
        for name in functions:
            del names[name]
        names |= before


def _find_global_data(function: object, names: dict[str, Any]) -> list[str]:
    """Return which of the notebook's variables a function reads as globals."""
    codes = [getattr(function, "__code__", None)]
    used = set()
    for code in codes:
        if isinstance(code, CodeType):
            used |= {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
            codes += code.co_consts
    variables = (name for name in sorted(used & names.keys()) if not name.isupper())
    return [name for name in variables if not (callable(names[name]) or isinstance(names[name], ModuleType))]


def _find_line(error: BaseException, names: dict[str, Any]) -> str:
    """Return the innermost line of the notebook's own code at which an exception was raised."""
    own = [
        (frame.f_code.co_filename, number)
        for frame, number in traceback.walk_tb(error.__traceback__)
        if frame.f_globals is names
    ]
    return linecache.getline(*own[-1]) if own else ""


def _error_text(error: BaseException) -> str:
    """Return an exception's message without lone surrogates, which the kernel could not send."""
    try:
        text = str(error)
    except Exception:  # it is the learner's class
        text = "it cannot be printed"
    return text[:MESSAGE_CHARS].encode("utf-8", "replace").decode("utf-8")
