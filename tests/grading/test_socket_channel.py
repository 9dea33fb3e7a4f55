"""The socket channel: whole messages, and no longer a wait than was asked, whatever the other end does."""

import json
import re
import threading
from pathlib import Path
from queue import Empty

import pytest

from course_grader.grading.protocol.socket_channel import LENGTH, SocketChannel, connect_to_grader, pack_message

MOST = 4 << 20
SOON, NEVER = 10.0, 0.05


@pytest.fixture
def ends(tmp_path_factory):
    """Return the grader's end and the socket of the other."""
    folder = tmp_path_factory.mktemp("w")
    channel = SocketChannel(folder, most_bytes=MOST)
    with connect_to_grader(folder) as other:
        channel.accept()
        yield channel, other
        channel.close()


def raw(text):
    """Return a message with this in it, which may be anything."""
    return LENGTH.pack(len(text)) + text


def test_what_is_sent_arrives(ends):
    """Both ways, with text of every kind."""
    channel, other = ends
    other.sendall(pack_message({"text": "naïve \U0001f600", "numbers": [1, 2.5, None]}))
    assert channel.receive(SOON) == {"text": "naïve \U0001f600", "numbers": [1, 2.5, None]}
    channel.send({"x": 1})
    assert other.recv(100) == pack_message({"x": 1})


def test_messages_come_whole_whatever_they_are_cut_into(ends):
    """Byte by byte, and two and a half at once."""
    channel, other = ends
    for byte in pack_message({"x": 1})[:-1]:
        other.sendall(bytes([byte]))
        with pytest.raises(Empty):
            channel.receive(0)
    other.sendall(pack_message({"x": 1})[-1:] + pack_message({"x": 2}) + pack_message({"x": 3})[:12])
    assert [channel.receive(SOON), channel.receive(SOON)] == [{"x": 1}, {"x": 2}]
    with pytest.raises(Empty):
        channel.receive(NEVER)
    other.sendall(pack_message({"x": 3})[12:])
    assert channel.receive(SOON) == {"x": 3}


def test_a_message_larger_than_any_buffer_goes_while_the_answer_is_awaited(ends):
    """Who reads slowly gets all of it, and who does not read keeps nobody waiting."""
    channel, other = ends
    channel.send(message := {"x": "y" * (MOST - 100)})
    with pytest.raises(Empty):
        channel.receive(NEVER)

    def echo():
        file = other.makefile("rwb")
        file.write(pack_message(json.loads(file.read(*LENGTH.unpack(file.read(LENGTH.size))))))
        file.flush()

    (thread := threading.Thread(target=echo)).start()
    assert channel.receive(SOON) == message
    thread.join()


def test_who_announces_too_much_is_not_heard_any_more(ends):
    """At once, not when all of it has come; one byte less is heard."""
    channel, other = ends
    threading.Thread(target=other.sendall, args=(raw(b'{"x":"' + b"y" * (MOST - 8) + b'"}'),)).start()
    assert len(channel.receive(SOON)["x"]) == MOST - 8
    assert not channel.is_closed
    other.sendall(LENGTH.pack(MOST + 1))
    with pytest.raises(Empty):
        channel.receive(SOON)
    assert (channel.is_closed, channel.is_refused) == (True, True)


def test_who_hangs_up_was_heard_to_the_end(ends):
    """Then nothing is waited for, and sending harms nobody."""
    channel, other = ends
    other.sendall(pack_message({"x": 1}))
    other.close()
    assert channel.receive(SOON) == {"x": 1}
    with pytest.raises(Empty):
        channel.receive(SOON)
    assert (channel.is_closed, channel.is_refused) == (True, False)
    channel.send({"x": 1})


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
    channel, other = ends
    threading.Thread(target=other.sendall, args=(raw(text) + pack_message({"x": 1}),)).start()
    with pytest.raises((ValueError, RecursionError), match=re.compile(why, re.IGNORECASE)):
        channel.receive(SOON)
    assert channel.receive(SOON) == {"x": 1}


@pytest.mark.parametrize("value", ["\ud800", float("nan"), object()], ids=["half a character", "NaN", "object"])
def test_what_json_cannot_hold_is_not_packed(value):
    """So that the other end can say so, rather than send what nobody can read."""
    with pytest.raises((ValueError, TypeError)):
        pack_message({"x": value})


def test_only_the_first_to_connect_is_heard(ends):
    """Nobody answers a second one."""
    channel, other = ends
    name = Path(other.getpeername())
    with pytest.raises(ConnectionRefusedError):
        connect_to_grader(name.parent)
    other.sendall(pack_message({"x": 1}))
    assert channel.receive(SOON) == {"x": 1}
