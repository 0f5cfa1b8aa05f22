"""The one MongoDB client of a process.

Writes are acknowledged by the journal of a majority: an approval or an event that was answered survives a crash, and
an election of a replica set. On a standalone server the majority is the one.
Correctness rests on single-document conditional writes; no transactions are used (DATA-1).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC
from typing import Any

import pymongo
from beanie import Document, init_beanie
from bson.codec_options import CodecOptions
from pydantic.alias_generators import to_camel
from pymongo import AsyncMongoClient, WriteConcern
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import AutoReconnect, PyMongoError

from app.core.driver_lock import mend_driver_lock

Database = AsyncDatabase[dict[str, Any]]

_TIMEOUT_MS = 5_000
_INDEXING_S = 1_800
FIRST_BATCH_MAX = 100
"""The server's first batch is 101 rows, unless the command names its `batchSize`."""


def database_alias(name: str) -> str:
    """A document field's name in the database: camelCase, and `_id` for the id (DATA-2)."""
    return "_id" if name == "id" else to_camel(name)


@asynccontextmanager
async def open_mongo(uri: str, name: str) -> AsyncIterator[Database]:
    """A database handle with UTC-aware dates, journaled writes and bounded waits."""
    mend_driver_lock()
    client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(
        uri,
        serverSelectionTimeoutMS=_TIMEOUT_MS,
        connectTimeoutMS=_TIMEOUT_MS,
        socketTimeoutMS=4 * _TIMEOUT_MS,
        waitQueueTimeoutMS=2 * _TIMEOUT_MS,
        maxPoolSize=64,
        appname="work-order-desk",
    )
    try:
        yield client.get_database(
            name,
            codec_options=CodecOptions(tz_aware=True, tzinfo=UTC),
            write_concern=WriteConcern(w="majority", j=True, wtimeout=4 * _TIMEOUT_MS),
        )
    finally:
        await client.close()


async def bind_documents(database: Database, documents: Sequence[type[Document]]) -> None:
    """Binds the Beanie documents to `database` and creates their indexes.

    In a large database of an older desk that takes longer than any query may.
    """
    with pymongo.timeout(_INDEXING_S):
        await init_beanie(database=database, document_models=list(documents))


async def first_batch(database: Database, command: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a `find` or `aggregate` whose first batch holds them all, for what is asked at every request.

    The cursor that the driver would make costs half of such a query. As there, a read is tried twice.
    """
    try:
        answer = await database.command(command, codec_options=database.codec_options)
    except AutoReconnect:
        answer = await database.command(command, codec_options=database.codec_options)
    rows: list[dict[str, Any]] = answer["cursor"]["firstBatch"]
    return rows


async def mongo_answers(database: Database) -> bool:
    """Whether MongoDB answers a ping."""
    try:
        await database.command("ping")
    except PyMongoError:
        return False
    return True
