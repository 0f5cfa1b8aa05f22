"""Believable things for the dispatcher's pages of agents: the overview, a replay, runs, a transcript, attention."""

from __future__ import annotations

from types import SimpleNamespace as Thing
from typing import Any

from app.triage.charts import bar_chart
from tests.web.template_objects import NOW, before, diff_rows, form, order, proof

_RUN = "674ad1f0c0ffee0000000b01"


def overview(**changes: Any) -> Thing:
    days = [
        Thing(day="2026-11-24", runs=14, failed=1, cost_usd=0.004),
        Thing(day="2026-11-25", runs=3, failed=0, cost_usd=0.0),
    ]
    parts = [
        Thing(priority="high", percent=93, kept=13, decided=14),
        Thing(priority="low", percent=None, kept=0, decided=0),
    ]
    values: dict[str, Any] = {
        "policy": Thing(revision=3),
        "switches": [
            Thing(scope="triage", name="Triage", on=True, since=before(days=2), by="Ada Moss"),
            Thing(scope="all", name="Copilot", on=True, since=None, by=None),
        ],
        "queue": Thing(pending=3, processing=1, failed=1, total=21),
        "closed": None,
        "waiting": [("Due now.", 1), ("Waits for triage's working hours.", 2)],
        "gauges": [
            Thing(name="Triage", share=0.41, words="$0.41 of $1.00"),
            Thing(name="Calls", share=1.0, words="5 of 5"),
        ],
        "month": Thing(
            days=days, agreement=[Thing(priority=None, percent=91, kept=20, decided=22), *parts], suggestions=30
        ),
        "runs_chart": bar_chart([14, 3], ["24 Nov: 14 runs", "25 Nov: 3 runs"], "14", [1, 0]),
        "cost_chart": bar_chart([0.004, 0.0], ["24 Nov: $0.0040", "25 Nov: $0.00"], "$0.0040"),
        "dead_letters": [
            Thing(id="e1", title="Pump leaks", order_id="1", reason="No answer.", attempts=3, at=before(hours=2)),
            Thing(id="e2", title="Gone", order_id=None, reason="No answer.", attempts=3, at=before(hours=3)),
        ],
        "audit": [
            audit_line(seq=2, did="looked at a transcript", looked=True, run_id=_RUN),
            audit_line(changes=[("Mode", "a", "b")]),
            audit_line(seq=3, did="let a reviewed request run", tool="request", run_id=_RUN),
        ],
    }
    return Thing(**(values | changes))


def audit_line(**changes: Any) -> Thing:
    values: dict[str, Any] = {
        "seq": None,
        "who": "Ada Moss",
        "did": "changed the policy",
        "looked": False,
        "tool": None,
        "run_id": None,
        "changes": [],
        "at": NOW,
    }
    return Thing(**(values | changes))


def nothing_yet() -> Thing:
    """The page of a desk where triage has done nothing, and all is switched off."""
    none = [Thing(priority=None, percent=None, kept=0, decided=0)]
    return overview(
        switches=[
            Thing(scope="triage", name="Triage", on=False, since=NOW, by=None),
            Thing(scope="all", name="Copilot", on=False, since=NOW, by="Ada Moss"),
        ],
        queue=Thing(pending=0, processing=0, failed=0, total=0),
        closed="Triage is switched off; this waits.",
        waiting=[],
        month=Thing(days=[], agreement=none, suggestions=0),
        dead_letters=[],
        audit=[],
    )


def policy_values(**changes: str) -> dict[str, str]:
    return {
        "mode": "suggest",
        "apply_direction": "both",
        "flag_threshold": "high",
        "daily_action_cap": "200",
        "working_hours": "*",
        "may_write": "true",
    } | changes


def replay() -> Thing:
    names = ("flagged", "applied", "raised", "lowered", "waits_for_hours", "waits_for_calls", "longest_wait_s")
    now = Thing(**dict.fromkeys(names, 0))
    return Thing(days=30, orders=12, now=now, then=Thing(**dict.fromkeys(names, 7_200)))


def week() -> list[Thing]:
    return [Thing(day=NOW, openings=[(before(hours=2), NOW)]), Thing(day=NOW, openings=[])]


def policy_page(**changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "overview": overview(),
        "form": form(policy_values()),
        "replay": replay(),
        "week": week(),
        "ai_configured": True,
    }
    return values | changes


def run_line(**changes: Any) -> Thing:
    values: dict[str, Any] = {
        "id": _RUN,
        "title": "Pump leaks at the flange",
        "mode": "autonomous",
        "status": "complete",
        "model": "gpt-5-mini",
        "user_id": None,
        "priority": "high",
        "cost_usd": 0.0004,
        "tokens": 120,
        "started_at": before(minutes=4),
    }
    return Thing(**(values | changes))


