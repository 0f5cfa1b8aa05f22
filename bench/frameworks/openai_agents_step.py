"""One tool step in openai-agents."""

from __future__ import annotations

import os

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
from step import OrderTool, Run, measure


def _make(tool: OrderTool) -> Run:
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=os.environ["MODEL_URL"], api_key="bench")

    @function_tool
    async def list_my_work_orders(search: str) -> str:
        """The person's own work orders, newest first, 10 at most. Narrow by title."""
        return await tool.search(search)

    agent = Agent(
        name="bench",
        instructions="You help with work orders.",
        tools=[list_my_work_orders],
        model=OpenAIChatCompletionsModel("bench", openai_client=client),
    )

    async def run(message: str) -> None:
        await Runner.run(agent, message, max_turns=1_000)

    return run


measure(_make)
