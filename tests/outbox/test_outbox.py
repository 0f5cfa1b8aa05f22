"""The outbox: append once, claim with a lease, settle by claim."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta
from typing import Any

from bson import ObjectId

from app.core.clock import ManualClock
from app.core.mongo import Database
from app.outbox.repository import OutboxRepository
from app.outbox.schemas import Event, OutboxCounts
from app.outbox.service import OutboxService

CREATED = "work_order.created"
LEASE_MS = 15_000
LEASE = timedelta(milliseconds=LEASE_MS)


async def _claimed(outbox: OutboxService) -> Event:
    (event,) = await outbox.claim(1, LEASE_MS)
    return event


async def test_an_event_is_made_once_however_many_append_it(outbox: OutboxService) -> None:
    """AGT-1, D-27: unique {type, payloadRef}."""
    made = await asyncio.gather(*(outbox.append(CREATED, "a" * 24) for _ in range(10)))
    assert sum(made) == 1
    assert (await outbox.counts()).pending == 1


async def test_events_are_claimed_oldest_first_and_no_more_than_asked_for(
    outbox: OutboxService, clock: ManualClock
) -> None:
    """AGT-2: bounded claims."""
    for ref in ("first", "second", "third"):
        await outbox.append(CREATED, ref)
        clock.advance(timedelta(seconds=1))
    assert [event.payload_ref for event in await outbox.claim(2, LEASE_MS)] == ["first", "second"]
    assert [event.payload_ref for event in await outbox.claim(5, LEASE_MS)] == ["third"]


async def test_workers_that_claim_at_once_never_get_the_same_event(indexed: Database, clock: ManualClock) -> None:
    """AGT-2, D-24."""
    workers = [OutboxService(OutboxRepository(indexed), clock, max_attempts=3) for _ in range(6)]
    for number in range(60):
        await workers[0].append(CREATED, str(number))

    async def drain(worker: OutboxService) -> list[str]:
        got: list[str] = []
        while events := await worker.claim(2, LEASE_MS):
            got += [event.payload_ref for event in events]
        return got

    shares = await asyncio.gather(*(drain(worker) for worker in workers))
    assert sorted((ref for share in shares for ref in share), key=int) == [str(number) for number in range(60)]


async def test_an_event_whose_lease_ended_goes_to_another_and_the_first_writes_nothing_more(
    outbox: OutboxService, clock: ManualClock
) -> None:
    """AGT-2, DATA-1: crash-recovery requeue; settling requires the claim."""
    await outbox.append(CREATED, "order")
    lost = await _claimed(outbox)
    assert await outbox.claim(1, LEASE_MS) == []
    clock.advance(LEASE)
    taken = await _claimed(outbox)
    assert taken.id == lost.id
    assert taken.attempts == 2

    assert not await outbox.heartbeat(lost, LEASE_MS)
    assert not await outbox.done(lost, "suggested")
    assert not await outbox.fail(lost, "no")
    assert await outbox.retry(lost, "no") is None
    assert not await outbox.park(lost, "working_hours", clock.now())
    assert not await outbox.release(lost)
    assert await outbox.done(taken, "suggested")
    found = await outbox.find(CREATED, "order")
    assert found is not None
    assert (found.status, found.outcome, found.available_at, found.claim) == ("done", "suggested", None, None)


async def test_a_heartbeat_keeps_the_event(outbox: OutboxService, clock: ManualClock) -> None:
    """AGT-2."""
    await outbox.append(CREATED, "order")
    event = await _claimed(outbox)
    clock.advance(LEASE - timedelta(seconds=1))
    assert await outbox.heartbeat(event, LEASE_MS)
    clock.advance(LEASE - timedelta(seconds=1))
    assert await outbox.claim(1, LEASE_MS) == []


async def test_a_passing_failure_waits_longer_each_time_and_fails_at_the_cap(
    outbox: OutboxService, clock: ManualClock
) -> None:
    """AGT-5: retry with exponential backoff, AGENT_MAX_ATTEMPTS, then failed and shown."""
    await outbox.append(CREATED, "order")
    waits = []
    for _ in range(2):
        assert await outbox.retry(await _claimed(outbox), "The provider did not answer.") == "pending"
        waiting = await outbox.find(CREATED, "order")
        assert waiting is not None
        assert waiting.available_at is not None
        assert waiting.wait_reason == "retry"
        waits.append(waiting.available_at - clock.now())
        assert await outbox.claim(1, LEASE_MS) == []
        clock.advance(waits[-1])
    assert waits[0] < waits[1]
    assert await outbox.retry(await _claimed(outbox), "The provider did not answer.") == "failed"
    failed = await outbox.find(CREATED, "order")
    assert failed is not None
    assert (failed.status, failed.last_error) == ("failed", "The provider did not answer.")
    clock.advance(timedelta(days=1))
    assert await outbox.claim(1, LEASE_MS) == []


async def test_an_event_that_ends_every_worker_is_failed_instead_of_circling_for_ever(
    outbox: OutboxService, clock: ManualClock
) -> None:
    """AGT-5, scenario 3.4: nothing runs past its lease, nothing circles."""
    await outbox.append(CREATED, "poison")
    for _ in range(3):
        assert len(await outbox.claim(1, LEASE_MS)) == 1
        clock.advance(LEASE)
    assert await outbox.claim(1, LEASE_MS) == []
    assert (await outbox.counts()).failed == 1


async def test_a_parked_event_waits_with_its_reason_and_the_attempt_is_not_counted(
    outbox: OutboxService, clock: ManualClock
) -> None:
    """D-11: caps, working hours and a switched-off agent make events wait, they drop none."""
    await outbox.append(CREATED, "order")
    for _ in range(10):
        assert await outbox.park(await _claimed(outbox), "working_hours", clock.now() + timedelta(hours=1))
        assert await outbox.claim(1, LEASE_MS) == []
        assert (await outbox.counts()).parked == {"working_hours": 1}
        clock.advance(timedelta(hours=1))
    event = await _claimed(outbox)
    assert (event.attempts, event.wait_reason) == (1, None)


async def test_a_stopping_worker_gives_its_event_back_at_once(outbox: OutboxService) -> None:
    """AGT-2."""
    await outbox.append(CREATED, "order")
    assert await outbox.release(await _claimed(outbox))
    assert (await _claimed(outbox)).attempts == 1


async def test_a_manual_trigger_takes_the_order_s_own_event_unless_it_is_settled_or_in_work(
    outbox: OutboxService, clock: ManualClock
) -> None:
    """D-21."""
    await outbox.append(CREATED, "order")
    await outbox.park(await _claimed(outbox), "daily_cap", clock.now() + timedelta(hours=9))
    event = await outbox.claim_one(CREATED, "order", LEASE_MS)
    assert event is not None
    assert await outbox.claim_one(CREATED, "order", LEASE_MS) is None
    await outbox.fail(event, "The answer was not valid.")
    again = await outbox.claim_one(CREATED, "order", LEASE_MS)
    assert again is not None
    await outbox.done(again, "suggested")
    assert await outbox.claim_one(CREATED, "order", LEASE_MS) is None
    assert await outbox.claim_one(CREATED, "another", LEASE_MS) is None


async def test_two_manual_triggers_and_a_worker_at_once_get_the_event_once(outbox: OutboxService) -> None:
    """D-21, scenario 3.5."""
    await outbox.append(CREATED, "order")
    first, second, drained = await asyncio.gather(
        outbox.claim_one(CREATED, "order", LEASE_MS),
        outbox.claim_one(CREATED, "order", LEASE_MS),
        outbox.claim(1, LEASE_MS),
    )
    assert len([event for event in (first, second, *drained) if event]) == 1


async def test_an_admin_s_retry_reopens_only_what_failed(outbox: OutboxService) -> None:
    """AGT-5, D-30."""
    await outbox.append(CREATED, "order")
    event = await _claimed(outbox)
    assert not await outbox.retry_failed(event.id)
    await outbox.fail(event, "The answer was not valid.")
    assert await outbox.retry_failed(event.id)
    assert (await _claimed(outbox)).attempts == 1
    assert not await outbox.retry_failed(str(ObjectId()))


async def test_the_counts_tell_pending_parked_processing_and_failed(outbox: OutboxService, clock: ManualClock) -> None:
    """D-11, D-18: what waits is shown, with its reason."""
    for ref in ("done", "failed", "parked", "processing", "due"):
        await outbox.append(CREATED, ref)
        clock.advance(timedelta(milliseconds=1))
    events = await outbox.claim(4, LEASE_MS)
    await outbox.done(events[0], "suggested")
    await outbox.fail(events[1], "no")
    await outbox.park(events[2], "spend_cap", clock.now() + timedelta(hours=1))
    assert await outbox.counts() == OutboxCounts(pending=2, processing=1, failed=1, parked={"spend_cap": 1})
    rows, total = await outbox.page(("pending", "failed"), page=1, limit=2)
    assert [row.payload_ref for row in rows] == ["due", "parked"]
    assert total == 3


async def test_open_rows_of_an_older_desk_are_picked_up(
    outbox: OutboxService, database: Database, clock: ManualClock
) -> None:
    """DATA-2: rows without `availableAt`, pending or left in the hands of a worker that is gone."""
    older = {"type": CREATED, "attempts": 0, "claimedAt": None, "leasedUntil": None, "__v": 0, "updatedAt": clock.now()}
    early, late = clock.now() - timedelta(hours=2), clock.now() - timedelta(hours=1)
    await database["outboxevents"].insert_many(
        [
            {**older, "payloadRef": "late", "status": "pending", "createdAt": late},
            {**older, "payloadRef": "early", "status": "pending", "createdAt": early},
            {**older, "payloadRef": "held", "status": "processing", "createdAt": early, "leasedUntil": late},
            {**older, "payloadRef": "settled", "status": "done", "createdAt": early},
        ]
    )
    claimed = await outbox.claim(10, LEASE_MS)
    assert {event.payload_ref for event in claimed} == {"early", "late", "held"}
    assert claimed[0].payload_ref == "early"
    kept = await database["outboxevents"].find_one({"payloadRef": "early"})
    assert kept is not None
    assert kept["__v"] == 0


async def test_reconcile_makes_what_is_missing_and_settles_what_is_skipped(outbox: OutboxService) -> None:
    """AGT-1, D-27: an opted-out owner's event is settled at once."""
    await outbox.append(CREATED, "present")
    assert await outbox.reconcile(CREATED, ["present", "missing", "opted-out"], skipped={"opted-out"}) == 2
    assert await outbox.reconcile(CREATED, ["present", "missing", "opted-out"]) == 0
    skipped = await outbox.find(CREATED, "opted-out")
    assert skipped is not None
    assert (skipped.status, skipped.outcome) == ("done", "skipped")
    assert {event.payload_ref for event in await outbox.claim(5, LEASE_MS)} == {"present", "missing"}


