"""One small, believable context for each template: what the pages hand over, and nothing more."""

from __future__ import annotations

from types import SimpleNamespace as Thing
from typing import Any

from tests.web import agents_objects as agents
from tests.web.template_objects import (
    ROSA,
    approval,
    before,
    call,
    common,
    diff_rows,
    drawer,
    entries,
    failure,
    form,
    history,
    listing,
    message,
    order,
    proof,
    run_row,
    sent_rows,
    suggestion,
    users,
)

DECIDED = ("running", "approved", "executed", "error", "blocked", "rejected", "expired", "stale", "aborted")


def all_contexts() -> list[tuple[str, dict[str, Any]]]:
    """Every template with each context it must stand."""
    signed_out = {"person": None, "csrf_token": "token-1", "next": None, "form": form()}
    faulty = form({"email": "x"}, {"email": "Write a whole address."}, "Some fields need another look.")
    link = Thing(href="/app/work-orders/1", text="Open work order")
    running = Thing(id="r1", state="running", note=None)
    narrow = listing(
        orders={"items": [], "next_cursor": None, "searched_to": None},
        filters=Thing(search="x", status="done", priority="low"),
    )
    stopped = run_row("aborted", finished_at=None, error_code="ABORTED")
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
        word=None,
    )
    by_dispatcher = Thing(**(vars(recent) | {"word": "Run by a dispatcher", "reason": None, "decided_by": None}))
    sent = approval(kind="request", rows=sent_rows(), note="Nothing is sent now.")
    none_yet: dict[str, Any] = {"items": [], "next_cursor": None, "searched_to": None}
    cut_short = none_yet | {"next_cursor": "next", "searched_to": before(days=90)}
    numbers = {"metrics": Thing(users=1, work_orders=2, uptime_seconds=400_000)}
    gone = approval(kind="delete", rows=diff_rows()[:1])
    return [
        ("site/landing.html", signed_out),
        ("site/landing.html", signed_out | {"person": ROSA}),
        ("_nav.html", page),
        ("site/metrics.html", page | numbers),
        ("site/_metrics.html", numbers),
        ("site/api_docs.html", {}),
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
        ("work_orders/_list.html", page | narrow),
        ("work_orders/_list.html", page | narrow | {"orders": cut_short}),
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
        ("copilot/_sent.html", {"message": Thing(n=1, text="Hello"), "run": running}),
        ("copilot/_state.html", {"run": Thing(id="r1", state="running", note="Looking…")}),
        ("copilot/_stream.html", {"run_id": "r1"}),
        ("copilot/_pending_count.html", {"pending_approvals": 0}),
        ("copilot/_transcript.html", {"entries": entries()}),
        ("copilot/_greeting.html", {}),
        ("copilot/_user_message.html", {"message": Thing(n=1, text="Hello")}),
        ("copilot/_assistant_message.html", {"message": message(2, error="It broke.", retry_text="Hello")}),
        *(
            ("copilot/_tool_card.html", {"call": call(state, is_write=True, can_undo=True, link=link)})
            for state in DECIDED
        ),
        ("copilot/_approval_card.html", {"approval": approval()}),
        ("copilot/_approval_card.html", {"approval": approval("stale")}),
        ("copilot/_approval_modal.html", {"approval": approval()}),
        ("copilot/_approval_modal.html", {"approval": approval("expired", kind="create", staged_version=None)}),
        ("copilot/_approval_modal.html", {"approval": gone}),
        ("copilot/_approval_modal.html", {"approval": sent}),
        ("copilot/_approval_modal.html", {"approval": approval("executed", kind="run", rows=sent_rows())}),
        ("copilot/_approval_card.html", {"approval": sent}),
        ("copilot/_rows.html", {"rows": diff_rows(), "head": ("Field", "Now", "Then")}),
        ("copilot/_approval_row.html", {"approval": approval()}),
        ("copilot/approval.html", page | {"approval": approval()}),
        ("copilot/approvals.html", page | {"pending": [approval()], "recent": [recent, by_dispatcher]}),
        ("copilot/_approvals.html", page | {"pending": [], "recent": []}),
        ("runs/list.html", page | {"runs": {"items": [run_row()], "page": 2, "limit": 20, "total": 50}}),
        ("runs/list.html", page | {"runs": {"items": [], "page": 1, "limit": 20, "total": 0}}),
        ("runs/detail.html", page | {"run": stopped, "entries": entries()}),
        *_agents(page),
        ("errors/error.html", failure()),
        ("errors/_error.html", failure() | {"trace": "Traceback"}),
    ]


def _agents(page: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The dispatcher's pages of agents, and the attention list."""
    quiet = agents.policy_page(overview=agents.nothing_yet(), replay=None, ai_configured=False)
    typed = agents.policy_values(working_hours="9to5")
    faults = {"working_hours": "Not like this."}
    faulty: dict[str, Any] = {"form": form(typed, faults), "replay": None, "week": []}
    none: dict[str, Any] = {"items": [], "page": 1, "limit": 20, "total": 0}
    narrow = Thing(mode="copilot", status="error", user="u1", page=1)
    return [
        ("agents/overview.html", page | agents.policy_page()),
        ("agents/overview.html", page | quiet | {"attention": 100}),
        ("agents/_live.html", page | {"overview": agents.overview()}),
        ("agents/_now.html", page | {"overview": agents.nothing_yet()}),
        ("agents/_records.html", page | {"overview": agents.overview()}),
        ("agents/_replay.html", {"form": form(), "replay": agents.replay(), "week": agents.week()}),
        ("agents/_replay.html", faulty),
        ("agents/_replay.html", {"form": form(), "replay": Thing(orders=0), "week": []}),
        ("agents/runs.html", page | agents.run_list()),
        ("agents/runs.html", page | agents.run_list(runs=none)),
        ("agents/_runs.html", page | agents.run_list(runs=none, filters=narrow, whose="Rosa Lind")),
        ("agents/run.html", page | agents.viewed()),
        ("agents/run.html", page | agents.viewed(entries=[])),
        ("agents/_entry.html", {"entry": agents.entry(), "now": page["now"]}),
        ("agents/_entry.html", {"entry": agents.said(), "now": page["now"]}),
        ("agents/_proof.html", {"proof": proof(blocked="Not for you.")}),
        ("agents/_proof.html", {"proof": None}),
        ("agents/review.html", page | agents.review_queue()),
        ("agents/review.html", page | {"waiting": [], "decided": [], "problem": None}),
        ("agents/review.html", page | agents.review_queue(problem="Somebody decided this already.")),
        ("agents/_review.html", page | {"review": agents.review(kind="request", rows=sent_rows(), note="Once.")}),
        ("agents/_review.html", page | {"review": agents.review("failed"), "answered": True, "problem": "Too late."}),
        ("agents/_review_answer.html", page | {"review": agents.review("run"), "problem": None, "reviews_waiting": 0}),
        ("agents/tools.html", page | agents.tool_list() | {"reviews_waiting": 100}),
        ("agents/_tools.html", page | agents.tool_list(problem="It stands on never already.")),
        ("agents/_tools.html", page | agents.tool_list(ran=agents.ran(answer="7 parts"))),
        ("agents/_tools.html", page | agents.tool_list(ran=agents.ran(problem="It did not work."))),
        ("triage/_hints.html", {"hints": {"1": "high"}}),
        ("triage/attention.html", page | agents.attention()),
        ("triage/attention.html", page | {"items": [], "top": 0}),
        ("triage/_attention.html", page | agents.attention() | {"top": 2}),
    ]
