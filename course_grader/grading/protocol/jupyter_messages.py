"""A kernel's messages, read with care: the learner's code can make it send anything, and as much as it likes."""

import hmac
from collections.abc import Sequence
from queue import Empty
from typing import Any

import zmq

__all__ = ["context", "receive", "refuse_pieces", "weight"]

RECONNECT_MILLISECONDS = 10  # a kernel is there long before ZeroMQ's 100 would be over
HEADERS_BYTES = 2000  # what a message may have around what it says
LIGHTEST = 10  # the fewest characters that a message counts for
ESCAPED_BYTES = 6  # that a character of text takes at most in JSON
# A list in a list takes three bytes in JSON and seventy here.
MOST_PARTS = 1_000_000


def context(message_bytes: int) -> zmq.Context[Any]:
    """Return a context whose sockets take in no frame larger than this, and wait for nothing when they are closed."""
    made = zmq.Context[Any]()
    made.setsockopt(zmq.MAXMSGSIZE, message_bytes)
    made.setsockopt(zmq.LINGER, 0)
    made.setsockopt(zmq.RECONNECT_IVL, RECONNECT_MILLISECONDS)
    return made


def receive(socket: Any, session: Any, seconds: float) -> dict[str, Any]:
    """Return the next message, with its ``size`` in bytes.

    Raises
    ------
    Empty
        If none has come within so many seconds.
    Exception
        Of any other kind, if it is not what readers of a message rely on.
    """
    if not socket.poll(1000 * seconds):
        raise Empty
    # Straight from the socket: the client's own method starts an event loop for each message.
    _, frames = session.feed_identities(socket.recv_multipart(zmq.NOBLOCK))
    refuse_pieces(frames)
    signature, *packed = frames[:5]
    if not hmac.compare_digest(signature, session.sign(packed)):
        raise ValueError("a message must be signed with the key of its connection, and this one is not")
    # The session's own method reads three dates in each message that nobody looks at.
    header, parent, _, content = map(session.unpack, packed)
    message = {"msg_type": header["msg_type"], "parent_header": parent, "content": content}
    _check_form(message)
    return message | {"size": sum(map(len, frames))}


def refuse_pieces(frames: Sequence[bytes]) -> None:
    """Raise ValueError if JSON has so many pieces that reading it would take more memory than anyone may use."""
    if sum(frame.count(mark) for frame in frames for mark in (b"[", b"{", b",")) > MOST_PARTS:
        raise ValueError(f"a message must have at most {MOST_PARTS:,} pieces, and this one has more")


def weight(message: dict[str, Any]) -> int:
    """Return how many characters of output a broadcast counts for; whatever its kind, it takes memory and time."""
    size: int = max(LIGHTEST, message["size"] - HEADERS_BYTES)
    if message["msg_type"] != "stream":
        return size
    return max(LIGHTEST, len(message["content"]["text"]), size // ESCAPED_BYTES)


def _check_form(message: dict[str, Any]) -> None:
    content = message["content"]
    _need(isinstance(content, dict))
    _need(isinstance(message["msg_type"], str))
    _need(isinstance(message["parent_header"], dict))
    match message["msg_type"]:
        case "stream":
            _need(isinstance(content["name"], str))
            _need(isinstance(content["text"], str))
        case "status":
            _need(isinstance(content["execution_state"], str))
        case "display_data" | "execute_result":
            _need(isinstance(content["data"], dict))
            _need(isinstance(content["metadata"], dict))
            _need(message["msg_type"] == "display_data" or "execution_count" in content)
        case "error":
            _need(isinstance(content["ename"], str))
            _need(isinstance(content["evalue"], str))
            _need(all(isinstance(line, str) for line in content["traceback"]))


def _need(true: bool) -> None:
    """Raise ValueError unless it is true; an assertion would be left out by an optimising Python."""
    if not true:
        raise ValueError("a message must have the form that Jupyter gives it, and this one has not")
