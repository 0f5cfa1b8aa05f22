"""The yardstick: the same answers from a bare ASGI app over PyMongo, with the same queries and nothing else.

No framework, no token, no rate limit, no log, no checks of the input beyond JSON. The caller is named by a cookie.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import uvicorn
import uvloop
from bson import ObjectId
from jinja2 import Environment
from pymongo import ReturnDocument

from app.core.clock import cut_to_ms, iso_ms
from app.core.mongo import Database, open_mongo
from app.work_orders.documents import ORDER_FIELDS, order_row, to_order
from app.work_orders.models import ALL, HISTORY_MAX, OWN
from app.work_orders.schemas import HistoryMark, Order

Row = dict[str, Any]
Answer = tuple[int, bytes, bytes]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

_PERSON = {"email": 1, "name": 1, "role": 1, "aiEnabled": 1, "aiOptOut": 1}
_NEWEST = [("createdAt", -1), ("_id", -1)]
_FAR = datetime(9999, 1, 1, tzinfo=UTC)
_JSON, _HTML = b"application/json", b"text/html; charset=utf-8"
_PAGE = Environment(autoescape=True).from_string(
    "<!doctype html><html><head><title>Work orders</title></head><body><nav>{{ person.name }} ({{ pending }})</nav>"
    "<table>{% for order in orders %}<tr><td><a href='/orders/{{ order._id }}'>{{ order.title }}</a></td>"
    "<td>{{ order.status }}</td><td>{{ order.priority }}</td><td>{{ order.updatedAt }}</td></tr>{% endfor %}"
    "</table></body></html>"
)


class Bare:
    """One method per measured answer."""

    def __init__(self, database: Database) -> None:
        self._users, self._orders = database["users"], database["workorders"]
        self._events, self._calls = database["outboxevents"], database["agenttoolcalls"]

    async def own(self, user_id: ObjectId) -> Answer:
        person = await self._person(user_id)
        rows = await self._newest({"owner": user_id, "deletedAt": None}, OWN)
        return _json(200, {"items": [_public(row, person) for row in rows[:20]], "nextCursor": None})

    async def everyones(self, user_id: ObjectId) -> Answer:
        await self._person(user_id)
        rows = await self._newest({"deletedAt": None}, ALL)
        ids = list({row["owner"] for row in rows})
        owners = {row["_id"]: row async for row in self._users.find({"_id": {"$in": ids}}, {"name": 1, "email": 1})}
        return _json(200, {"items": [_public(row, owners[row["owner"]]) for row in rows[:20]], "nextCursor": None})

    async def page(self, user_id: ObjectId) -> Answer:
        person = await self._person(user_id)
        rows = await self._newest({"owner": user_id, "deletedAt": None}, OWN)
        pending = await self._calls.count_documents({"userId": user_id, "outcome": "pending"})
        html = _PAGE.render(person=person, orders=rows[:20], pending=pending)
        return 200, _HTML, html.encode()

    async def create(self, user_id: ObjectId, fields: Row) -> Answer:
        person, now = await self._person(user_id), cut_to_ms(datetime.now(UTC))
        order = Order(
            id=ObjectId(),
            title=fields["title"],
            description=fields.get("description"),
            priority=fields.get("priority", "medium"),
            status="pending",
            owner=user_id,
            version=1,
            created_at=now,
            updated_at=now,
        )
        row = order_row(order, [HistoryMark(None, user_id, now, 1, "person", "created", [])])
        await self._orders.insert_one(row)
        await self._events.insert_one(_event(order.id, now))
        return _json(201, _public(row, person))

    async def update(self, user_id: ObjectId, order_id: ObjectId, fields: Row) -> Answer:
        person, now = await self._person(user_id), cut_to_ms(datetime.now(UTC))
        found = await self._orders.find_one({"_id": order_id}, ORDER_FIELDS)
        if found is None or to_order(found).version != fields["version"]:
            return _json(409, {"error": "stale"})
        change = {"field": "status", "before": found["status"], "after": fields["status"]}
        mark = {"by": user_id, "at": now, "version": found["version"] + 1, "via": "person", "action": "changed"}
        row = await self._orders.find_one_and_update(
            {"_id": order_id, "version": found["version"], "deletedAt": None},
            {
                "$set": {"status": fields["status"], "version": found["version"] + 1, "updatedAt": now},
                "$push": {"history": {"$each": [mark | {"changes": [change]}], "$slice": -HISTORY_MAX}},
            },
            projection=ORDER_FIELDS,
            return_document=ReturnDocument.AFTER,
        )
        return _json(200, _public(row, person)) if row else _json(409, {"error": "stale"})

    async def _person(self, user_id: ObjectId) -> Row:
        person = await self._users.find_one({"_id": user_id, "isActive": {"$ne": False}}, _PERSON)
        if person is None:
            raise LookupError("nobody")
        return person

    async def _newest(self, query: Row, index: str) -> list[Row]:
        query["createdAt"] = {"$lte": _FAR}
        return await self._orders.find(query, ORDER_FIELDS).sort(_NEWEST).hint(index).limit(21).to_list()


def _event(order_id: ObjectId, now: datetime) -> Row:
    return {
        "type": "work_order.created",
        "payloadRef": str(order_id),
        "status": "pending",
        "attempts": 0,
        "createdAt": now,
        "updatedAt": now,
        "availableAt": now,
    }


def _public(row: Row, owner: Row) -> Row:
    return {
        "id": str(row["_id"]),
        "title": row["title"],
        "description": row["description"],
        "priority": row["priority"],
        "status": row["status"],
        "owner": {"id": str(owner["_id"]), "name": owner["name"], "email": owner["email"]},
        "version": row["version"],
        "createdAt": iso_ms(row["createdAt"]),
        "updatedAt": iso_ms(row["updatedAt"]),
    }


def _json(status: int, value: Row) -> Answer:
    return status, _JSON, msgspec.json.encode({"success": True, "data": value})


def create_bare_app(bare: Bare) -> Callable[[Any, Receive, Send], Awaitable[None]]:
    """`GET /own /everyones /page`, `POST /orders`, `PATCH /orders/<id>`, `GET /health`; `Cookie: user=<id>`."""

    async def app(scope: Any, receive: Receive, send: Send) -> None:
        status, kind, body = await _answer(bare, scope, receive)
        length = str(len(body)).encode()
        headers = [(b"content-type", kind), (b"content-length", length)]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app


async def _answer(bare: Bare, scope: Any, receive: Receive) -> Answer:
    path = scope["path"]
    if path == "/health":
        return _json(200, {})
    cookie = next(value for name, value in scope["headers"] if name == b"cookie")
    user_id = ObjectId(cookie.decode().removeprefix("user="))
    if scope["method"] == "GET":
        views = {"/own": bare.own, "/everyones": bare.everyones, "/page": bare.page}
        return await views[path](user_id)
    fields = json.loads((await receive())["body"])
    if scope["method"] == "POST":
        return await bare.create(user_id, fields)
    return await bare.update(user_id, ObjectId(path.rpartition("/")[2]), fields)


async def _serve() -> None:
    async with open_mongo(os.environ["MONGODB_URI"], os.environ["MONGODB_DB"]) as database:
        config = uvicorn.Config(
            create_bare_app(Bare(database)),
            host="127.0.0.1",
            port=int(os.environ["PORT"]),
            loop="uvloop",
            http="httptools",
            ws="none",
            lifespan="off",
            access_log=False,
            log_level="warning",
            server_header=False,
        )
        await uvicorn.Server(config).serve()


def main() -> None:
    """Serves until it is told to stop, with the same server and loop as `desk web`."""
    uvloop.run(_serve())


if __name__ == "__main__":
    main()
