"""One small, believable context for each template: what the pages hand over, and nothing more.

Times hang on `NOW`. `HOSTILE` stands wherever a person or a model can write.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace as Thing
from typing import Any

from markupsafe import Markup

from app.core.errors import Conflict, ErrorDetail

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
    change = Thing(field="priority", before="low", after="high")
    text = Thing(field="description", before="Puddle", after="Puddle under P-204 since Monday")
    return [
        Thing(by_name="Ada Moss", at=before(minutes=36), action="changed", changes=[change], via="copilot"),
        Thing(by_name="Rosa Lind", at=before(hours=2), action="changed", changes=[text], via="person"),
        Thing(by_name="Rosa Lind", at=before(days=2), action="created", changes=[], via="person"),
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
        "orders": {"items": orders(), "next_cursor": "next"},
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
        "found": "7 found",
        "state": state,
        "args_text": '{\n  "status": "pending"\n}',
        "result_text": '{"items": 7}',
        "link": None,
        "can_undo": False,
        "is_write": False,
    }
    return Thing(**(fields | changes))


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
        }[kind],
        "subject": "Pump leaks at the flange, pump room B",
        "proposed_for": "Rosa Lind",
        "rows": diff_rows(),
        "summary": "Priority low to high · description, 1 sentence added",
        "expires_in_ms": 581_000,
        "approve_label": {"update": "Approve change", "create": "Create work order", "delete": "Approve deletion"}[kind],
        "risk": "write",
        "risk_level": 1,
        "tier": "confirm",
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


def all_contexts() -> list[tuple[str, dict[str, Any]]]:
    """Every template with each context it must stand."""
    signed_out = {"person": None, "csrf_token": "token-1", "next": None, "form": form()}
    faulty = form({"email": "x"}, {"email": "Write a whole address."}, "Some fields need another look.")
    one = order(2, "Pump leaks at the flange", history=history())
    page = common()
    detail = {"order": one, "editing": False, "can_edit": True, "conflict": None, "form": form()}
    edit_values = {"title": "Mine", "description": None, "priority": "low", "status": "done"}
    clash = [Thing(label="Title", now="Pump leaks", yours="Mine"), Thing(label="Description", now=None, yours="")]
    editing = {"editing": True, "conflict": clash, "form": form(edit_values, {"title": "Too short."}, "Look again.")}
    off = drawer(entries=[], run=Thing(id=None, state="idle", note=None)) | {
        "sessions": [Thing(id="s1", title="Earlier", updated_at=before(days=1), current=True)]
    }
    people = {"users": users(), "filters": Thing(search=None, role=None), "problem": None}
    profile = {"form": form({"name": "Ada"}), "password_form": form(), "ai_opt_out": True, "ai_allowed": False}
    recent = Thing(
        href="/app/work-orders/1",
        subject="Door closer",
        summary="Status to done",
        state="rejected",
        reason="Not yet",
        decided_by="Ada Moss",
        decided_at=before(hours=1),
    )
    none_yet = {"items": [], "next_cursor": None}
    gone = approval(kind="delete", rows=diff_rows()[:1])
    return [
        ("site/landing.html", signed_out),
        ("site/landing.html", signed_out | {"person": ROSA}),
        ("accounts/login.html", signed_out | {"next": "/app/runs", "form": faulty}),
        ("accounts/register.html", signed_out),
        ("accounts/forgot_password.html", signed_out | {"sent": False}),
        ("accounts/forgot_password.html", signed_out | {"sent": True}),
        ("accounts/reset_password.html", signed_out | {"token": "t"}),
        ("accounts/profile.html", page | profile),
        ("accounts/admin_users.html", page | people),
        ("accounts/_users_table.html", page | people | {"problem": "The last dispatcher stays."}),
        ("accounts/admin_users.html", page | people | {"users": {"items": [], "page": 1, "limit": 20, "total": 0}}),
        ("work_orders/list.html", page | listing()),
        ("work_orders/list.html", page | listing(orders=none_yet) | {"flash": Thing(message="Deleted.", kind="done")}),
        ("work_orders/_list.html", page | listing(orders=none_yet, filters=Thing(search="x", status="done", priority="low"))),
        ("work_orders/admin_list.html", page | listing(cursor="c")),
        ("work_orders/admin_list.html", page | listing(orders=none_yet)),
        ("work_orders/new.html", page | {"form": form({"priority": "medium", "status": "pending"})}),
        ("work_orders/_form.html", page | {"form": faulty, "order": None, "action": "/app/work-orders/new"}),
        ("work_orders/detail.html", page | detail),
        ("work_orders/detail.html", page | detail | {"order": order(2, "No text", description=None)}),
        ("work_orders/detail.html", page | detail | editing),
        ("work_orders/_history.html", page | {"order": one}),
        ("work_orders/_conflict.html", page | {"order": one, "conflict": clash}),
        *(
            ("triage/_suggestion.html", page | {"suggestion": suggestion(state), "order_id": one.id})
            for state in ("waiting", "none", "suggested", "applied", "dismissed")
        ),
        ("copilot/_drawer.html", page | drawer()),
        ("copilot/_drawer.html", page | off),
        ("copilot/_drawer.html", common(ai=Thing(enabled=False, off_reason="AI is off.")) | off),
        ("copilot/page.html", page | drawer()),
        ("copilot/_sent.html", {"message": Thing(n=1, text="Hello"), "run": Thing(id="r1", state="running", note=None)}),
        ("copilot/_state.html", {"run": Thing(id="r1", state="running", note="Looking…")}),
        ("copilot/_stream.html", {"run_id": "r1"}),
        ("copilot/_pending_count.html", {"pending_approvals": 0}),
        ("copilot/_transcript.html", {"entries": entries()}),
        ("copilot/_greeting.html", {}),
        ("copilot/_user_message.html", {"message": Thing(n=1, text="Hello")}),
        ("copilot/_assistant_message.html", {"message": message(2, error="It broke.", retry_text="Hello")}),
        *(
            ("copilot/_tool_card.html", {"call": call(state, is_write=True, can_undo=True, link=Thing(href="/x", text="Open"))})
            for state in ("running", "executed", "error", "blocked", "rejected", "expired", "stale", "aborted", "approved")
        ),
        ("copilot/_approval_card.html", {"approval": approval()}),
        ("copilot/_approval_card.html", {"approval": approval("stale")}),
        ("copilot/_approval_modal.html", {"approval": approval()}),
        ("copilot/_approval_modal.html", {"approval": approval("expired", kind="create", staged_version=None)}),
        ("copilot/_approval_modal.html", {"approval": gone}),
        ("copilot/_approval_row.html", {"approval": approval()}),
        ("copilot/approval.html", page | {"approval": approval()}),
        ("copilot/approvals.html", page | {"pending": [approval()], "recent": [recent]}),
        ("copilot/_approvals.html", page | {"pending": [], "recent": []}),
        ("runs/list.html", page | {"runs": {"items": [run_row()], "page": 2, "limit": 20, "total": 50}}),
        ("runs/list.html", page | {"runs": {"items": [], "page": 1, "limit": 20, "total": 0}}),
        ("runs/detail.html", page | {"run": run_row("aborted", finished_at=None, error_code="ABORTED"), "entries": entries()}),
        ("errors/error.html", failure()),
        ("errors/_error.html", failure() | {"trace": "Traceback"}),
    ]
