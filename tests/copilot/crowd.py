"""Many people at once, without the cost of as many password hashes."""

from __future__ import annotations

import httpx
from bson import ObjectId

from app.accounts.tokens import AccessTokens
from tests.conftest import Server


async def crowd(server: Server, count: int) -> list[httpx.AsyncClient]:
    """`count` technicians, signed in."""
    person = await server.person("owner")
    users = server.desk.database["users"]
    model_row = await users.find_one({"_id": person.id})
    assert model_row is not None
    rows = [model_row | {"_id": ObjectId(), "email": f"person{n}@example.com"} for n in range(count)]
    await users.insert_many(rows)
    tokens = AccessTokens(server.settings.jwt_secret.get_secret_value(), server.clock)
    clients = []
    for row in rows:
        client = await server.client()
        client.timeout = httpx.Timeout(60)
        client.cookies.set("access_token", tokens.issue(row["_id"], "user", "crowd"))
        clients.append(client)
    return clients
