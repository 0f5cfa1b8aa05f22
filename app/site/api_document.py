"""The OpenAPI 3.1 document of the JSON API.

Litestar tells addresses, operations and parameters; Pydantic the shapes; the guards and each handler the failures.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from litestar import Litestar, Response
from litestar.di import Provide
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.plugins.pydantic import PydanticPlugin
from litestar.response import Stream
from litestar.routes import HTTPRoute
from litestar.types import ControllerRouterHandler
from litestar.typing import FieldDefinition
from pydantic import BaseModel

from app.accounts.cookies import ACCESS, REFRESH
from app.core.errors import Unauthorized
from app.site.api_answers import errors_of, guard_errors, response, response_name
from app.site.api_examples import Examples, stream
from app.site.api_schemas import Shapes, shapes
from app.web.envelope import Failure

_ABOUT = """Work orders, accounts, the copilot and triage.

Sign in with `POST /api/v1/auth/login`; the answer sets two cookies. When the access token is over (401), renew both
with `POST /api/v1/auth/refresh`. Answers are `{success: true, data}` or `{success: false, error, requestId}`. Bodies
are JSON of at most 32 kB, with no other fields than those listed."""
_BROKEN = (
    "After a broken connection, go on at the run's events address with `Last-Event-ID`: nothing is lost or repeated."
)
_EMPTY = frozenset((None, type(None)))
_FALSE_BY_DEFAULT = ("deprecated", "allowEmptyValue", "allowReserved")


@dataclass(frozen=True, slots=True)
class _Operation:
    """One endpoint, and what it takes and gives. `answer` is None for 204, `Stream` for events."""

    path: str
    method: str
    handler: HTTPRouteHandler
    body: type[BaseModel] | None
    body_required: bool
    answer: Any


class ApiDocument:
    """The document of `routes`; made on first use, for that takes most of a second."""

    def __init__(self, routes: Sequence[ControllerRouterHandler], dependencies: Mapping[str, Provide]) -> None:
        self._routes = routes
        self._dependencies = dependencies

    @cached_property
    def json(self) -> bytes:
        return json.dumps(self.content, ensure_ascii=False, separators=(",", ":")).encode()

    @cached_property
    def content(self) -> dict[str, Any]:
        """The document, ready to be dumped."""
        app = Litestar(
            self._routes,
            dependencies=self._dependencies,
            plugins=[PydanticPlugin(prefer_alias=True)],
            openapi_config=OpenAPIConfig(title="Work Order Desk", version="1.0.0", description=_ABOUT),
        )
        drawn = app.openapi_schema.to_schema()
        operations = list(_operations(app, drawn["paths"]))
        bodies, answers, components = shapes(
            {operation.body for operation in operations if operation.body},
            {operation.answer for operation in operations if operation.answer not in (None, Stream)} | {Failure},
        )
        painter = _Painter(bodies, answers, Examples(components))
        for operation in operations:
            painter.paint(drawn["paths"][operation.path][operation.method], operation)
        _exemplify(components, painter.examples)
        drawn["components"] = {
            "schemas": dict(sorted(components.items())),
            "responses": dict(sorted(painter.responses.items())),
            "securitySchemes": {
                "session": {"type": "apiKey", "in": "cookie", "name": ACCESS, "description": "15 minutes, httpOnly."},
                "refresh": {"type": "apiKey", "in": "cookie", "name": REFRESH, "description": "7 days, used once."},
            },
        }
        return drawn


class _Painter:
    """Completes the operations that Litestar drew. `responses` gathers the failures they refer to."""

    def __init__(self, bodies: Shapes, answers: Shapes, examples: Examples) -> None:
        self._bodies = bodies
        self._answers = answers
        self.examples = examples
        self.responses: dict[str, Any] = {}

    def paint(self, drawn: dict[str, Any], operation: _Operation) -> None:
        drawn.pop("deprecated", None)
        drawn.setdefault("security", [{"session": []}] if Unauthorized in guard_errors(operation.handler) else [])
        for parameter in drawn.get("parameters", ()):
            _tidy(parameter)
        if operation.body:
            content = self._media(self._bodies[operation.body])
            drawn["requestBody"] = {"required": operation.body_required, "content": {"application/json": content}}
        drawn["responses"] = {str(operation.handler.status_code): self._success(operation)} | {
            str(status): self._failure(status, codes)
            for status, codes in errors_of(operation.handler, operation.method, operation.path).items()
        }

    def _success(self, operation: _Operation) -> dict[str, Any]:
        if operation.answer is None:
            return {"description": "Done."}
        if operation.answer is Stream:
            return self._stream(operation.handler.opt.get("events", "RunEvent"))
        return {"description": "Done.", "content": {"application/json": self._media(self._answers[operation.answer])}}

    def _stream(self, events: str) -> dict[str, Any]:
        """`events` names the shape of their data: the dialect that is spoken."""
        schema = {
            "type": "string",
            "description": f"Server-sent events; the data of each is one `{events}`, as JSON on one line. {_BROKEN}",
            "x-event-data": {"$ref": f"#/components/schemas/{events}"},
        }
        named = {"X-Run-Id": {"description": "The run that answers.", "schema": {"type": "string"}}}
        content = {"text/event-stream": {"schema": schema, "example": stream(self.examples, events)}}
        return {"description": "The run as it happens.", "headers": named, "content": content}

    def _media(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {"schema": schema, "example": self.examples.of(schema)}

    def _failure(self, status: int, codes: dict[str, Any]) -> dict[str, str]:
        name = response_name(status, codes)
        self.responses.setdefault(name, response(codes))
        return {"$ref": f"#/components/responses/{name}"}


def _operations(app: Litestar, paths: dict[str, Any]) -> Iterator[_Operation]:
    for route in app.routes:
        if not isinstance(route, HTTPRoute) or route.path_format not in paths:
            continue
        for method, (handler, _) in route.route_handler_map.items():
            if method.lower() in paths[route.path_format]:
                data = handler.parsed_fn_signature.parameters.get("data")
                yield _Operation(
                    path=route.path_format,
                    method=method.lower(),
                    handler=handler,
                    body=_shape(data) if data else None,
                    body_required=bool(data and not data.is_optional),
                    answer=_answer(handler.parsed_fn_signature.return_type),
                )


def _answer(given: FieldDefinition) -> Any:
    """The shape inside `Response[…]`, `Stream`, or None."""
    if given.is_subclass_of(Stream):
        return Stream
    inner = given.inner_types[0].annotation if given.origin and given.is_subclass_of(Response) else given.annotation
    return None if inner in _EMPTY else inner


def _shape(data: FieldDefinition) -> type[BaseModel]:
    found = [inner.annotation for inner in data.inner_types if not inner.is_none_type] or [data.annotation]
    shape: type[BaseModel] = found[0]
    return shape


def _tidy(parameter: dict[str, Any]) -> None:
    """A parameter that is absent is absent, not null; what is false by default need not be said."""
    for name in _FALSE_BY_DEFAULT:
        parameter.pop(name, None)
    schema = parameter["schema"]
    kinds = [kind for kind in schema.pop("oneOf", ()) if kind != {"type": "null"}]
    schema.update(*kinds)
    if isinstance(schema.get("type"), list):
        (schema["type"],) = [kind for kind in schema["type"] if kind != "null"]
        schema["enum"] = [value for value in schema["enum"] if value is not None]
    if parameter["in"] == "path":
        schema["pattern"] = "^[0-9a-fA-F]{24}$"


def _exemplify(components: dict[str, Any], examples: Examples) -> None:
    for name, schema in components.items():
        schema["examples"] = [examples.of({"$ref": f"#/components/schemas/{name}"})]
