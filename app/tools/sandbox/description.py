"""What a custom tool says of itself, checked again on this side: the sandbox's word is the tool's word."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.tools.policy import Risk

Exposure = Literal["open", "requires-confirmation", "operator-gated"]
Remark = Annotated[str, Field(min_length=1, max_length=200)]


class ToolDescription(BaseModel):
    """`parameters` is the JSON Schema of the arguments, an object; the rest is as declared in the module."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{2,39}$")]
    description: Annotated[str, Field(min_length=1, max_length=400)]
    risk: Risk
    exposure: Exposure
    llm_callable: bool
    prompt: Remark | None
    reason: Remark | None
    parameters: Annotated[dict[str, Any], Field(alias="schema")]
