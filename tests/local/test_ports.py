"""The port the desk was told to use."""

from __future__ import annotations

import pytest

from app.local.errors import LocalServiceError, PortInUse
from app.local.ports import bind, free_port, require_free


def test_a_busy_port_is_named_with_a_free_one_beside_it() -> None:
    """Issue 2.4: a busy port is named."""
    with bind("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortInUse) as caught:
            require_free("127.0.0.1", port)
    assert str(caught.value).startswith(f"Port {port} is in use. Stop the other program or set PORT=")


def test_a_free_port_can_be_bound() -> None:
    """Issue 2.3: the embedded services take a port of their own."""
    with bind("127.0.0.1", free_port()) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


def test_an_address_of_another_machine_is_refused_in_one_line() -> None:
    """Issue 2.4: a setting that cannot work is named."""
    with pytest.raises(LocalServiceError, match=r"Cannot listen on 192\.0\.2\.1:8000 .* Set HOST or PORT\."):
        bind("192.0.2.1", 8000)
