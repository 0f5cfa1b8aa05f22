"""The sample people and orders of a new desk."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.accounts.actors import HumanActor
from app.core.settings import Settings, SettingsError, load_settings
from app.desk import Desk
from app.seed import SeedPerson, SeedSummary, run, seed, seed_people
from app.work_orders.schemas import OrderFilter, WorkOrderCreate
from app.work_orders.seed_data import sample_orders
from tests.work_orders.people import DISPATCHER, OWNER


async def _seed(desk: Desk, people: list[SeedPerson]) -> SeedSummary:
    return await seed(desk.accounts.accounts, desk.orders, desk.clock, people)


async def test_seeding_gives_three_sign_ins_and_sixty_orders_and_no_event(desk: Desk, settings: Settings) -> None:
    """D-27, DATA-2: seeding appends nothing, nor does the reconcile pass afterwards."""
    summary = await run(settings)
    assert summary.orders_added == 61
    lines = "\n".join(summary.lines())
    for text in ("admin@example.com", "Admin1234", "user@example.com", "User1234", "viewer@example.com", "Viewer1234"):
        assert text in lines
    assert await desk.orders.count() == 61
    assert await desk.orders.reconcile_events(1) == 0
    counts = await desk.outbox.counts()
    assert (counts.pending, counts.processing, counts.failed) == (0, 0, 0)


async def test_seeding_twice_and_at_once_adds_nothing_more_and_keeps_what_people_changed(
    desk: Desk, settings: Settings
) -> None:
    """D-27: idempotent."""
    people = seed_people(settings)
    first, second = await asyncio.gather(_seed(desk, people), _seed(desk, people))
    assert first.orders_added + second.orders_added == 61
    technician = HumanActor(await desk.accounts.accounts.ensure_user("user@example.com", "x", "x", "user"), "user")
    order = (await desk.orders.list_own(technician, OrderFilter())).items[0]
    sample = next(one for one in sample_orders(desk.clock.now(), OWNER.id, DISPATCHER.id) if str(one.id) == order.id)
    await desk.orders.update(technician, sample.id, order.version, {"title": "Changed by hand"})
    assert (await _seed(desk, people)).orders_added == 0
    assert (await desk.orders.get(technician, sample.id)).title == "Changed by hand"


def test_the_samples_are_believable_orders_of_three_months() -> None:
    """WO-1: within the limits, mostly the technician's, of every status and priority, no two alike."""

    now = datetime(2026, 11, 30, 8, tzinfo=UTC)
    samples = sample_orders(now, OWNER.id, DISPATCHER.id)
    for one in samples:
        WorkOrderCreate(title=one.title, description=one.description, priority=one.priority, status=one.status)
        moments = [one.created_at, *(at for at, _ in one.steps), now]
        assert moments == sorted(moments)
        assert (one.steps[-1][1] if one.steps else "pending") == one.status
    assert len({one.title for one in samples}) == len(samples)
    assert timedelta(days=80) < now - min(one.created_at for one in samples) < timedelta(days=92)
    assert Counter(one.owner for one in samples)[OWNER.id] > 50
    assert {one.status for one in samples} == {"pending", "in_progress", "done"}
    assert {one.priority for one in samples} == {"low", "medium", "high"}


async def test_published_passwords_are_not_seeded_in_production(tmp_path: Path) -> None:
    """SEC-1: one line per fault, naming the key."""
    secrets: dict[str, Any] = {key: key[0] * 40 for key in ("jwt_secret", "cookie_secret", "audit_key")}
    settings = load_settings(
        _env_file=None,
        app_env="production",
        mongodb_uri="mongodb://127.0.0.1:1",
        redis_url="redis://127.0.0.1:1",
        app_url="https://desk.test",
        desk_dir=tmp_path,
        seed_user_password="Own1Password",
        **secrets,
    )
    with pytest.raises(SettingsError) as caught:
        await run(settings)
    assert [line.split(":")[0] for line in caught.value.lines] == ["SEED_ADMIN_PASSWORD", "SEED_VIEWER_PASSWORD"]
