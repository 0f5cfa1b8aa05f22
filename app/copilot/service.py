"""Conversations and messages: the checks before a run exists, then the run (COP-1, COP-2, COP-8, D-17, D-22)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from bson import ObjectId

from app.accounts.people import Person
from app.copilot.engine import RunEngine
from app.copilot.events import EventLog
from app.copilot.models import CopilotSession
from app.copilot.repository import SessionRepository
from app.copilot.schemas import CopilotSessionPublic, MessageIn
from app.core.clock import Clock
from app.core.errors import Conflict, Forbidden, NotFound
from app.governance.errors import AiUnavailable
from app.runs.errors import RunInProgress
from app.runs.models import AgentRun, Step
from app.runs.rows import NewRun
from app.runs.service import RunService

_RECENT = 20
_RACES = 5

SWITCHED_OFF = "The copilot was switched off by a dispatcher. Everything else works."

StartLimit = Callable[[], Awaitable[None]]
SwitchedOn = Callable[[], Awaitable[bool]]


class CopilotService:
    """`model` names the provider's model on each run; `enabled` is AI_ENABLED, `switched_on` the kill switch (D-18)."""

    def __init__(
        self,
        sessions: SessionRepository,
        runs: RunService,
        engine: RunEngine,
        clock: Clock,
        *,
        events: EventLog,
        model: str,
        enabled: bool,
        switched_on: SwitchedOn,
    ) -> None:
        self._sessions = sessions
        self._runs = runs
        self._engine = engine
        self._clock = clock
        self._events = events
        self._model = model
        self._enabled = enabled
        self._switched_on = switched_on

    def require_on(self, person: Person) -> None:
        """Raises `AiUnavailable` when the desk's AI is off, `Forbidden` when it is off for this person (COP-1)."""
        if not self._enabled:
            raise AiUnavailable
        if not person.ai_on:
            raise Forbidden("AI is switched off for your account. Your profile or a dispatcher can turn it on.")

    async def open_session(self, person: Person) -> CopilotSession:
        """A new active session in place of the one before. Raises `RunInProgress` (COP-1)."""
        self.require_on(person)
        for _ in range(_RACES):
            await self._refuse_while_working(person)
            now = self._clock.now()
            await self._sessions.archive_active(person.id, now)
            if session := await self._sessions.insert_active(person.id, now):
                return session
        raise Conflict("Another window opened a conversation at the same moment. Try again.")

    async def current_session(self, person: Person) -> CopilotSession:
        """The active session, made when there is none (the drawer)."""
        self.require_on(person)
        while True:
            if session := await self._sessions.active(person.id):
                return session
            if session := await self._sessions.insert_active(person.id, self._clock.now()):
                return session

    async def active_session(self, person: Person) -> CopilotSession | None:
        return await self._sessions.active(person.id)

    async def recent(self, person: Person) -> list[CopilotSession]:
        """The person's newest sessions (COP-8)."""
        return await self._sessions.recent(person.id, _RECENT)

    async def titles(self, sessions: Sequence[CopilotSession]) -> list[str]:
        """What each session began with."""
        words = await self._runs.session_titles([session.id for session in sessions])
        return [" ".join(words.get(str(session.id), "").split())[:80] or "New conversation" for session in sessions]

    async def session(self, person: Person, session_id: ObjectId) -> CopilotSession:
        """The person's session; another's is not there (SEC-14)."""
        session = await self._sessions.get(session_id)
        if session is None or session.user_id != person.id:
            raise NotFound("There is no such conversation.")
        return session

    async def archive(self, person: Person, session_id: ObjectId) -> None:
        """Closes a session. Raises `RunInProgress` while it is at work (D-30)."""
        await self.session(person, session_id)
        run = await self._runs.working_of(person.id)
        if run is not None and run.session_id == session_id:
            raise RunInProgress
        await self._sessions.archive(session_id, person.id, self._clock.now())

    async def send(
        self,
        person: Person,
        session_id: ObjectId,
        message: MessageIn,
        *,
        request_id: str,
        idempotency_key: str | None,
        limit: StartLimit,
    ) -> AgentRun:
        """Starts a run on `message` and carries it on in the background.

        Order of checks: AI off 503 or 403 · session 404 · replayed key 409 · archived session 409 · working run 409 ·
        start limit 429.
        """
        self.require_on(person)
        if not await self._switched_on():
            raise AiUnavailable(SWITCHED_OFF)
        session = await self.session(person, session_id)
        if idempotency_key:
            await self._runs.refuse_duplicate(person.id, idempotency_key)
        if session.status != "active":
            raise Conflict("This conversation is closed. Start a new one.")
        await self._refuse_while_working(person)
        await limit()
        run = await self._runs.start(
            NewRun(
                mode="copilot",
                model=self._model,
                first=[Step(role="user", content=message.content, at=self._clock.now())],
                user_id=person.id,
                session_id=session_id,
                idempotency_key=idempotency_key,
                request_id=request_id,
                work_order_id=ObjectId(message.work_order_id) if message.work_order_id else None,
            )
        )
        await self._sessions.touch(session_id, self._clock.now())
        await self._events.begin(run.id)
        self._engine.carry_on(run, attended=True)
        if not await self._switched_on():  # in this very moment: the switch's own look may have missed the run
            await self._engine.stop(run.id, "switched off")
        return run

    async def _refuse_while_working(self, person: Person) -> None:
        """Raises `RunInProgress`. A run whose process died is not waited for: it is taken over or ended here (D-1)."""
        if run := await self._runs.working_of(person.id):
            await self._engine.adopt(run.id)
            if await self._runs.working_of(person.id):
                raise RunInProgress


def present(session: CopilotSession) -> CopilotSessionPublic:
    """`CopilotSession` of 003 §8.3."""
    return CopilotSessionPublic(
        id=str(session.id),
        user_id=str(session.user_id),
        status=session.status,
        created_at=session.created_at,
        updated_at=session.updated_at,
    )
