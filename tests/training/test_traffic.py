"""The bytes a process sends are those that arrive at the other end of its sockets."""

import socket
import sys

import pytest

from course_lib.training import bytes_sent


@pytest.mark.skipif(sys.platform != "linux", reason="Linux counts the bytes of a socket")
def test_it_counts_what_a_socket_sends_and_not_what_it_receives():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as ours:
        theirs, _ = server.accept()
        with theirs:
            before = bytes_sent()
            ours.sendall(bytes(5000))
            assert bytes_sent() - before == 5000
            theirs.recv(5000)
            assert bytes_sent() - before == 5000


@pytest.mark.skipif(sys.platform != "linux", reason="Linux counts the bytes of a socket")
def test_other_sockets_count_for_nothing():
    one, other = socket.socketpair()
    with (
        one,
        other,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        visitor = socket.create_connection(server.getsockname())  # waits at the door
        before = bytes_sent()
        one.sendall(b"within the machine")
        datagrams.sendto(b"to nobody", ("127.0.0.1", 9))
        assert bytes_sent() == before
        visitor.close()


def test_elsewhere_it_is_not_a_number(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    found = bytes_sent()
    assert found != found
