"""Tries to reach others by every kind of socket, and tells for each what came of it."""

import socket
from collections.abc import Callable

from desk_tool import Arguments, Desk, declare


class Args(Arguments):
    port: int
    path: str


WAYS: dict[str, Callable[[Args], object]] = {
    "tcp": lambda args: socket.create_connection(("127.0.0.1", args.port)),
    "tcp6": lambda args: socket.socket(socket.AF_INET6, socket.SOCK_STREAM),
    "udp": lambda args: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    "raw": lambda args: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
    "netlink": lambda args: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "unix": lambda args: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).connect(args.path),
    "pair of datagrams": lambda args: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].connect(args.path),
    "pair, connected": lambda args: socket.socketpair()[0].connect(args.path),
    "pair, sent to": lambda args: socket.socketpair()[0].sendto(b"x", args.path),
    "pair, with descriptors": lambda args: socket.send_fds(socket.socketpair()[0], [b"x"], [0]),
}


def attempt(way: Callable[[Args], object], args: Args) -> str:
    try:
        way(args)
    except OSError as error:
        return type(error).__name__
    return "done"


@declare(name="open_sockets", description="A hostile tool.", risk="read", arguments=Args)
async def run(args: Args, desk: Desk) -> object:
    return {name: attempt(way, args) for name, way in WAYS.items()}
