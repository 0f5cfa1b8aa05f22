"""What the model may say to `request` (T-10): strict, bounded, and with one canonical form (D-8)."""

from __future__ import annotations

import copy
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from app.core.schemas import Text
from app.tools.arguments import Arguments
from app.tools.connections.paths import MAX_PATH, Method, normal_method, normal_path
from app.tools.json_values import bounded_json

Intent = Literal["read", "write", "confirmed_write"]
INTENTS: tuple[Intent, ...] = get_args(Intent)
CONFIRMED: Intent = "confirmed_write"

MAX_QUERY = 50
_MAX_QUERY_TEXT = 1_000


def _bounded(value: Any) -> Any:
    return bounded_json(value) if isinstance(value, dict | list) else value


_Json = BeforeValidator(_bounded)
_Key = Annotated[str, Field(min_length=1, max_length=100)]
_Value = Annotated[str, Field(max_length=_MAX_QUERY_TEXT)] | int | Annotated[float, Field(allow_inf_nan=False)] | bool


class RequestArguments(Arguments):
    """One HTTP request to a connection. `intent` says which side of the handshake it is on."""

    connection: Annotated[Text, Field(min_length=1, max_length=40, description="The name of a connection.")]
    method: Annotated[Method, BeforeValidator(normal_method)]
    path: Annotated[
        str,
        Field(max_length=MAX_PATH, description="Below the connection's address, e.g. /parts/42, without parameters."),
        AfterValidator(normal_path),
    ]
    query: Annotated[dict[_Key, _Value] | None, Field(max_length=MAX_QUERY), _Json] = None
    body: Annotated[dict[str, Any] | list[Any] | None, _Json] = None
    intent: Annotated[
        Intent,
        Field(description="read for GET, write to propose, confirmed_write to send what was approved."),
    ]

    @model_validator(mode="after")
    def _get_has_no_body(self) -> RequestArguments:
        if self.method == "GET" and self.body is not None:
            raise ValueError("GET takes no body; put parameters into query.")
        return self

    def frozen_args(self) -> dict[str, Any]:
        """Without what is absent: method and path in their one spelling, texts normalised (D-8)."""
        frozen: dict[str, Any] = {"connection": self.connection, "method": self.method, "path": self.path}
        if self.query:
            frozen["query"] = dict(self.query)
        if self.body is not None:
            frozen["body"] = copy.deepcopy(self.body)
        return frozen | {"intent": self.intent}

    def request(self) -> dict[str, Any]:
        """`{connection, method, path, query?, body?}`: what is sent, intent aside."""
        return without_intent(self.frozen_args())


def without_intent(args: dict[str, Any]) -> dict[str, Any]:
    """Frozen arguments as both sides of the handshake must have them (T-10)."""
    return {key: value for key, value in args.items() if key != "intent"}
