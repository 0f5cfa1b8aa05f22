"""Databases of orders to measure on: built once through the desk's own documents, kept for later runs."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from bson import ObjectId
from pymongo import WriteConcern

from app.accounts.passwords import Passwords
from app.core.mongo import Database, bind_documents, open_mongo
from app.documents import DOCUMENTS
from app.work_orders.documents import order_row
from app.work_orders.schemas import PRIORITIES, STATUSES, HistoryMark, Order
from bench.stage import Stage

PASSWORD = "Bench12345"  # noqa: S105 - of accounts that exist only here
TECHNICIANS = 50
OWNER, DISPATCHER = "technician0@example.com", "dispatcher@example.com"
COMMON, RARE, ABSENT, MIXED, TWO_LETTERS = "pump", "zirconium", "xylophone", "door leaks", "qj"
"""Search terms: in a tenth of the titles; in three; in none; in none, but made of common parts; in none, too short."""

_BATCH = 5_000
_FORMAT = 2
_THINGS = ("Pump", "Door closer", "Boiler", "Lift", "Freezer", "Air filter", "Handrail", "Sensor", "Valve", "Light")
_FAULTS = ("leaks", "is stuck", "makes noise", "must be checked", "shows an error", "was damaged", "stops at night")
_PLACES = ("Mill Lane Library", "Harbour Clinic", "Linden School", "Kestrel House", "Orchard Court", "City Hall")
_SAID = "Reported by the caretaker this morning. The key is at the reception; please call before you come. " * 2


async def prepare(at: Stage, name: str, orders: int) -> None:
    """The database `name` with people and `orders` orders, unless an earlier run left it. Prints how it goes on."""
    async with open_mongo(at.mongodb_uri, name) as database:
        ready = await database["bench"].find_one({"_id": "ready"})
        if ready and ready.get("orders") == orders and ready.get("format") == _FORMAT:
            return
        await database.client.drop_database(name)
        owners = await _people(database)
        await _fill(database, owners, orders)
        print(f"  {name}: indexes …", flush=True)
        await bind_documents(database, DOCUMENTS)
        await database["bench"].insert_one({"_id": "ready", "orders": orders, "format": _FORMAT})


async def _people(database: Database) -> list[ObjectId]:
    """The dispatcher and the technicians, all with one password; the technicians' ids."""
    password_hash = await Passwords().hash(PASSWORD)
    people = [_person(f"technician{n}@example.com", "user", password_hash) for n in range(TECHNICIANS)]
    await database["users"].insert_many([*people, _person(DISPATCHER, "admin", password_hash)])
    return [person["_id"] for person in people]


def _person(email: str, role: str, password_hash: str) -> dict[str, Any]:
    now = datetime.now(UTC)
    return {
        "_id": ObjectId(),
        "email": email,
        "passwordHash": password_hash,
        "name": email.split("@", maxsplit=1)[0].capitalize(),
        "role": role,
        "isActive": True,
        "aiEnabled": True,
        "createdAt": now,
        "updatedAt": now,
    }


async def _fill(database: Database, owners: list[ObjectId], count: int) -> None:
    """Inserted first and indexed afterwards, which is several times faster."""
    orders = database["workorders"].with_options(write_concern=WriteConcern(w=1, j=False))
    rows, done, started = _rows(owners, count), 0, time.monotonic()
    while batch := [row for _, row in zip(range(_BATCH), rows, strict=False)]:
        await orders.insert_many(batch, ordered=False)
        done += len(batch)
        if done % (_BATCH * 20) == 0 or done == count:
            print(f"  {database.name}: {done:,} of {count:,} orders, {time.monotonic() - started:.0f} s", flush=True)


def _rows(owners: list[ObjectId], count: int) -> Iterator[dict[str, Any]]:
    """Orders a second apart up to now, owners by turns; the rare word at a tenth, a half and nine tenths."""
    dice, first = random.Random(7), datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=count)
    rare = {count // 10, count // 2, count * 9 // 10}
    for number in range(count):
        made = first + timedelta(seconds=number)
        word = f", {RARE} seal" if number in rare else ""
        title = f"{dice.choice(_THINGS)} {dice.choice(_FAULTS)}, {dice.choice(_PLACES)} {number % 1000}{word}"
        order = Order(
            id=ObjectId(),
            title=title,
            description=_SAID,
            priority=dice.choice(PRIORITIES),
            status=dice.choice(STATUSES),
            owner=owners[number % len(owners)],
            version=1,
            created_at=made,
            updated_at=made,
        )
        yield order_row(order, [HistoryMark(None, order.owner, made, 1, "person", "created", [])])
