"""What accounts tell the features above (AUTH-6, AUTH-9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bson import ObjectId

EndReason = Literal["logout", "logout-all", "password", "role", "deactivated", "reuse"]


@dataclass(frozen=True, slots=True)
class SessionsEnded:
    """One or all sign-in sessions of a person ended: their runs are aborted, their pending approvals void."""

    user_id: ObjectId
    reason: EndReason
