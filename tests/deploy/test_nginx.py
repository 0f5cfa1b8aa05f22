"""nginx.conf: every stream is free of buffers and compression."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from litestar import Litestar
from litestar.routes import HTTPRoute

from app.core.settings import Settings, load_settings
from app.main import create_app
from tests.deploy.files import image_environment, text

CONF = "docs/deploy/nginx.conf"
_LOCATION = re.compile(r"location (\S+) \{(.*?)\n    \}", re.DOTALL)
_UNBUFFERED = ("proxy_buffering off;", "gzip off;", "proxy_cache off;")


def _locations() -> dict[str, str]:
    return {match[1]: match[2] for match in _LOCATION.finditer(text(CONF))}


@pytest.fixture
def paths(tmp_path: Path) -> dict[str, Any]:
    """Every path of the program with its handlers."""
    program: Any = create_app(load_settings(_env_file=None, app_env="test", desk_dir=tmp_path, log_level="warning"))
    while not isinstance(program, Litestar):
        program = program.app
    return {route.path: route.route_handlers for route in program.routes if isinstance(route, HTTPRoute)}


def _streams(paths: dict[str, Any]) -> set[str]:
    """The paths whose handlers answer a stream, told by what they call."""
    return {
        path
        for path, handlers in paths.items()
        for handler in handlers
        if "event_stream" in getattr(getattr(handler, "fn", None), "__code__", _NO_CODE).co_names
    }


_NO_CODE = (lambda: None).__code__


def test_each_stream_has_a_location_without_buffer_and_compression(paths: dict[str, Any]) -> None:
    """D-2, issue 3.9: longest prefix wins, as in nginx."""
    streams = _streams(paths)
    assert len(streams) >= 3
    for path in streams:
        prefix = max((one for one in _locations() if path.startswith(one)), key=len)
        assert all(line in _locations()[prefix] for line in _UNBUFFERED), f"{path} falls under {prefix}"


def test_each_location_of_streams_is_a_part_of_the_program(paths: dict[str, Any]) -> None:
    """Issue 3.9."""
    for prefix, body in _locations().items():
        if "proxy_buffering off;" in body:
            assert any(path.startswith(prefix) for path in _streams(paths)), prefix


def test_a_stream_outlives_its_own_pings() -> None:
    """D-2: a ping comes before the proxy gives up, with room for a lost one."""
    keepalive_s = Settings.model_fields["ai_sse_keepalive_ms"].default / 1000
    for body in _locations().values():
        if "proxy_buffering off;" in body:
            timeout = re.search(r"proxy_read_timeout (\d+)s;", body)
            assert timeout is not None
            assert int(timeout[1]) >= 3 * keepalive_s


def test_it_leads_to_the_program_and_passes_the_address_on() -> None:
    """HTTP-4: one proxy, which appends to X-Forwarded-For."""
    conf = text(CONF)
    assert f"server 127.0.0.1:{image_environment()['PORT']};" in conf
    assert "proxy_set_header X-Forwarded-For   $proxy_add_x_forwarded_for;" in conf
    assert conf.count("{") == conf.count("}")
    assert re.search(r"server_name \S+;", conf)
    assert "TRUST_PROXY_HOPS=1" in conf
