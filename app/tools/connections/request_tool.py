"""`request`: one HTTP request to a connection, proposed first and sent once (T-9, T-10, D-5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from bson import ObjectId

from app.accounts.actors import HumanActor
from app.core.canonical import canonical_json
from app.core.errors import RateLimited
from app.tools.arguments import Arguments
from app.tools.connections.access import Access, process_environment
from app.tools.connections.answers import failure_of, result_of, text_of
from app.tools.connections.connection import Connection, Connections
from app.tools.connections.description import describe
from app.tools.connections.paths import address
from app.tools.connections.port import Outgoing, Sender, SendFailed
from app.tools.connections.request_arguments import CONFIRMED, RequestArguments, without_intent
from app.tools.policy import Risk, Tier, ToolPolicy
from app.tools.tool import Executed, ReadResult, Staged, ToolFault
from app.web.limits import Limit, RateLimiter

INSTRUCTION = "Approved. Call request again with intent confirmed_write and exactly the same arguments to send it."


class RequestTool:
    """The tool over all connections. Its own policy only says that it is offered; each endpoint has another.

    `environment` holds the secrets, by the names that the policies give; by default this process's own.
    """

    policy = ToolPolicy("request", Risk.READ, mutates=False, source="connections")
    arguments: ClassVar[type[Arguments]] = RequestArguments

    def __init__(
        self,
        connections: Connections,
        sender: Sender,
        limiter: RateLimiter,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._connections = connections
        self._sender = sender
        self._limiter = limiter
        self._access = Access(sender, process_environment() if environment is None else environment)
        self.description = describe(connections)

    @property
    def endpoint_policies(self) -> tuple[ToolPolicy, ...]:
        """The policy of every endpoint, in the order of the files."""
        return tuple(endpoint.policy for connection in self._connections for endpoint in connection.endpoints)

    def policy_of(self, args: Arguments) -> ToolPolicy:
        """The strictest policy of all endpoints that the request may mean; unknown ones are never allowed (T-9)."""
        return self._connections.policy_of(_said(args).request())

    def names_of(self, args: Arguments) -> tuple[str, ...]:
        """The names of all those endpoints: what an admin raised for any of them holds for the call."""
        return tuple(endpoint.policy.name for endpoint in self._connections.found(_said(args).request()))

    def is_confirmed(self, args: Arguments) -> bool:
        """Whether this is the call that sends (T-10)."""
        return _said(args).intent == CONFIRMED

    def handshake(self, args: dict[str, Any]) -> dict[str, Any]:
        """Frozen arguments, intent aside: equal on both sides of the handshake."""
        return without_intent(args)

    def confirmed(self, args: dict[str, Any]) -> dict[str, Any]:
        """The frozen arguments of the call that sends what `args` proposed."""
        return {**args, "intent": CONFIRMED}

    def runs_once(self, args: dict[str, Any]) -> bool:
        """What was sent is never sent again, whatever became of it (D-5)."""
        return args.get("intent") == CONFIRMED

    async def read(self, actor: HumanActor, args: Arguments) -> ReadResult:  # noqa: ARG002
        """Sends a GET. Raises `ToolFault`."""
        said = _said(args)
        if said.method != "GET":
            raise ToolFault("Only GET is sent without being proposed first.")
        return ReadResult(text_of(await self._send(said)))

    async def stage(self, actor: HumanActor, args: Arguments, call_id: ObjectId) -> Staged:  # noqa: ARG002
        """What would be sent; nothing is. Raises `ToolFault`."""
        said = _said(args)
        self._connection(said)
        summary = f"{said.method} {said.path} on {said.connection}"
        return Staged(said.frozen_args(), call_id, None, None, said.request(), summary)

    async def execute(self, actor: HumanActor, staged: Staged, call_id: ObjectId) -> Executed:  # noqa: ARG002
        """The preview of an approved proposal, or the one sending of a confirmed one. Raises `ToolFault`."""
        said = RequestArguments.model_validate(staged.args)
        if said.intent != CONFIRMED:
            return Executed(_preview(said), None)
        return Executed(await self._send(said, str(call_id)), None)

    async def _send(self, said: RequestArguments, call_id: str | None = None) -> dict[str, Any]:
        connection = self._connection(said)
        if fault := self._access.fault(connection):
            raise ToolFault(f"The connection {connection.name} is not set up: {fault}.")
        await self._count(connection)
        secret = self._access.secret(connection)
        try:
            answer = await self._sender.send(_outgoing(connection, said, secret, call_id))
        except SendFailed as failed:
            fault_told = failure_of(connection, failed)
        else:
            return result_of(connection, answer, secret)
        raise fault_told

    def _connection(self, said: RequestArguments) -> Connection:
        """The connection, for a request that one of its endpoints stands for and none forbids: asked again here, though
        the gate has decided, because nothing else stands between this and the wire.
        """
        connection = self._connections.get(said.connection)
        policy = self._connections.policy_of(said.request())
        if connection is None or policy.confirm is Tier.NEVER:
            raise ToolFault(f"This request is not allowed: {policy.reason or 'its policy says never'}.")
        return connection

    async def _count(self, connection: Connection) -> None:
        most = connection.limits.per_minute
        try:
            await self._limiter.hit(Limit("connection", most, 60), connection.name)
        except RateLimited:
            told = f"{connection.name} may be called {most} times a minute, and that is used up. Nothing was sent."
        else:
            return
        raise ToolFault(told)


def _said(args: Arguments) -> RequestArguments:
    return cast("RequestArguments", args)


def _outgoing(
    connection: Connection, said: RequestArguments, secret: tuple[str, str] | None, call_id: str | None
) -> Outgoing:
    headers = {"Accept": "application/json, text/*;q=0.5"}
    content = None
    if said.body is not None:
        headers["Content-Type"] = "application/json"
        content = canonical_json(said.body)  # byte for byte what the shown hash stands for (D-8)
    if call_id is not None:
        headers["Idempotency-Key"] = call_id
    return Outgoing(
        method=said.method,
        url=address(connection.base_url, said.path, said.query),
        timeout_s=connection.limits.timeout_s,
        max_bytes=connection.limits.max_response_bytes,
        headers=headers,
        content=content,
        secret=secret,
    )


def _preview(said: RequestArguments) -> dict[str, Any]:
    return {
        "preview": said.request(),
        "approved": True,
        "method": said.method,
        "path": said.path,
        "instruction": INSTRUCTION,
    }
