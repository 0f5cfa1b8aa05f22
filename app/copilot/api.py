"""The JSON door of the copilot: sessions, messages as SSE, decisions, runs (003 §8.2, D-6, D-30)."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Controller, Request, delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, HeaderParameter, JSONBody, QueryParameter
from litestar.response import Stream

from app.accounts.guards import signed_in
from app.accounts.people import Person
from app.copilot.approvals import Approvals
from app.copilot.doors import ai_enabled, start_limit
from app.copilot.engine import RunEngine
from app.copilot.hub import START
from app.copilot.schemas import CopilotSessionPublic, Decision, MessageIn
from app.copilot.service import CopilotService, present
from app.copilot.wire_json import JsonWire
from app.core.errors import Conflict, Forbidden
from app.core.ids import parse_id
from app.core.schemas import OffsetPage
from app.core.settings import Settings
from app.governance.audit import AuditLog
from app.governance.errors import BudgetExceeded
from app.runs import present as records
from app.runs.errors import ApprovalExpired, ApprovalResolved, ApprovalStale, MessageDuplicate, RunInProgress
from app.runs.schemas import AgentRunPublic, AgentToolCallPublic, RunDetail
from app.runs.service import RunService
from app.web.envelope import Success, answers
from app.web.limits import RateLimiter
from app.web.request_context import request_id
from app.web.sse import event_stream

AnyRequest = Request[Any, Any, Any]
IdempotencyKey = Annotated[str | None, HeaderParameter(name="Idempotency-Key", min_length=1, max_length=200)]
LastEventId = Annotated[str | None, HeaderParameter(name="Last-Event-ID", max_length=40)]
PageNumber = Annotated[int, QueryParameter(ge=1, le=100_000)]
PageSize = Annotated[int, QueryParameter(ge=1, le=100)]


class CopilotApi(Controller):
    path = "/api/v1/ai"
    tags = ("Copilot",)
    guards = (signed_in, ai_enabled)

    @post(
        "/sessions",
        opt=answers(Forbidden, RunInProgress, Conflict),
        status_code=201,
        summary="Start a conversation; the one before is archived",
    )
    async def open_session(
        self, person: NamedDependency[Person], copilot: NamedDependency[CopilotService]
    ) -> Success[CopilotSessionPublic]:
        return Success(data=present(await copilot.open_session(person)))

    @get("/sessions", summary="Your conversations, newest first")
    async def sessions(
        self, person: NamedDependency[Person], copilot: NamedDependency[CopilotService]
    ) -> Success[list[CopilotSessionPublic]]:
        return Success(data=[present(session) for session in await copilot.recent(person)])

    @delete(
        "/sessions/{session_id:str}",
        opt=answers(Forbidden, RunInProgress),
        status_code=204,
        summary="Close a conversation",
    )
    async def archive(
        self, person: NamedDependency[Person], copilot: NamedDependency[CopilotService], session_id: FromPath[str]
    ) -> None:
        await copilot.archive(person, parse_id(session_id))

    @post(
        "/sessions/{session_id:str}/messages",
        opt=answers(RunInProgress, MessageDuplicate, Conflict, BudgetExceeded),
        status_code=200,
        summary="Say something; the answer is a stream",
    )
    async def send(
        self,
        *,
        request: AnyRequest,
        person: NamedDependency[Person],
        copilot: NamedDependency[CopilotService],
        json_wire: NamedDependency[JsonWire],
        limiter: NamedDependency[RateLimiter],
        settings: NamedDependency[Settings],
        session_id: FromPath[str],
        data: JSONBody[MessageIn],
        idempotency_key: IdempotencyKey = None,
    ) -> Stream:
        run = await copilot.send(
            person,
            parse_id(session_id),
            data,
            request_id=request_id(request),
            idempotency_key=idempotency_key,
            limit=start_limit(request, person, limiter, settings),
        )
        run_id = parse_id(str(run.id))
        return event_stream(json_wire.frames(run_id, START), {"X-Run-Id": str(run_id)})

    @post(
        "/tool-calls/{call_id:str}/decide",
        opt=answers(ApprovalResolved, ApprovalStale, ApprovalExpired),
        status_code=200,
        summary="Approve or reject a proposal",
    )
    async def decide(
        self,
        person: NamedDependency[Person],
        approvals: NamedDependency[Approvals],
        call_id: FromPath[str],
        data: JSONBody[Decision],
    ) -> Success[AgentToolCallPublic]:
        return Success(data=records.tool_call(await approvals.decide(person, parse_id(call_id), data)))

    @post(
        "/tool-calls/{call_id:str}/extend",
        opt=answers(ApprovalResolved, ApprovalExpired, Conflict),
        status_code=200,
        summary="More time to decide",
    )
    async def extend(
        self, person: NamedDependency[Person], approvals: NamedDependency[Approvals], call_id: FromPath[str]
    ) -> Success[AgentToolCallPublic]:
        return Success(data=records.tool_call(await approvals.extend(person, parse_id(call_id))))

    @post(
        "/tool-calls/{call_id:str}/undo", opt=answers(Conflict), status_code=200, summary="Take an executed change back"
    )
    async def undo(
        self, person: NamedDependency[Person], approvals: NamedDependency[Approvals], call_id: FromPath[str]
    ) -> Success[AgentToolCallPublic]:
        return Success(data=records.tool_call(await approvals.undo(person, parse_id(call_id))))

    @get("/approvals", summary="What awaits your decision")
    async def pending(
        self, person: NamedDependency[Person], approvals: NamedDependency[Approvals]
    ) -> Success[list[AgentToolCallPublic]]:
        return Success(data=[records.tool_call(call) for call in await approvals.pending(person)])

    @get("/runs", summary="Your runs, newest first")
    async def own_runs(
        self,
        person: NamedDependency[Person],
        runs: NamedDependency[RunService],
        page: PageNumber = 1,
        limit: PageSize = 20,
    ) -> Success[OffsetPage[AgentRunPublic]]:
        return Success(data=await runs.own_page(person.id, page, limit))

    @get(
        "/runs/{run_id:str}", summary="One run with its messages and calls; a dispatcher's look at another's is audited"
    )
    async def run(
        self,
        person: NamedDependency[Person],
        runs: NamedDependency[RunService],
        audit: NamedDependency[AuditLog],
        run_id: FromPath[str],
    ) -> Success[RunDetail]:
        if person.role != "admin":
            return Success(data=await runs.detail(await runs.own(person.id, parse_id(run_id))))
        run = await runs.get(parse_id(run_id))
        if run.user_id != person.id:
            await audit.transcript_viewed(person.actor, run.agent_name or run.mode, str(run.id))
        return Success(data=await runs.detail(run))

    @get("/runs/{run_id:str}/events", summary="Watch a run; resumes after Last-Event-ID")
    async def events(
        self,
        person: NamedDependency[Person],
        runs: NamedDependency[RunService],
        json_wire: NamedDependency[JsonWire],
        run_id: FromPath[str],
        last_event_id: LastEventId = None,
    ) -> Stream:
        run = await runs.own(person.id, parse_id(run_id))
        return event_stream(json_wire.frames(parse_id(str(run.id)), last_event_id or START), {"X-Run-Id": str(run.id)})

    @post("/runs/{run_id:str}/cancel", status_code=200, summary="Stop a run")
    async def cancel(
        self,
        person: NamedDependency[Person],
        runs: NamedDependency[RunService],
        engine: NamedDependency[RunEngine],
        run_id: FromPath[str],
    ) -> Success[AgentRunPublic]:
        run = await runs.own(person.id, parse_id(run_id))
        await engine.stop(parse_id(str(run.id)), "cancel")
        return Success(data=records.run(await runs.get(parse_id(str(run.id)))))


API = [CopilotApi]
