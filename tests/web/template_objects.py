"""Believable things to show: people, orders, calls, approvals, runs. Times hang on `NOW`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace as Thing
from typing import Any

from markupsafe import Markup

from app.core.errors import Conflict, ErrorDetail

APPROVE_LABELS = {
    "update": "Approve change",
    "create": "Create work order",
    "delete": "Approve deletion",
    "request": "Approve request",
    "run": "Run",
}
NOW = datetime(2026, 11, 25, 10, 30, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)><hx-partial hx-target=body>{{ 7*7 }}"


def before(**delta: float) -> datetime:
    return NOW - timedelta(**delta)


ROSA = Thing(id="u1", name="Rosa Lind", email="rosa@example.com", role="user", ai_on=True)
ADA = Thing(id="u2", name="Ada Moss", email="ada@example.com", role="admin", ai_on=True)


def common(nav: str = "orders", person: Thing = ADA, pending: int = 1, ai: Thing | None = None) -> dict[str, Any]:
    return {
        "person": person,
        "csrf_token": "token-1",
        "nav": nav,
        "pending_approvals": pending,
        "ai": ai or Thing(enabled=True, off_reason=None),
        "now": NOW,
    }


def form(values: dict[str, Any] | None = None, errors: dict[str, str] | None = None, error: str | None = None) -> Thing:
    return Thing(values=values or {}, errors=errors or {}, error=error)


def order(number: int, title: str, **changes: Any) -> Thing:
    fields: dict[str, Any] = {
        "id": f"65f0c0ffee00000000000{number:03d}",
        "title": title,
        "description": "Puddle under P-204 since Monday, bolts already tightened.",
        "priority": "low",
        "status": "pending",
        "owner": Thing(id="u1", name="Rosa Lind", email="rosa@example.com"),
        "version": 3,
        "created_at": before(days=2, hours=2),
        "updated_at": before(minutes=38),
        "history": [],
    }
    return Thing(**(fields | changes))


def history() -> list[Thing]:
    def entry(by_name: str, at: Any, action: str, via: str, *changes: Thing, version: int = 1) -> Thing:
        called = "674ad1f0c0ffee0000000c01" if via == "copilot" else None
        return Thing(
            by_name=by_name, at=at, action=action, via=via, changes=[*changes], version=version, tool_call_id=called
        )

    text = Thing(field="description", before="Puddle", after="Puddle under P-204 since Monday")
    undone = Thing(field="priority", before="high", after="low")
    return [
        entry("Ada Moss", before(minutes=30), "changed", "undo", undone),
        entry("Ada Moss", before(minutes=32), "restored", "undo"),
        entry(
            "Ada Moss",
            before(minutes=36),
            "changed",
            "copilot",
            Thing(field="priority", before="low", after="high"),
            version=3,
        ),
        entry("Rosa Lind", before(hours=2), "changed", "person", text),
        entry("Rosa Lind", before(days=2), "created", "person"),
    ]


def orders() -> list[Thing]:
    rows = [
        ("Boiler 3 trips on low water", "in_progress", "high", 12, "Pressure drops below 0.8 bar; float switch?"),
        ("Pump leaks at the flange, pump room B", "pending", "low", 38, "Puddle under P-204 since Monday"),
        ("Replace door closer, loading dock", "pending", "medium", 130, "Door slams; closer arm bent"),
        ("Quarterly filter change, AHU 1–4", "in_progress", "medium", 1500, "Filters F7 in store, shelf 12"),
        ("Thermostat in meeting room 2.11 unresponsive", "pending", "low", 1700, None),
        ("Emergency light test, stairwell C", "done", "medium", 3000, "Two batteries replaced"),
        ("Unblock drain, canteen dish wash", "done", "high", 4400, None),
    ]
    return [
        order(n, title, status=status, priority=priority, updated_at=before(minutes=minutes), description=text)
        for n, (title, status, priority, minutes, text) in enumerate(rows, 1)
    ]


def listing(**changes: Any) -> dict[str, Any]:
    filters = Thing(search=None, status=None, priority=None)
    values: dict[str, Any] = {
        "orders": {"items": orders(), "next_cursor": "next", "searched_to": None},
        "filters": filters,
        "cursor": None,
        "path": "/app/work-orders",
        "with_owner": False,
    }
    return values | changes


def call(state: str = "executed", **changes: Any) -> Thing:
    fields: dict[str, Any] = {
        "id": f"c-{state}",
        "tool": "search_work_orders",
        "title": "Looked through your work orders",
        "word": "7 found",
        "state": state,
        "args_text": '{\n  "status": "pending"\n}',
        "result_text": '{"items": 7}',
        "link": None,
        "can_undo": False,
        "is_write": False,
        "proof": proof(),
    }
    return Thing(**(fields | changes))


def proof(**changes: Any) -> Thing:
    rules = [
        Thing(id="T-1", tier="auto", reason="risk write, level 1, asks for nothing", source="built in"),
        Thing(id="raised", tier="review", reason="an admin raised it to review", source="raised by an admin"),
    ]
    fields: dict[str, Any] = {
        "tier": "review",
        "meaning": "waits for a dispatcher",
        "risk": "write",
        "risk_level": 1,
        "rules": rules,
        "blocked": None,
        "policy": "9f2c41d09f2c41d0",
        "source": "built in",
    }
    return Thing(**(fields | changes))


def sent_rows() -> list[Thing]:
    """The parts of a request, as its modal and the review queue show them."""
    body = Markup('<code class="json">{\n  "quantity": 12\n}</code>')
    return [
        Thing(label="Connection", before_html=None, after_html=Markup("inventory"), state="plain"),
        Thing(label="Path", before_html=None, after_html=Markup("/reservations"), state="plain"),
        Thing(label="Body", before_html=None, after_html=body, state="plain"),
    ]


def diff_rows() -> list[Thing]:
    gone = Markup('<del><span class="vh">removed: </span>Low</del>')
    new = Markup('<ins><span class="vh">added: </span>High</ins>')
    longer = Markup(
        'Puddle under P-204 since Monday, bolts already tightened<ins><span class="vh">added: </span>;'
        " leak has grown, seal replacement needed</ins>"
    )
    return [
        Thing(label="Priority", before_html=gone, after_html=new, state="changed"),
        Thing(
            label="Description",
            before_html=Markup("Puddle under P-204 since Monday, bolts already tightened"),
            after_html=longer,
            state="changed",
        ),
        Thing(label="Status", before_html=Markup("Pending"), after_html=None, state="same"),
    ]


def approval(state: str = "pending", kind: str = "update", **changes: Any) -> Thing:
    fields: dict[str, Any] = {
        "id": "a1",
        "tool": f"{kind}_work_order",
        "kind": kind,
        "question": {
            "update": "Change this work order?",
            "create": "Create this work order?",
            "delete": "Delete this work order?",
            "request": "Send this request?",
            "run": "Run this tool?",
        }[kind],
        "subject": "Pump leaks at the flange, pump room B",
        "proposed_for": "Rosa Lind",
        "rows": diff_rows(),
        "summary": "Priority low to high · description, 1 sentence added",
        "expires_in_ms": 581_000,
        "approve_label": APPROVE_LABELS[kind],
        "note": "",
        "proof": proof(),
        "args_text": '{\n  "id": "65f0c0ffee00000000000002",\n  "priority": "high"\n}',
        "staged_version": 3,
        "args_hash": "9f2c41d0" * 8,
        "can_extend": True,
        "state": state,
        "confirmation_token": "t0k3n",
    }
    return Thing(**(fields | changes))


def message(n: int, html: str = "", **changes: Any) -> Thing:
    return Thing(**({"n": n, "html": Markup(html), "error": None, "retry_text": None} | changes))


def entries() -> list[Thing]:
    found = Markup(
        "<p>I found <strong>Pump leaks at the flange, pump room B</strong>. It is still pending at low priority."
        " I’ve drafted the change for you to check.</p>"
    )
    said = Thing(n=1, text="The flange on P-204 is worse, raise that order to high and note the bolts.")
    return [
        Thing(kind="user", message=said),
        Thing(kind="tool", call=call()),
        Thing(kind="assistant", message=message(2, found)),
        Thing(kind="approval", approval=approval()),
    ]


def drawer(**changes: Any) -> dict[str, Any]:
    return {"entries": entries(), "run": Thing(id="r1", state="waiting", note=None), "sessions": []} | changes


def suggestion(state: str) -> Thing:
    return Thing(
        id="s1",
        state=state,
        summary="Leak near an electrical cabinet, growing; treat as urgent.",
        priority="high",
        flagged=True,
        by_name="Rosa Lind" if state in ("applied", "dismissed") else None,
        at=before(minutes=4) if state in ("applied", "dismissed") else None,
        can_decide=state == "suggested",
        can_undo=state == "applied",
        note=None,
    )


def run_row(status: str = "complete", **changes: Any) -> Thing:
    fields: dict[str, Any] = {
        "id": "r1",
        "title": "The flange on P-204 is worse, raise that order to high",
        "status": status,
        "model": "demo",
        "input_tokens": 1840,
        "output_tokens": 212,
        "cost_usd": 0.0004,
        "started_at": before(minutes=36),
        "finished_at": before(minutes=35, seconds=20),
        "error_code": None,
        "error_text": None,
    }
    return Thing(**(fields | changes))


def users() -> dict[str, Any]:
    people = [
        ("u2", "Ada Moss", "ada@example.com", "admin", True, True, before(minutes=5)),
        ("u1", "Rosa Lind", "rosa@example.com", "user", True, True, before(hours=3)),
        ("u3", "Tom Adeyemi", "tom@example.com", "user", True, False, before(days=3)),
        ("u4", "Ines Okafor", "ines@example.com", "viewer", False, True, None),
    ]
    keys = ("id", "name", "email", "role", "is_active", "ai_enabled", "last_login_at")
    items = [Thing(**dict(zip(keys, row, strict=True))) for row in people]
    return {"items": items, "page": 1, "limit": 20, "total": 43}


def failure() -> dict[str, Any]:
    error = Conflict("The order changed.", details=[ErrorDetail("version", "Reload and try again.")])
    return {"error": error, "request_id": "req-1", "trace": None, "person": None, "csrf_token": "token-1"}
