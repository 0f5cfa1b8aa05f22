"""What the author of a custom tool imports; all of it. `custom_tools/` has two examples to copy (T-11).

    from desk_tool import Arguments, Desk, declare

    class Greeting(Arguments):
        name: str

    @declare(name="greet", description="Greets a person by name.", risk="read", arguments=Greeting)
    async def greet(args: Greeting, desk: Desk) -> str:
        return f"Hello {args.name}"

A tool runs in a process of its own without network, other processes or files but its packages and one scratch folder
(the working directory: flat, small, gone afterwards). What it may know of the desk, it asks the `Desk` for.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Final, Generic, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

Risk = Literal["read", "write", "unknown", "financial", "destructive", "bulk"]
Exposure = Literal["open", "requires-confirmation", "operator-gated"]

NAME: Final = re.compile(r"[a-z][a-z0-9_]{2,39}\Z")
LONGEST_DESCRIPTION: Final = 400
LONGEST_REMARK: Final = 200
_MOST_FAULTS = 5


class BadDeclaration(Exception):
    """The tool is declared wrongly: what is wrong and what is allowed."""


class DeskError(Exception):
    """The desk refused a question: not found, not allowed, or not a question it answers."""


class Arguments(BaseModel):
    """What a model may say to the tool: unknown fields are refused, nothing is converted between types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Desk:
    """The desk, as the person for whom the tool runs may see it. Each question may raise `DeskError`.

    An order is an object with `id`, `title`, `description`, `priority`, `status`, `version`, `createdAt`, `updatedAt`
    and more, as in the desk's JSON API; times are text (ISO 8601, UTC).
    """

    def __init__(self, ask: Callable[[str, dict[str, Any]], Any]) -> None:
        self._ask = ask

    async def list_orders(
        self, *, status: str | None = None, priority: str | None = None, search: str | None = None
    ) -> list[dict[str, Any]]:
        """The person's own orders, newest first, 100 at most, without their descriptions; narrowed by what is given."""
        given = {"status": status, "priority": priority, "search": search}
        orders: list[dict[str, Any]] = self._answer("list_orders", {k: v for k, v in given.items() if v is not None})
        return orders

    async def get_order(self, order_id: str) -> dict[str, Any]:
        """One of the person's own orders, whole."""
        order: dict[str, Any] = self._answer("get_order", {"id": order_id})
        return order

    async def whoami(self) -> dict[str, Any]:
        """`{name, role}` of the person."""
        person: dict[str, Any] = self._answer("whoami", {})
        return person

    async def request(
        self, connection: str, path: str, query: dict[str, str | int | float | bool] | None = None
    ) -> dict[str, Any]:
        """A GET to a connection of the desk: `{status, body}`. Only where its policy lets it run unasked."""
        asked = {"connection": connection, "method": "GET", "path": path, "intent": "read"}
        answer: dict[str, Any] = self._answer("request", asked | ({"query": query} if query else {}))
        return answer

    def _answer(self, name: str, params: dict[str, Any]) -> Any:
        try:
            return self._ask(name, params)
        except RuntimeError as error:
            raise DeskError(str(error)) from None


A = TypeVar("A", bound=BaseModel)
Function = Callable[[A, Desk], Awaitable[Any]]


class Tool(Generic[A]):
    """A declared tool. Made by `declare`."""

    def __init__(self, declared: dict[str, Any], arguments: type[A], function: Function[A], line: int) -> None:
        self._declared = declared
        self._arguments = arguments
        self._function = function
        self.line = line

    def describe(self) -> dict[str, Any]:
        """The declaration with the JSON Schema of the arguments."""
        return self._declared | {"schema": self._arguments.model_json_schema()}

    def accept(self, args: object) -> A:
        """The arguments as the model means them. Raises `ValueError`: fields and rules, never the values."""
        try:
            return self._arguments.model_validate_json(json.dumps(args))
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False, include_input=False)
            told = [f"{_path(fault['loc'])}: {fault['msg']} ({fault['type']})" for fault in faults[:_MOST_FAULTS]]
            raise ValueError("; ".join(told)) from None

    async def call(self, args: A, ask: Callable[[str, dict[str, Any]], Any]) -> Any:
        """What the function returned, as JSON has it."""
        result = await self._function(args, Desk(ask))
        return result.model_dump(mode="json") if isinstance(result, BaseModel) else result


def declare(
    *,
    name: str,
    description: str,
    risk: Risk,
    arguments: type[A],
    exposure: Exposure = "open",
    llm_callable: bool = True,
    prompt: str | None = None,
    reason: str | None = None,
) -> Callable[[Function[A]], Tool[A]]:
    """Makes the async function below it a tool: `async def run(args, desk)`, which returns what JSON can carry.

    `risk` is what a call can do: read, write, unknown, financial, destructive or bulk; the desk asks the person before
    anything but a read. `exposure` may ask for more: `requires-confirmation` (with `prompt`, the question) or
    `operator-gated` (from the dispatcher's page only); `llm_callable=False` hides it from the model. `reason` is shown
    beside the tool's rules.
    """
    line = sys._getframe(1).f_lineno
    _check(NAME.match(name) if isinstance(name, str) else None, f"name must match {NAME.pattern[:-2]}")
    _check_text("description", description, LONGEST_DESCRIPTION)
    _check_word("risk", risk, get_args(Risk))
    _check_word("exposure", exposure, get_args(Exposure))
    _check(isinstance(llm_callable, bool), "llm_callable must be True or False")
    for field, text in (("prompt", prompt), ("reason", reason)):
        if text is not None:
            _check_text(field, text, LONGEST_REMARK)
    _check_model(arguments)
    declared = {
        "name": name, "description": description, "risk": risk, "exposure": exposure,
        "llm_callable": llm_callable, "prompt": prompt, "reason": reason,
    }  # fmt: skip

    def made(function: Function[A]) -> Tool[A]:
        _check_function(function)
        return Tool(declared, arguments, function, line)

    return made


def _check(holds: object, message: str) -> None:
    if not holds:
        raise BadDeclaration(message)


def _check_text(field: str, text: object, longest: int) -> None:
    fits = isinstance(text, str) and 0 < len(text.strip()) <= longest
    _check(fits, f"{field} must be a text of 1 to {longest} characters")


def _check_word(field: str, word: object, words: tuple[str, ...]) -> None:
    _check(word in words, f"{field} must be one of {', '.join(words)}")


def _check_model(arguments: object) -> None:
    is_model = isinstance(arguments, type) and issubclass(arguments, BaseModel)
    _check(is_model, "arguments must be a Pydantic model: a subclass of desk_tool.Arguments")
    assert isinstance(arguments, type)  # noqa: S101  # checked above; told to the type checker
    assert issubclass(arguments, BaseModel)  # noqa: S101
    forbids = arguments.model_config.get("extra") == "forbid"
    _check(forbids, "arguments must refuse unknown fields: inherit desk_tool.Arguments, or set extra='forbid'")


def _check_function(function: object) -> None:
    _check(inspect.iscoroutinefunction(function), "the declared function must be async: async def run(args, desk)")
    assert callable(function)  # noqa: S101  # told to the type checker
    takes = len(inspect.signature(function).parameters)
    _check(takes == 2, f"the declared function takes {takes} parameters; it must take two: args and desk")


def _path(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location)) or "arguments"
