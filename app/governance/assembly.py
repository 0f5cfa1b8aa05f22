"""The audit trail, put together: for the desk, and for `desk audit verify` without one (D-20)."""

from __future__ import annotations

from app.core.clock import Clock, SystemClock
from app.core.mongo import Database, open_mongo
from app.core.settings import Settings
from app.governance.audit import AuditLog
from app.governance.audit_repository import AuditRepository
from app.governance.chain import Verification


def open_audit(settings: Settings, database: Database, clock: Clock) -> AuditLog:
    """The trail under AUDIT_KEY."""
    return AuditLog(AuditRepository(database), clock, settings.audit_key.get_secret_value())


async def verify_audit(settings: Settings, kept_head: str | None) -> Verification:
    """Walks the chain in the database that `settings` name."""
    async with open_mongo(settings.mongodb_uri, settings.mongodb_db) as database:
        return await open_audit(settings, database, SystemClock()).verify(kept_head)
