"""One tool step in pydantic-ai: a read, or a write with `requires_approval`, which ends the run as a deferred call."""

from __future__ import annotations

import os

from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits
from step import OrderTool, Run, Waiting, measure


def _make(tool: OrderTool) -> Run:
    provider = OpenAIProvider(base_url=os.environ["MODEL_URL"], api_key="bench")
    agent = Agent(
        OpenAIChatModel("bench", provider=provider),
        system_prompt="You help with work orders.",
        output_type=[str, DeferredToolRequests],
    )

    @agent.tool_plain
    async def list_my_work_orders(search: str) -> str:
        """The person's own work orders, newest first, 10 at most. Narrow by title."""
        return await tool.search(search)

    @agent.tool_plain(requires_approval=True)
    async def update_work_order(id: str, priority: str) -> str:  # noqa: A002 - the model's word
        """Change a work order that was read."""
        raise RuntimeError(f"{id} {priority}: nobody approved")

    async def run(message: str) -> Waiting | None:
        result = await agent.run(message, usage_limits=UsageLimits(request_limit=None))
        if not isinstance(result.output, DeferredToolRequests):
            return None
        [proposed] = result.output.approvals
        return Waiting(proposed.args_as_dict(), lambda: result.all_messages_json().decode())

    return run


measure(_make)
