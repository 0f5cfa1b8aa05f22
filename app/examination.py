"""What `desk doctor` looks at: the stores, and the language model (issue "The copilot, whole")."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from app.core.mongo import open_mongo
from app.core.redis import open_redis
from app.core.settings import Settings
from app.desk import provider_of
from app.llm.doctor import Finding, examine_adapter, examine_endpoint
from app.site.service import SiteService

Say = Callable[[str], None]


async def missing_stores(settings: Settings) -> list[str]:
    """Which of `mongodb` and `redis` do not answer."""
    async with (
        open_mongo(settings.mongodb_uri, settings.mongodb_db) as database,
        open_redis(settings.redis_url) as redis,
    ):
        return await SiteService(database, redis).missing()


async def examine_provider(settings: Settings, say: Say) -> bool:
    """Says every finding on a line of its own; whether all are good."""
    say("The adapter, against streams that broke others:")
    findings = [finding async for finding in _said(examine_adapter(), say)]
    if not settings.ai_enabled:
        say("AI_ENABLED is not set: no endpoint to probe.")
    else:
        say(f"The endpoint, model {settings.ai_model}:")
        async with provider_of(settings) as provider:
            findings += [finding async for finding in _said(examine_endpoint(provider), say)]
    return all(finding.good for finding in findings)


async def _said(findings: AsyncIterator[Finding], say: Say) -> AsyncIterator[Finding]:
    async for finding in findings:
        say(finding.line())
        yield finding
