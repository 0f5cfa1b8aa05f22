"""One tool step in openai-agents: a read, or a write with `needs_approval`, which interrupts the run."""

from __future__ import annotations

import json
import os

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
from step import OrderTool, Run, Waiting, measure


def _make(tool: OrderTool) -> Run:
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=os.environ["MODEL_URL"], api_key="bench")

    @function_tool
    async def list_my_work_orders(search: str) -> str:
        """The person's own work orders, newest first, 10 at most. Narrow by title."""
        return await tool.search(search)

    @function_tool(needs_approval=True)
    async def update_work_order(id: str, priority: str) -> str:  # noqa: A002 - the model's word
        """Change a work order that was read."""
        raise RuntimeError(f"{id} {priority}: nobody approved")

    agent = Agent(
        name="bench",
        instructions="You help with work orders.",
        tools=[list_my_work_orders, update_work_order],
        model=OpenAIChatCompletionsModel("bench", openai_client=client),
    )

    async def run(message: str) -> Waiting | None:
        result = await Runner.run(agent, message, max_turns=1_000)
        if not result.interruptions:
            return None
        [proposed] = result.interruptions
        return Waiting(json.loads(proposed.arguments or "{}"), lambda: result.to_state().to_string())

    return run


measure(_make)
