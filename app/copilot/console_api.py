"""The console's door to the copilot: the same runs, told in 001's words, and its confirmations (T-12, T-14)."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Controller, Request, post
from litestar.di import NamedDependency
from litestar.params import HeaderParameter, JSONBody
from litestar.response import Stream

from app.accounts.guards import signed_in
from app.accounts.people import Person
from app.copilot.approvals import Approvals
from app.copilot.doors import ai_enabled, start_limit
from app.copilot.schemas import ChatIn, ConfirmIn, MessageIn
from app.copilot.service import CopilotService
from app.copilot.wire_console import ConsoleWire
from app.core.errors import Conflict, Forbidden, NotFound
from app.core.ids import parse_id
from app.core.settings import Settings
from app.runs import present as records
from app.runs.errors import ApprovalExpired, ApprovalResolved, ApprovalStale, MessageDuplicate, RunInProgress
from app.runs.schemas import AgentToolCallPublic
from app.web.envelope import Success, answers
from app.web.limits import RateLimiter
from app.web.request_context import request_id
from app.web.sse import event_stream

AnyRequest = Request[Any, Any, Any]
IdempotencyKey = Annotated[str | None, HeaderParameter(name="Idempotency-Key", min_length=1, max_length=200)]


class ConsoleApi(Controller):
    path = "/api/ai"
    tags = ("Console",)
    guards = (signed_in, ai_enabled)

    @post(
        "/agent-chat",
        opt=answers(Forbidden, NotFound, RunInProgress, MessageDuplicate, Conflict) | {"events": "ConsoleEvent"},
        status_code=200,
        summary="Say something in a chat, or in the active one; the answer is a stream",
    )
    async def chat(
        self,
        *,
        request: AnyRequest,
        person: NamedDependency[Person],
        copilot: NamedDependency[CopilotService],
        console_wire: NamedDependency[ConsoleWire],
        limiter: NamedDependency[RateLimiter],
        settings: NamedDependency[Settings],
        data: JSONBody[ChatIn],
        idempotency_key: IdempotencyKey = None,
    ) -> Stream:
        """Whose chat it is comes before what the person may reach (T-14)."""
        chat = await (
            copilot.session(person, parse_id(data.chat_id)) if data.chat_id else copilot.current_session(person)
        )
        run = await copilot.send(
            person,
            chat.id,
            MessageIn(content=data.message),
            request_id=request_id(request),
            idempotency_key=idempotency_key,
            limit=start_limit(request, person, limiter, settings),
        )
        return event_stream(console_wire.frames(run.id, chat.id), {"X-Run-Id": str(run.id)})

    @post(
        "/confirm",
        opt=answers(Forbidden, NotFound, ApprovalResolved, ApprovalStale, ApprovalExpired),
        status_code=200,
        summary="Spend a confirmation token: approve or reject what it stands for",
    )
    async def confirm(
        self,
        person: NamedDependency[Person],
        approvals: NamedDependency[Approvals],
        data: JSONBody[ConfirmIn],
    ) -> Success[AgentToolCallPublic]:
        return Success(data=records.tool_call(await approvals.confirm(person, data.decision())))


API = [ConsoleApi]
