"""How these tests call the `request` tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bson import ObjectId

from app.accounts.actors import HumanActor
from app.tools.connections.http_sender import HttpSender
from app.tools.connections.policy_file import load_connections
from app.tools.connections.request_arguments import RequestArguments
from app.tools.connections.request_tool import RequestTool
from app.tools.tool import Staged
from app.web.limits import RateLimiter
from tests.tools.connections.systems import ENVIRONMENT

ACTOR = HumanActor(ObjectId(), "user")
CALL = ObjectId("65f0c0ffee65f0c0ffee0001")


def tool_over(folder: Path, limiter: RateLimiter, *, allow_local: bool = True, **environment: str) -> RequestTool:
    sender = HttpSender(allow_local=allow_local)
    return RequestTool(load_connections(folder), sender, limiter, ENVIRONMENT | environment)


def asked(method: str, path: str, *, on: str = "inventory", intent: str = "write", **more: Any) -> RequestArguments:
    arguments = {"connection": on, "method": method, "path": path, "intent": intent, **more}
    return RequestArguments.model_validate(arguments)


RESERVE = asked("POST", "/reservations", body={"sku": "SEA-0118", "quantity": 10})


async def sent(tool: RequestTool, args: RequestArguments, call_id: ObjectId = CALL) -> Any:
    """Stages and executes the confirmed call, with arguments as the database gives them back."""
    staged = await tool.stage(ACTOR, args, call_id)
    frozen = json.loads(json.dumps(tool.confirmed(staged.args)))
    confirmed = Staged(frozen, staged.target, None, None, staged.after_diff, staged.summary)
    return (await tool.execute(ACTOR, confirmed, call_id)).result
