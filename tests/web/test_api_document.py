"""The description of the JSON API: valid, whole, and honest in its examples."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from litestar import Litestar
from litestar.routes import HTTPRoute
from openapi_spec_validator import OpenAPIV31SpecValidator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from app.main import create_app
from app.web.request_context import RequestContext
from tests.conftest import Server

EVENTS = {
    "token",
    "tool_call_start",
    "tool_approval_required",
    "tool_approval_expired",
    "tool_result",
    "message_done",
    "error",
    "ping",
}


@pytest.fixture
def overrides() -> dict[str, Any]:
    return {"ai_enabled": False}


@pytest.fixture
async def document(server: Server) -> dict[str, Any]:
    client = await server.client()
    answer = await client.get("/api/openapi.json")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    found: dict[str, Any] = answer.json()
    return found


CONSOLE_EVENTS = {
    "thinking",
    "message",
    "tool_call",
    "tool_result",
    "metrics",
    "status_changed",
    "confirmation_required",
    "error",
    "stream_end",
}


def streams_of(document: dict[str, Any], events: str) -> list[dict[str, Any]]:
    """Every stream whose data is `events`."""
    wanted = {"$ref": f"#/components/schemas/{events}"}
    return [kind for _, kind in media(document) if kind["schema"].get("x-event-data") == wanted]


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(path, method, drawn) for path, item in document["paths"].items() for method, drawn in item.items()]


def faults(document: dict[str, Any], schema: dict[str, Any], value: Any) -> list[str]:
    """What of `value` does not fit `schema`, whose references lead into `document`."""
    absolute = json.loads(json.dumps(schema).replace('"#/', '"urn:api#/'))
    registry: Registry[Any] = Registry().with_resource("urn:api", DRAFT202012.create_resource(document))
    validator = Draft202012Validator(absolute, registry=registry, format_checker=FormatChecker())
    return [f"{fault.json_path}: {fault.message}" for fault in validator.iter_errors(value)]


def media(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Every body and answer, with where it stands."""
    found = []
    for path, method, drawn in operations(document):
        contents = [drawn.get("requestBody", {}).get("content", {})]
        contents += [answer.get("content", {}) for answer in drawn["responses"].values()]
        found += [(f"{method} {path}", kind) for content in contents for kind in content.values()]
    shared = document["components"]["responses"].items()
    return found + [(name, kind) for name, answer in shared for kind in answer["content"].values()]


def test_the_document_is_valid_openapi_3_1(document: dict[str, Any]) -> None:
    """HTTP-2"""
    assert document["openapi"].startswith("3.1")
    assert [str(error) for error in OpenAPIV31SpecValidator(document).iter_errors()] == []


async def test_every_route_of_the_api_is_in_the_document(server: Server, document: dict[str, Any]) -> None:
    """HTTP-2"""
    program = create_app(server.settings)
    assert isinstance(program, RequestContext)
    assert isinstance(program.app, Litestar)
    served = {
        (route.path_format, method.lower())
        for route in program.app.routes
        if isinstance(route, HTTPRoute) and route.path.startswith(("/api/v1", "/api/ai"))
        for method in route.route_handler_map
        if method != "OPTIONS"
    }
    assert served == {(path, method) for path, method, _ in operations(document)}


def test_every_operation_is_named_grouped_and_says_what_can_go_wrong(document: dict[str, Any]) -> None:
    """HTTP-2"""
    for path, method, drawn in operations(document):
        where = f"{method} {path}"
        assert drawn["summary"], where
        assert drawn["tags"], where
        assert {"400", "429", "500", "503"} < set(drawn["responses"]), where
        assert ("401" in drawn["responses"]) == (bool(drawn["security"]) or path == "/api/v1/auth/login"), where
        assert ("404" in drawn["responses"]) or "{" not in path, where
    codes = {
        code
        for answer in document["components"]["responses"].values()
        for code in answer["content"]["application/json"]["examples"]
    }
    assert {"AUTH_GENERIC", "REFRESH_REUSE", "EMAIL_TAKEN", "CONFLICT_VERSION", "AI_APPROVAL_EXPIRED"} < codes
    assert {"AI_UNAVAILABLE", "AI_BUDGET_EXCEEDED", "AI_APPROVAL_STALE", "AI_MESSAGE_DUPLICATE"} < codes


def test_every_example_fits_its_schema(document: dict[str, Any]) -> None:
    """HTTP-2"""
    wrong = []
    for name, schema in document["components"]["schemas"].items():
        wrong += [f"{name} {fault}" for value in schema["examples"] for fault in faults(document, schema, value)]
    for where, kind in media(document):
        values = [kind["example"]] if "example" in kind else [shown["value"] for shown in kind["examples"].values()]
        wrong += [f"{where} {fault}" for value in values for fault in faults(document, kind["schema"], value)]
    assert wrong == []


def test_streams_tell_the_closed_set_of_events(document: dict[str, Any]) -> None:
    """D-23"""
    run_event = document["components"]["schemas"]["RunEvent"]
    assert set(run_event["discriminator"]["mapping"]) == EVENTS
    streams = streams_of(document, "RunEvent")
    assert len(streams) == 2
    data = re.findall(r"^data: (.*)$", streams[0]["example"], re.MULTILINE)
    assert [fault for line in data for fault in faults(document, run_event, json.loads(line))] == []


def test_the_consoles_stream_tells_its_own_closed_set(document: dict[str, Any]) -> None:
    """T-14: the example is a whole run, each event of the shape that its name stands for."""
    named = document["components"]["schemas"]["ConsoleEvent"]["x-event-names"]
    assert set(named) == CONSOLE_EVENTS
    (stream,) = streams_of(document, "ConsoleEvent")
    told = re.findall(r"^event: (.*)\ndata: (.*)$", stream["example"], re.MULTILINE)
    assert [name for name, _ in told][-1] == "stream_end"
    wrong = [faults(document, {"$ref": named[name]}, json.loads(data)) for name, data in told]
    assert wrong == [[]] * len(told)


async def test_a_real_answer_fits_what_the_document_says(server: Server, document: dict[str, Any]) -> None:
    """HTTP-2, HTTP-3"""
    owner = await server.sign_in_as("owner")
    made = await owner.post("/api/v1/work-orders", json={"title": "Pump leaks"})
    refused = await owner.post("/api/v1/work-orders", json={"title": "x"})
    responses = document["paths"]["/api/v1/work-orders"]["post"]["responses"]
    created = responses["201"]["content"]["application/json"]["schema"]
    bad = {"$ref": f"{responses['400']['$ref']}/content/application~1json/schema"}
    assert faults(document, created, made.json()) == []
    assert faults(document, bad, refused.json()) == []
    assert faults(document, bad, made.json()) != []
