"""The review queue: what the gate kept from running, frozen, until a dispatcher runs or refuses it (T-8)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from bson import ObjectId

from app.accounts.actors import Actor, HumanActor, require_human
from app.core.canonical import sha256_hex
from app.core.clock import Clock
from app.core.errors import Conflict, NotFound
from app.core.ids import derived_id
from app.governance.access import require_admin
from app.governance.audit import AuditLog
from app.governance.models import PendingAudit
from app.governance.service import TOOLS
from app.runs.models import AgentRun
from app.tools.arguments import Arguments
from app.tools.confirmed_read import staged_by
from app.tools.gate import GateDecision
from app.tools.models import ReviewStatus, ToolReview
from app.tools.review_repository import ReviewRepository
from app.tools.tool import HasHandshake, Tool, ToolFault

MOST_WAITING = 50
"""For one person: a model that asks on and on must not bury what others wait for."""
_SHOWN = 100
_STRANDED = timedelta(seconds=30)


class ReviewQueue:
    """Puts, shows, releases, refuses. What is released is run elsewhere: this feature runs nothing."""

    def __init__(self, reviews: ReviewRepository, audit: AuditLog, clock: Clock) -> None:
        self._reviews = reviews
        self._audit = audit
        self._clock = clock

    async def put(
        self,
        run: AgentRun,
        call_id: ObjectId,
        tool: Tool,
        actor: HumanActor,
        *,
        args: Arguments,
        decision: GateDecision,
    ) -> None:
        """Freezes the request. The same one, asked for again in its run, is there already.

        Raises `ToolFault` where it cannot be meant, or too many wait; `GoneTarget` where its target is gone.
        """
        require_human(actor)
        asked = sha256_hex(args.frozen_args())
        review_id = derived_id(str(run.id), "review", tool.policy.name, asked)
        if await self._reviews.get(review_id) is not None:
            return
        if await self._reviews.waiting_of(actor.id, MOST_WAITING) >= MOST_WAITING:
            raise ToolFault("Too many of this person's requests wait for review already. Nothing was run or queued.")
        staged = await staged_by(tool).stage(actor, args, review_id)
        frozen = tool.confirmed(staged.args) if isinstance(tool, HasHandshake) else staged.args
        now = self._clock.now()
        review: ToolReview = ToolReview.model_construct(
            id=review_id, run_id=run.id, call_id=call_id, requester_id=actor.id, tool=tool.policy.name, args=frozen,
            args_hash=sha256_hex(frozen), target_id=staged.target, staged_version=staged.version,
            pre_image=staged.pre_image, after_diff=staged.after_diff, summary=staged.summary,
            decision=decision.as_record(), why=decision.denial, created_at=now, updated_at=now,
        )  # fmt: skip
        await self._reviews.insert(review)

    async def waiting(self, actor: Actor) -> list[ToolReview]:
        """What waits for a dispatcher, newest first. Raises `Forbidden`."""
        require_admin(actor)
        return await self._reviews.with_status(("waiting",), _SHOWN)

    async def decided(self, actor: Actor) -> list[ToolReview]:
        """What was decided lately, newest first. Raises `Forbidden`."""
        require_admin(actor)
        return await self._reviews.with_status(("released", "run", "refused", "failed"), _SHOWN)

    async def of_requester(self, person_id: ObjectId) -> list[ToolReview]:
        """What a person's copilot asked for and the gate kept, in whatever state, newest first."""
        return await self._reviews.of_requester(person_id, _SHOWN)

    async def count_waiting(self) -> int:
        return await self._reviews.count("waiting", _SHOWN)

    async def get(self, actor: Actor, review_id: ObjectId) -> ToolReview:
        """Raises `Forbidden`, `NotFound`."""
        require_admin(actor)
        found = await self._reviews.get(review_id)
        if found is None:
            raise NotFound("There is no such request.")
        return found

    async def release(self, actor: Actor, review_id: ObjectId, args_hash: str) -> ToolReview:
        """Lets it run, once: what the dispatcher saw is named by its hash. Raises `Conflict` where it was decided."""
        review = await self.get(actor, review_id)
        if review.args_hash != args_hash:
            raise Conflict("This is not the request that was shown. Look at it again.")
        return await self._decide(actor, review, "released", None)

    async def refuse(self, actor: Actor, review_id: ObjectId, reason: str | None) -> ToolReview:
        """Ends it unrun. Raises `Conflict` where it was decided."""
        return await self._decide(actor, await self.get(actor, review_id), "refused", reason)

    async def close(self, review_id: ObjectId, outcome: str, ran_as: ObjectId) -> ToolReview | None:
        """Puts on record what became of a released request; None where that stands already."""
        status: ReviewStatus = "run" if outcome == "executed" else "failed"
        fields = {"status": status, "outcome": outcome, "ranAs": ran_as, "updatedAt": self._clock.now()}
        return await self._reviews.move(review_id, "released", fields)

    async def stranded(self, limit: int) -> Sequence[ToolReview]:
        """Released, and left by the process that was to run them."""
        return await self._reviews.released_before(self._clock.now() - _STRANDED, limit)

    async def complete_audit(self, limit: int) -> None:
        """Writes the rows of decisions whose process died before it did."""
        for review in await self._reviews.unaudited_before(self._clock.now() - _STRANDED, limit):
            await self._record(review)

    async def _decide(self, actor: Actor, review: ToolReview, status: ReviewStatus, reason: str | None) -> ToolReview:
        now = self._clock.now()
        fields = {"status": status, "decidedBy": str(actor.id), "decidedAt": now, "reason": reason, "updatedAt": now}
        decided = await self._reviews.move(review.id, "waiting", fields)
        if decided is None:
            raise Conflict("Somebody decided this already. Look at it again.")
        await self._record(decided)
        return decided

    async def _record(self, review: ToolReview) -> None:
        """The decision in the audit trail, once, however often it is asked for (D-20)."""
        row = PendingAudit(
            id=derived_id(str(review.id), "audit"),
            actor_id=review.decided_by or "",
            action="review.refuse" if review.status == "refused" else "review.run",
            before={"tool": review.tool, "requesterId": str(review.requester_id), "argsHash": review.args_hash},
            after={"reviewId": str(review.id), "runId": str(review.run_id), "reason": review.reason},
            at=review.decided_at or self._clock.now(),
        )
        await self._audit.append_change(TOOLS, row)
        await self._reviews.audited(review.id)
