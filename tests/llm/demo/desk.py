"""The desk's side of a conversation with the demo model's rules, without HTTP."""

from __future__ import annotations

import json
from typing import Any

from app.llm.demo.rules_copilot import answer

READS = ["list_my_work_orders", "search_my_work_orders", "get_profile"]
WRITES = ["create_work_order", "update_work_order", "delete_work_order"]
ADMIN = ["admin_list_work_orders", "admin_list_users", "admin_metrics"]


def order(number: int, title: str, priority: str = "medium", status: str = "pending") -> dict[str, Any]:
    return {"id": f"{number:024x}", "title": title, "priority": priority, "status": status, "version": 1}


NEWEST, PUMP, BOILER = (
    order(3, "Paint the lobby"),
    order(2, "Pump in basement leaks"),
    order(1, "Boiler: no heat", "high"),
)
ORDERS = [NEWEST, PUMP, BOILER]


class Desk:
    """Plays the desk's side: runs reads over `orders`, gives writes the outcome that the test wants."""

    def __init__(
        self, orders: list[dict[str, Any]], *, tools: list[str], outcome: dict[str, Any] | None = None
    ) -> None:
        self.orders, self.tools = orders, tools
        self.outcome = outcome or {"outcome": "executed"}
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def ask(self, text: str, system: str = "You are the desk's copilot.") -> str:
        messages: list[dict[str, Any]] = [{"role": "system", "content": system}, {"role": "user", "content": text}]
        offered = [{"type": "function", "function": {"name": name}} for name in self.tools]
        for step in range(8):
            reply = answer({"messages": messages, "tools": offered})
            if not reply.calls:
                return reply.text
            (asked,) = reply.calls
            assert isinstance(asked.arguments, dict)
            self.calls.append((asked.name, asked.arguments))
            function = {"name": asked.name, "arguments": json.dumps(asked.arguments)}
            messages += [
                {"role": "assistant", "content": None, "tool_calls": [{"id": f"c{step}", "function": function}]},
                {
                    "role": "tool",
                    "tool_call_id": f"c{step}",
                    "content": json.dumps(self.run(asked.name, asked.arguments)),
                },
            ]
        raise AssertionError("the demo model went round in circles")

    def run(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if name in WRITES:
            return self.outcome
        if name in ("get_profile", "admin_metrics"):
            return {"name": "Uma", "role": "user", "workOrders": 3}
        if name == "admin_list_users":
            return {"items": [{"name": "Uma", "email": "u@example.com", "role": "user"}], "total": 1}
        items = [o for o in self.orders if arguments.get("search", "").lower() in o["title"].lower()]
        return {"items": [o for o in items if all(o[k] == arguments.get(k, o[k]) for k in ("status", "priority"))]}


def desk(**options: Any) -> Desk:
    return Desk(options.pop("orders", ORDERS), tools=options.pop("tools", READS + WRITES), **options)
