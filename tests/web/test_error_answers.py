"""Each failure as whole page, as fragment for htmx, and as JSON (HTTP-2, HTTP-5), from outside over HTTP."""

from __future__ import annotations

from typing import Any, cast

import httpx
import pytest
from pymongo.errors import AutoReconnect

from app.core.errors import AppError, Conflict, Forbidden, NotFound, RateLimited, Unavailable
from app.governance.errors import AiUnavailable
from tests.conftest import Server

PAGE, API = "/app/work-orders", "/api/v1/work-orders"
HTMX = {"HX-Request": "true", "HX-Request-Type": "partial"}
SECRET = "the cellar key is under the mat"
FAILURES: list[tuple[Exception, int, str]] = [
    (Forbidden(), 403, "FORBIDDEN"),
    (NotFound(), 404, "NOT_FOUND"),
    (Conflict(), 409, "CONFLICT_VERSION"),
    (RateLimited(7), 429, "RATE_LIMITED"),
    (RuntimeError(SECRET), 500, "INTERNAL"),
]


@pytest.fixture
def overrides() -> dict[str, Any]:
    return {"ai_enabled": False, "debug_errors": False, "log_level": "error"}


async def failing(server: Server, monkeypatch: pytest.MonkeyPatch, failure: Exception) -> httpx.AsyncClient:
    """Someone whose list of work orders fails with `failure`."""

    async def fail(*_: Any) -> None:
        raise failure

    monkeypatch.setattr(server.desk.orders, "list_for", fail)
    return await server.sign_in_as("owner")


@pytest.mark.parametrize(("failure", "status", "code"), FAILURES)
async def test_a_failure_is_told_as_page_as_fragment_and_as_json(
    server: Server, monkeypatch: pytest.MonkeyPatch, failure: Exception, status: int, code: str
) -> None:
    """HTTP-2, HTTP-5: in plain words, with the request's id, and with nothing of what went wrong inside."""
    owner = await failing(server, monkeypatch, failure)
    page, part, told = await owner.get(PAGE), await owner.get(PAGE, headers=HTMX), await owner.get(API)
    assert {page.status_code, part.status_code, told.status_code} == {status}
    words = failure.message if isinstance(failure, AppError) else AppError.default_message
    assert told.json() == {
        "success": False,
        "error": {"code": code, "message": words},
        "requestId": told.headers["x-request-id"],
    }
    assert page.text.lstrip().startswith("<!doctype html>")
    assert "<html" not in part.text
    assert 'role="alert"' in part.text
    for html in (page, part):
        assert words in html.text
        assert html.headers["x-request-id"] in html.text
        assert html.headers["vary"] == "HX-Request-Type"
    for answer in (page, part, told):
        assert SECRET not in answer.text
        assert ("retry-after" in answer.headers) == (status == 429)


async def test_what_is_not_there_is_told_in_all_three_ways(server: Server) -> None:
    """HTTP-5: also to whoever is not signed in, and for a method that an address does not know."""
    client = await server.client()
    assert "Nothing here" in (await client.get("/no/such/page")).text
    assert "<html" not in (await client.get("/no/such/part", headers=HTMX)).text
    for method, path in (("GET", "/api/v1/nothing"), ("PUT", API)):
        answer = await client.request(method, path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")


class TestInTheLog:
    @pytest.fixture
    def overrides(self) -> dict[str, Any]:
        return {"ai_enabled": False, "log_level": "warning"}

    @pytest.fixture
    async def owner(
        self, server: Server, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
    ) -> httpx.AsyncClient:
        return await failing(server, monkeypatch, request.param)

    @pytest.mark.parametrize(
        ("owner", "code"),
        [(AiUnavailable(), "AI_UNAVAILABLE"), (Unavailable(), "UNAVAILABLE")],
        indirect=["owner"],
    )
    async def test_a_refusal_is_one_warning_without_a_trace(
        self, owner: httpx.AsyncClient, code: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        """D-22, HTTP-2: that AI is off is expected, and must wake nobody."""
        assert (await owner.get(API)).status_code == 503
        [(level, line)] = logged(caplog)
        assert (level, line["event"], line["code"], line["status"]) == ("WARNING", "request_refused", code, 503)
        assert "exc_info" not in line

    @pytest.mark.parametrize(
        ("owner", "name"),
        [(RuntimeError(SECRET), "RuntimeError"), (AutoReconnect("gone"), "AutoReconnect"), (AppError(), "AppError")],
        indirect=["owner"],
    )
    async def test_a_fault_is_an_error_with_its_trace(
        self, owner: httpx.AsyncClient, name: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        """HTTP-2: a fault of the desk, or of what it stands on."""
        assert (await owner.get(API)).status_code in (500, 503)
        [(level, line)] = logged(caplog)
        assert (level, line["event"], line["error"]) == ("ERROR", "request_failed", name)
        assert type(line["exc_info"]).__name__ == name


def logged(caplog: pytest.LogCaptureFixture) -> list[tuple[str, dict[str, Any]]]:
    """Level and fields of what was logged about failures."""
    records = [record for record in caplog.records if record.name == "app.web.error_answers"]
    return [(record.levelname, cast("dict[str, Any]", record.msg)) for record in records]


class TestWithDebugErrors:
    @pytest.fixture
    def overrides(self) -> dict[str, Any]:
        return {"ai_enabled": False, "debug_errors": True, "log_level": "error"}

    async def test_an_unexpected_failure_shows_its_trace(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        """HTTP-2: DEBUG_ERRORS, and then only for what was not expected."""
        owner = await failing(server, monkeypatch, RuntimeError(SECRET))
        for headers in ({}, HTMX):
            assert SECRET in (await owner.get(PAGE, headers=headers)).text
        assert SECRET in (await owner.get(API)).json()["trace"]
        refused = await owner.get(f"{API}/zzz")
        assert (refused.status_code, "trace" in refused.json()) == (400, False)
