"""The wire: whole messages, however they come, and no longer a wait than was agreed, whatever the other end does."""

import json
import re
import threading
from pathlib import Path
from queue import Empty

import pytest

from course_grader.grading.protocol.socket_channel import HEAD, Wire, connect, pack

MOST = 4 << 20
SOON, NEVER = 10.0, 0.05


@pytest.fixture
def ends(tmp_path_factory):
    """Return the grader's end and the socket of the other."""
    folder = tmp_path_factory.mktemp("w")
    wire = Wire(folder, most=MOST)
    with connect(folder) as other:
        wire.accept()
        yield wire, other
        wire.close()


def raw(text):
    """Return a message with this in it, which may be anything."""
    return HEAD.pack(len(text)) + text


def test_what_is_sent_arrives(ends):
    """Both ways, with text of every kind."""
    wire, other = ends
    other.sendall(pack({"text": "naïve \U0001f600", "numbers": [1, 2.5, None]}))
    assert wire.receive(SOON) == {"text": "naïve \U0001f600", "numbers": [1, 2.5, None]}
    wire.send({"x": 1})
    assert other.recv(100) == pack({"x": 1})


def test_messages_come_whole_whatever_they_are_cut_into(ends):
    """Byte by byte, and two and a half at once."""
    wire, other = ends
    for byte in pack({"x": 1})[:-1]:
        other.sendall(bytes([byte]))
        with pytest.raises(Empty):
            wire.receive(0)
    other.sendall(pack({"x": 1})[-1:] + pack({"x": 2}) + pack({"x": 3})[:12])
    assert [wire.receive(SOON), wire.receive(SOON)] == [{"x": 1}, {"x": 2}]
    with pytest.raises(Empty):
        wire.receive(NEVER)
    other.sendall(pack({"x": 3})[12:])
    assert wire.receive(SOON) == {"x": 3}


def test_a_message_larger_than_any_buffer_goes_while_the_answer_is_awaited(ends):
    """Who reads slowly gets all of it, and who does not read keeps nobody waiting."""
    wire, other = ends
    wire.send(message := {"x": "y" * (MOST - 100)})
    with pytest.raises(Empty):
        wire.receive(NEVER)

    def echo():
        file = other.makefile("rwb")
        file.write(pack(json.loads(file.read(*HEAD.unpack(file.read(HEAD.size))))))
        file.flush()

    (thread := threading.Thread(target=echo)).start()
    assert wire.receive(SOON) == message
    thread.join()


def test_who_announces_too_much_is_not_heard_any_more(ends):
    """At once, not when all of it has come; one byte less is heard."""
    wire, other = ends
    threading.Thread(target=other.sendall, args=(raw(b'{"x":"' + b"y" * (MOST - 8) + b'"}'),)).start()
    assert len(wire.receive(SOON)["x"]) == MOST - 8
    assert not wire.closed
    other.sendall(HEAD.pack(MOST + 1))
    with pytest.raises(Empty):
        wire.receive(SOON)
    assert (wire.closed, wire.refused) == (True, True)


def test_who_hangs_up_was_heard_to_the_end(ends):
    """Then nothing is waited for, and sending harms nobody."""
    wire, other = ends
    other.sendall(pack({"x": 1}))
    other.close()
    assert wire.receive(SOON) == {"x": 1}
    with pytest.raises(Empty):
        wire.receive(SOON)
    assert (wire.closed, wire.refused) == (True, False)
    wire.send({"x": 1})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"[1]", r"a message must be a JSON object, and this is a list"),
        (b"{", r"Expecting property name"),
        (b'{"x": "\xff"}', r"invalid start byte"),
        (b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", r"recursion"),
        (b'{"x":[' + b"[]," * 1_000_000 + b"[]]}", r"at most 1,000,000 pieces, and this one has more"),
        (b'{"x":' + b"9" * 10_000 + b"}", r"Exceeds the limit"),
    ],
    ids=["list", "cut off", "not UTF-8", "deep", "in pieces", "long number"],
)
def test_what_cannot_be_read_says_so_and_the_next_one_can_be(ends, text, why):
    """Whatever JSON may be: the error is one that whoever reads expects."""
    wire, other = ends
    threading.Thread(target=other.sendall, args=(raw(text) + pack({"x": 1}),)).start()
    with pytest.raises((ValueError, RecursionError), match=re.compile(why, re.IGNORECASE)):
        wire.receive(SOON)
    assert wire.receive(SOON) == {"x": 1}


@pytest.mark.parametrize("value", ["\ud800", float("nan"), object()], ids=["half a character", "NaN", "object"])
def test_what_json_cannot_hold_is_not_packed(value):
    """So that the other end can say so, rather than send what nobody can read."""
    with pytest.raises((ValueError, TypeError)):
        pack({"x": value})


def test_only_the_first_to_connect_is_heard(ends):
    """Nobody answers a second one."""
    wire, other = ends
    name = Path(other.getpeername())
    with pytest.raises(ConnectionRefusedError):
        connect(name.parent)
    other.sendall(pack({"x": 1}))
    assert wire.receive(SOON) == {"x": 1}
