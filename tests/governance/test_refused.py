"""Nobody but a dispatcher reaches what governs the agents: each address, page and fragment (scenario 3.7)."""

from __future__ import annotations

from typing import Any, cast

import httpx
import pytest

from app.core.settings import Settings
from app.main import create_app
from tests.conftest import Server

_GOVERNED = ("/admin/agents", "/admin/attention", "/admin/tools", "/admin/review")
_ID = "0" * 24


def _doors(settings: Settings) -> list[tuple[str, str]]:
    """(method, address) of every governed route there is, so that a new one is tried as well."""
    found = []
    for route in cast("Any", create_app(settings)).app.routes:
        if any(part in route.path for part in _GOVERNED):
            address = "/".join(_ID if part.startswith("{") else part for part in route.path.split("/"))
            found += [(method, address) for method in sorted(route.methods - {"OPTIONS", "HEAD"})]
    return sorted(set(found))


async def _refuses(server: Server, who: str | None, method: str, address: str) -> None:
    client = await (server.sign_in_as(who) if who else server.client())
    api = address.startswith("/api/")
    csrf = {} if api else await _csrf(client)
    kinds = [{}] if api else [{}, {"HX-Request": "true", "HX-Request-Type": "partial"}]
    for kind in kinds:
        data: dict[str, str] | None = None if api or method == "GET" else {}
        answer = await client.request(method, address, headers=csrf | kind, data=data)
        expected = (401, 303, 302) if who is None else (403,)
        assert answer.status_code in expected, f"{who} {method} {address}: {answer.status_code}"


async def _csrf(client: httpx.AsyncClient) -> dict[str, str]:
    page = (await client.get("/app/profile", follow_redirects=True)).text
    marker = 'name="_csrf_token" value="'
    return {"x-csrftoken": page.split(marker)[1].split('"')[0]} if marker in page else {}


@pytest.mark.parametrize("who", ["owner", "viewer", None])
async def test_every_governed_address_refuses(server: Server, who: str | None) -> None:
    """Scenario 3.7, AGT-8, HTTP-5: user and viewer 403, page and fragment alike; a stranger must sign in."""
    doors = _doors(server.settings)
    assert len(doors) >= 20
    for method, address in doors:
        await _refuses(server, who, method, address)
    assert await server.desk.database["agentconfigaudits"].count_documents({}) == 0


@pytest.mark.parametrize("who", ["owner", "viewer"])
async def test_no_link_leads_there(server: Server, who: str) -> None:
    """HTTP-5: the rail shows only what the role may see."""
    page = (await (await server.sign_in_as(who)).get("/app/work-orders")).text
    assert not [part for part in _GOVERNED if part in page]
