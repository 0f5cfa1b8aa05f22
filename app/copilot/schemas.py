"""The copilot on the wire (003 §8.3, D-6)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from app.core.schemas import Moment, Strict, Text, Wire

Content = Annotated[Text, Field(min_length=1, max_length=4000)]


class CopilotSessionPublic(Wire):
    """One conversation."""

    id: str
    user_id: str
    status: Literal["active", "archived", "expired"]
    created_at: Moment
    updated_at: Moment


class MessageIn(Strict):
    """`{content}`, 1 to 4,000 characters (COP-2). `workOrderId` names the order on the person's screen."""

    content: Content
    work_order_id: Annotated[str, Field(pattern=r"^[0-9a-fA-F]{24}$")] | None = None


class Decision(Strict):
    """`{approve, reason?, confirmationToken?}` (D-6)."""

    approve: bool
    reason: Annotated[Text, Field(max_length=500)] | None = None
    confirmation_token: Annotated[str, Field(max_length=200)] | None = None


class ChatIn(Strict):
    """The console's `{chatId?, message}` (T-14). Without a chat it is the person's active one, or a new one."""

    chat_id: Annotated[str, Field(pattern=r"^[0-9a-fA-F]{24}$")] | None = None
    message: Content


class ConfirmIn(Strict):
    """The console's `{confirmation_token, approve, reason?}` (T-12)."""

    confirmation_token: Annotated[str, Field(alias="confirmation_token", min_length=1, max_length=200)]
    approve: bool
    reason: Annotated[Text, Field(max_length=500)] | None = None

    def decision(self) -> Decision:
        """The same, as the other doors say it."""
        return Decision(approve=self.approve, reason=self.reason, confirmationToken=self.confirmation_token)
