"""Jupyter messages of an untrusted kernel: receive them, check their form, count their output.

The learner's code can make the kernel send anything, and as much as it likes.
"""

import hmac
from collections.abc import Sequence
from queue import Empty
from typing import Any, TypedDict

import zmq
from jupyter_client.session import Session

__all__ = ["Message", "Reply", "check_piece_count", "count_output_chars", "make_context", "receive_message"]

RECONNECT_MILLISECONDS = 10  # a kernel is there long before ZeroMQ's 100 would be over
HEADERS_BYTES = 2000  # what a message may have around what it says
FEWEST_CHARS = 10  # the fewest characters that a message counts for
ESCAPED_BYTES = 6  # that a character of text takes at most in JSON
# A list in a list takes three bytes in JSON and seventy here.
MOST_PIECES = 1_000_000


class Message(TypedDict):
    """A message as :func:`receive_message` returns it; ``size`` is in bytes."""

    msg_type: str
    parent_header: dict[str, Any]
    content: dict[str, Any]
    size: int


class Reply(TypedDict):
    """A reply: the ``id`` of the request, which may be anything, and the content."""

    id: object
    content: dict[str, Any]


def make_context(message_bytes: int) -> zmq.Context[zmq.Socket[bytes]]:
    """Make a ZeroMQ context whose sockets receive no larger frame than this, and do not linger when closed."""
    context = zmq.Context[zmq.Socket[bytes]]()
    context.setsockopt(zmq.MAXMSGSIZE, message_bytes)
    context.setsockopt(zmq.LINGER, 0)
    context.setsockopt(zmq.RECONNECT_IVL, RECONNECT_MILLISECONDS)
    return context


def receive_message(socket: zmq.Socket[bytes], session: Session, seconds: float) -> Message:
    """Receive the next message and check its form.

    Raises
    ------
    Empty
        If none has come within so many seconds.
    Exception
        Of any other kind, if it is not what readers of a message rely on.
    """
    if not socket.poll(round(1000 * seconds)):
        raise Empty
    # Straight from the socket: the client's own method starts an event loop for each message.
    frames: list[bytes] = session.feed_identities(socket.recv_multipart(zmq.NOBLOCK))[1]  # type: ignore[assignment]
    check_piece_count(frames)
    signature, *packed = frames[:5]
    if not hmac.compare_digest(signature, session.sign(packed)):
        raise ValueError("a message must be signed with the key of its connection, and this one is not")
    # The session's own method reads three dates in each message, which are not needed.
    header, parent, _, content = map(session.unpack, packed)
    size = sum(map(len, frames))
    message: Message = {"msg_type": header["msg_type"], "parent_header": parent, "content": content, "size": size}
    _check_form(message)
    return message


def check_piece_count(frames: Sequence[bytes]) -> None:
    """Raise ValueError if JSON has so many pieces that parsing it would take more memory than a submission may use."""
    if sum(frame.count(mark) for frame in frames for mark in (b"[", b"{", b",")) > MOST_PIECES:
        raise ValueError(f"a message must have at most {MOST_PIECES:,} pieces, and this one has more")


def count_output_chars(message: Message) -> int:
    """Count a broadcast's characters of output; whatever its kind, it takes memory and time."""
    size = max(FEWEST_CHARS, message["size"] - HEADERS_BYTES)
    if message["msg_type"] != "stream":
        return size
    return max(FEWEST_CHARS, len(message["content"]["text"]), size // ESCAPED_BYTES)


def _check_form(message: Message) -> None:
    content = message["content"]
    _require(isinstance(content, dict))
    _require(isinstance(message["msg_type"], str))
    _require(isinstance(message["parent_header"], dict))
    match message["msg_type"]:
        case "stream":
            _require(isinstance(content["name"], str))
            _require(isinstance(content["text"], str))
        case "status":
            _require(isinstance(content["execution_state"], str))
        case "display_data" | "execute_result":
            _require(isinstance(content["data"], dict))
            _require(isinstance(content["metadata"], dict))
            _require(message["msg_type"] == "display_data" or "execution_count" in content)
        case "error":
            _require(isinstance(content["ename"], str))
            _require(isinstance(content["evalue"], str))
            _require(all(isinstance(line, str) for line in content["traceback"]))


def _require(condition: bool) -> None:
    """Raise ValueError unless a condition holds; an assertion would be left out by an optimising Python."""
    if not condition:
        raise ValueError("a message must have the form that Jupyter gives it, and this one has not")
