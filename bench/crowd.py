"""People of a small desk for the copilot and triage parts: written straight to the database, signed in by token."""

from __future__ import annotations

import secrets
from typing import Any

import httpx
from bson import ObjectId

from app.accounts.tokens import AccessTokens
from app.core.clock import SystemClock
from app.core.mongo import bind_documents, open_mongo
from app.documents import DOCUMENTS
from bench.stage import BenchError, Stage


async def people(at: Stage, database: str, count: int) -> list[ObjectId]:
    """An empty database `database` with `count` technicians; their ids."""
    now = SystemClock().now()
    async with open_mongo(at.mongodb_uri, database) as opened:
        await opened.client.drop_database(database)
        await bind_documents(opened, DOCUMENTS)
        rows: list[dict[str, Any]] = [
            {
                "_id": ObjectId(),
                "email": f"technician{number}@example.com",
                "passwordHash": secrets.token_hex(16),
                "name": f"Technician {number}",
                "role": "user",
                "isActive": True,
                "aiEnabled": True,
                "createdAt": now,
                "updatedAt": now,
            }
            for number in range(count)
        ]
        await opened["users"].insert_many(rows)
    return [row["_id"] for row in rows]


def signed_in(at: Stage, database: str, user_id: ObjectId) -> dict[str, str]:
    """The `Cookie` header of a person, good for 15 minutes."""
    key = at.settings(database).jwt_secret.get_secret_value()
    return {"Cookie": f"access_token={AccessTokens(key, SystemClock()).issue(user_id, 'user', 'bench')}"}


def stop_run(url: str, headers: dict[str, str]) -> None:
    """Ends the run of that person, with what waits in it."""
    with httpx.Client(base_url=f"{url}/api/v1/ai/runs", headers=headers, trust_env=False, timeout=10) as client:
        newest = client.get("", params={"limit": 1}).json()["data"]["items"][0]
        answer = client.post(f"/{newest['id']}/cancel")
    if answer.status_code != 200:
        raise BenchError(f"A run could not be stopped: {answer.status_code} {answer.text[:200]}")


def new_session(url: str, headers: dict[str, str]) -> str:
    """A new conversation of that person; the address that takes its messages."""
    answer = httpx.post(f"{url}/api/v1/ai/sessions", headers=headers, trust_env=False, timeout=10)
    if answer.status_code != 201:
        raise BenchError(f"A conversation could not be opened: {answer.status_code} {answer.text[:200]}")
    return f"{url}/api/v1/ai/sessions/{answer.json()['data']['id']}/messages"