def run_list(**changes: Any) -> dict[str, Any]:
    talk = run_line(id="r2", mode="copilot", user_id="u1", priority=None, title="Conversation of Rosa Lind")
    values: dict[str, Any] = {
        "runs": {"items": [run_line(), talk], "page": 1, "limit": 20, "total": 50},
        "filters": Thing(mode=None, status=None, user=None, page=1),
        "whose": None,
        "modes": ("copilot", "autonomous"),
        "statuses": ("running", "complete", "error"),
    }
    return values | changes


def entry(**changes: Any) -> Thing:
    values: dict[str, Any] = {
        "kind": "call",
        "title": "update_work_order",
        "at": before(minutes=3),
        "text": "",
        "state": "executed",
        "id": "c1",
        "args": '{"priority": "high"}',
        "result": "done",
        "before": "{}",
        "latency_ms": 12,
        "proof": proof(),
        "verdict": Thing(status="approved", by="Rosa Lind", at=NOW, reason=None, summary="Priority to high"),
        "hashes": (("Arguments shown", "9f2c"),),
    }
    return Thing(**(values | changes))


def said(text: str = "It leaks.") -> Thing:
    return entry(kind="message", title="Answer", id="", text=text)


def viewed(**changes: Any) -> dict[str, Any]:
    run = Thing(
        id=_RUN,
        status="error",
        error_code="AI_UNAVAILABLE",
        started_at=before(minutes=4),
        finished_at=None,
        input_tokens=100,
        output_tokens=20,
        model="gpt-5-mini",
    )
    view = Thing(row=run_line(), detail=Thing(run=run), order_id="1", audit_seq=7)
    return {"viewed": view, "entries": [said(), entry()]} | changes


def attention() -> dict[str, Any]:
    def item(number: int, **fields: Any) -> Thing:
        values = {"id": f"s{number}", "summary": "Grows.", "suggested_priority": "high", "applied": False}
        suggestion = Thing(**(values | {"created_at": before(hours=number)} | fields))
        return Thing(suggestion=suggestion, order=order(number, "Pump leaks", priority="low"))

    return {"items": [item(1), item(2, applied=True), item(3, suggested_priority="low")], "top": 0}


def review(status: str = "waiting", **changes: Any) -> Thing:
    over = status != "waiting"
    values: dict[str, Any] = {
        "id": f"rv-{status}",
        "tool": "update_work_order",
        "kind": "update",
        "title": "Change: Pump leaks at the flange",
        "summary": "Priority low → high",
        "requester": "Rosa Lind",
        "requester_id": "u1",
        "run_id": _RUN,
        "call_id": "c1",
        "why": "an admin raised it to review.",
        "proof": proof(),
        "rows": diff_rows(),
        "note": "",
        "args_text": '{"priority": "high"}',
        "args_hash": "9f2c41d0" * 8,
        "staged_version": 3,
        "status": status,
        "state": {"waiting": "waiting", "run": "executed", "refused": "rejected"}.get(status, "error"),
        "word": {"waiting": "Waits", "run": "Was run", "refused": "Refused"}.get(status, "Did not work"),
        "decided_by": "Ada Moss" if over else None,
        "decided_at": before(minutes=2) if over else None,
        "reason": "Not now" if status == "refused" else None,
        "created_at": before(minutes=12),
    }
    return Thing(**(values | changes))


def review_queue(**changes: Any) -> dict[str, Any]:
    waiting = [review(), review(id="rv-2", kind="delete", title="Deletion: Door closer")]
    decided = [review("run"), review("refused"), review("failed", decided_by=None)]
    return {"waiting": waiting, "decided": decided, "problem": None} | changes


def tool_row(number: int, name: str, **changes: Any) -> Thing:
    values: dict[str, Any] = {
        "id": f"tool-{number}",
        "name": name,
        "description": "Draft a change of one work order.",
        "proof": proof(tier="confirm", meaning="asks the person first"),
        "thresholds": ["body.quantity above 10 → review"],
        "roles": ["admin", "user"],
        "exposure": "Open",
        "model_sees": True,
        "raised": None,
        "higher": [("review", "waits for a dispatcher"), ("never", "never runs")],
        "runnable": False,
    }
    return Thing(**(values | changes))


def tool_list(**changes: Any) -> dict[str, Any]:
    desk = [tool_row(0, "update_work_order"), tool_row(1, "delete_work_order", thresholds=[], higher=[], roles=[])]
    others = [tool_row(2, "POST /reservations"), tool_row(3, "count_parts", runnable=True, model_sees=False)]
    groups = [Thing(title="Of this desk", rows=desk), Thing(title="Connection: inventory", rows=others)]
    return {"groups": groups, "problem": None, "ran": None} | changes


def ran(answer: str | None = None, problem: str | None = None) -> Thing:
    return Thing(name="count_parts", typed='{"shelf": 12}', answer=answer, problem=problem)
