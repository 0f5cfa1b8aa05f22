"""One tool step in pydantic-ai."""

from __future__ import annotations

import os

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits
from step import OrderTool, Run, measure


def _make(tool: OrderTool) -> Run:
    provider = OpenAIProvider(base_url=os.environ["MODEL_URL"], api_key="bench")
    agent = Agent(OpenAIChatModel("bench", provider=provider), system_prompt="You help with work orders.")

    @agent.tool_plain
    async def list_my_work_orders(search: str) -> str:
        """The person's own work orders, newest first, 10 at most. Narrow by title."""
        return await tool.search(search)

    async def run(message: str) -> None:
        await agent.run(message, usage_limits=UsageLimits(request_limit=None))

    return run


measure(_make)
