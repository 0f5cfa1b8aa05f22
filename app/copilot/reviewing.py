"""Running what a dispatcher released from the review queue: once, as the person who asked, who is told (T-8)."""

from __future__ import annotations

from bson import ObjectId

from app.accounts.actors import Actor
from app.accounts.background import AfterTheAnswer
from app.accounts.service import AccountsService
from app.copilot.execution import Execution
from app.core.clock import Clock
from app.core.ids import derived_id
from app.mail.port import Mailer
from app.runs.models import AgentToolCall, Approval
from app.runs.schemas import FINAL_OUTCOMES
from app.runs.service import RunService
from app.tools.models import ToolReview
from app.tools.reviews import ReviewQueue

_AT_ONCE = 20


class Reviewing:
    """Release, refuse, and what a crash left released."""

    def __init__(
        self,
        queue: ReviewQueue,
        runs: RunService,
        execution: Execution,
        *,
        accounts: AccountsService,
        mailer: Mailer,
        clock: Clock,
        public_url: str,
    ) -> None:
        self._queue = queue
        self._runs = runs
        self._execution = execution
        self._accounts = accounts
        self._mailer = mailer
        self._clock = clock
        self._public_url = public_url
        self._later = AfterTheAnswer()

    async def run(self, actor: Actor, review_id: ObjectId, args_hash: str) -> ToolReview:
        """Runs the frozen request. Raises `Forbidden`, `NotFound`, `Conflict` (decided already, or not as shown)."""
        return await self._carry_out(await self._queue.release(actor, review_id, args_hash))

    async def refuse(self, actor: Actor, review_id: ObjectId, reason: str | None) -> ToolReview:
        """Ends it unrun, and tells the person. Raises as `run`."""
        refused = await self._queue.refuse(actor, review_id, reason)
        self._tell(refused)
        return refused

    async def sweep(self) -> None:
        """Completes what a dead process left released: its effect, if it had one, is recognised or never repeated."""
        for review in await self._queue.stranded(_AT_ONCE):
            await self._carry_out(review)
        await self._queue.complete_audit(_AT_ONCE)

    async def close(self) -> None:
        """Waits for mail that is being sent."""
        await self._later.finish()

    async def _carry_out(self, review: ToolReview) -> ToolReview:
        call = await self._runs.keep_call(self._as_call(review))
        executed = (
            call if call.outcome in FINAL_OUTCOMES else await self._execution.execute(call.id, f"review:{call.id}")
        )
        if executed is None or executed.outcome not in FINAL_OUTCOMES:
            return review  # another process is at it
        closed = await self._queue.close(review.id, executed.outcome, executed.id)
        if closed is None:
            return review
        self._tell(closed)
        return closed

    def _as_call(self, review: ToolReview) -> AgentToolCall:
        """The call that runs: approved by the dispatcher, made for the person who asked."""
        now = self._clock.now()
        approval = Approval(
            status="approved", summary=review.summary, expires_at=now, decided_by=review.decided_by,
            decided_at=review.decided_at,
        )  # fmt: skip
        call: AgentToolCall = AgentToolCall.model_construct(
            id=derived_id(str(review.id), "run"), run_id=review.run_id, user_id=review.requester_id, tool=review.tool,
            args=review.args, args_hash=review.args_hash, outcome="approved", staged_version=review.staged_version,
            pre_image=review.pre_image, after_diff=review.after_diff, target_id=review.target_id,
            decision=review.decision, approval=approval, review_id=review.id, created_at=now, updated_at=now,
        )  # fmt: skip
        return call

    def _tell(self, review: ToolReview) -> None:
        self._later.start("review_told", self._mail(review))

    async def _mail(self, review: ToolReview) -> None:
        person = await self._accounts.active_person(review.requester_id)
        if person is None:
            return
        words = {"run": "was run", "refused": "was not run", "failed": "was tried and did not work"}
        reason = f"\n\nReason: {review.reason}" if review.reason else ""
        text = (
            f"A dispatcher looked at what you asked the copilot for: {review.summary}.\n"
            f"It {words.get(review.status, 'is being run')}.{reason}\n\n"
            f"{self._public_url}/app/runs/{review.run_id}\n"
        )
        await self._mailer.send(person.email, "A dispatcher looked at your request", text)
