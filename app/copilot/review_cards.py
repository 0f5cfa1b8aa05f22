"""A request in the review queue as a dispatcher sees it: who asked for what, why it was kept, and all of it (T-8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from bson import ObjectId

from app.accounts.people import PersonRef
from app.copilot.card_rows import Row, rows_of
from app.copilot.card_words import Kind, kind_of, note_of, noun_of, pretty
from app.core.ids import is_id
from app.core.unseen import revealed
from app.tools.models import ReviewStatus, ToolReview
from app.tools.proof import Proof, proof_of

_GONE = "A former member"
_STATES: dict[ReviewStatus, tuple[str, str]] = {
    "waiting": ("waiting", "Waits"),
    "released": ("running", "Being run"),
    "run": ("executed", "Was run"),
    "refused": ("rejected", "Refused"),
    "failed": ("error", "Did not work"),
}


@dataclass(frozen=True, slots=True)
class ReviewCard:
    """One request. `state` is a status of the shared set, `word` what it is called here."""

    id: str
    tool: str
    kind: Kind
    title: str
    summary: str
    requester: str
    requester_id: str
    run_id: str
    call_id: str
    why: str
    proof: Proof | None
    rows: list[Row]
    note: str
    args_text: str
    args_hash: str
    staged_version: int | None
    status: ReviewStatus
    state: str
    word: str
    decided_by: str | None
    decided_at: datetime | None
    reason: str | None
    created_at: datetime


def review_card(review: ToolReview, names: Mapping[ObjectId, PersonRef]) -> ReviewCard:
    """`names` holds those of `people_in`."""
    state, word = _STATES[review.status]
    decided_by = ObjectId(review.decided_by) if is_id(review.decided_by) else None
    return ReviewCard(
        id=str(review.id),
        tool=review.tool,
        kind=kind_of(review.tool),
        title=noun_of(review),
        summary=revealed(review.summary),
        requester=_name(names, review.requester_id),
        requester_id=str(review.requester_id),
        run_id=str(review.run_id),
        call_id=str(review.ran_as or review.call_id),
        why=revealed(review.why),
        proof=proof_of(review.decision),
        rows=rows_of(review),
        note=note_of(kind_of(review.tool), review),
        args_text=pretty(review.args),
        args_hash=review.args_hash,
        staged_version=review.staged_version,
        status=review.status,
        state=state,
        word=word,
        decided_by=_name(names, decided_by) if decided_by else None,
        decided_at=review.decided_at,
        reason=revealed(review.reason) if review.reason else None,
        created_at=review.created_at,
    )


def people_in(reviews: Iterable[ToolReview]) -> set[ObjectId]:
    """Who asked, and who decided."""
    found: set[ObjectId] = set()
    for review in reviews:
        found.add(ObjectId(review.requester_id))
        if is_id(review.decided_by):
            found.add(ObjectId(review.decided_by))
    return found


def _name(names: Mapping[ObjectId, PersonRef], person_id: ObjectId) -> str:
    known = names.get(ObjectId(person_id))
    return known.name if known else _GONE
