"""TCP ports of this machine: a free one, and the one the desk was told to use."""

from __future__ import annotations

import errno
import socket

from app.local.errors import LocalServiceError, PortInUse

_NEIGHBOURS = 20


def free_port() -> int:
    """A loopback port that was free a moment ago; whoever takes it must be ready to lose the race."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def bind(host: str, port: int) -> socket.socket:
    """A bound socket for `host:port`. Raises `PortInUse`, or `LocalServiceError` where it may not be bound."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise PortInUse(port, _free_neighbour(host, port)) from None
        raise LocalServiceError(
            f"Cannot listen on {host}:{port} ({error.strerror or error}). Set HOST or PORT."
        ) from None
    return listener


def require_free(host: str, port: int) -> None:
    """Raises `PortInUse` when `host:port` cannot be bound now."""
    bind(host, port).close()


def _free_neighbour(host: str, port: int) -> int | None:
    return next((other for other in range(port + 1, min(port + _NEIGHBOURS, 65535)) if _can_bind(host, other)), None)


def _can_bind(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