async def test_every_query_of_the_outbox_is_served_by_an_index(indexed: Database, clock: ManualClock) -> None:
    """DATA-3, D-11: one sparse index is due time and lease; settled events are not in it."""
    events = indexed["outboxevents"]
    now = clock.now()
    settled: list[dict[str, Any]] = [
        {"type": CREATED, "payloadRef": f"d{n}", "status": "done", "createdAt": now, "updatedAt": now}
        for n in range(300)
    ]
    parked = [
        {**row, "payloadRef": f"p{n}", "status": "pending", "availableAt": now + timedelta(hours=1)}
        for n, row in enumerate(settled[:100])
    ]
    await events.insert_many([dict(row) for row in settled] + parked)
    queries: list[tuple[dict[str, Any], int]] = [
        ({"availableAt": {"$lte": now}}, 1),
        ({"status": "pending", "availableAt": None}, 2),
        ({"type": CREATED, "payloadRef": "d7"}, 1),
        ({"status": {"$in": ["pending", "failed"]}}, 103),
    ]
    for query, most in queries:
        plan = await events.find(query).explain()
        assert "COLLSCAN" not in str(plan["queryPlanner"]["winningPlan"]), query
        assert plan["executionStats"]["totalKeysExamined"] <= most, query


async def test_any_order_of_work_settles_every_event_once(outbox: OutboxService, clock: ManualClock) -> None:
    """AGT-2, scenario 3.4: each event reaches done or failed, whatever happens to it on the way."""
    chance = random.Random(3)
    for number in range(30):
        await outbox.append(CREATED, str(number))
    done: list[str] = []
    for _ in range(2_000):
        for event in await outbox.claim(3, LEASE_MS):
            match chance.randrange(4):
                case 0:
                    await outbox.park(event, "working_hours", clock.now() + timedelta(minutes=1))
                case 1:
                    await outbox.retry(event, "The provider did not answer.")
                case 2:
                    done += [event.payload_ref] if await outbox.done(event, "suggested") else []
        clock.advance(timedelta(minutes=1))
        counts = await outbox.counts()
        if counts.pending + counts.processing == 0:
            break
    assert len(done) == len(set(done))
    assert len(done) + (await outbox.counts()).failed == 30
