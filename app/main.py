"""The web program: adapters chosen, middleware and lifespan set, routes mounted. Start reading at `routes`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast

from litestar import Litestar, Request
from litestar.config.response_cache import ResponseCacheConfig
from litestar.datastructures import CacheControlHeader, State
from litestar.di import Provide
from litestar.plugins.pydantic import PydanticPlugin
from litestar.static_files import create_static_files_router
from litestar.types import ASGIApp, Scope
from pydantic import BaseModel

from app.accounts.guards import person_of
from app.accounts.middleware import Authentication
from app.accounts.people import Person
from app.copilot.conversation import Conversations
from app.copilot.wire_html import HtmlWire
from app.core.logging import configure_logging
from app.core.settings import Settings, load_settings
from app.desk import Desk, open_desk
from app.routes import API, CONTROLLERS
from app.site.api_document import ApiDocument
from app.web.bodies import BodyGuard
from app.web.csrf import CsrfGuard
from app.web.envelope import as_json
from app.web.error_answers import ErrorAnswers
from app.web.hx import wants_fragment
from app.web.limits import Limit
from app.web.pages import Pages
from app.web.rate_limit import OverallRateLimit
from app.web.request_context import RequestContext
from app.web.templates import STATIC, create_environment

AnyRequest = Request[Any, Any, Any]
OpenDesk = Callable[[Settings], AbstractAsyncContextManager[Desk]]

_STATIC_SECONDS = 365 * 24 * 3600


def create_app(settings: Settings | None = None, opener: OpenDesk = open_desk) -> ASGIApp:
    """The ASGI application. `opener` assembles the desk at start-up (tests give their own clock)."""
    settings = settings or load_settings()
    configure_logging(settings.log_level, as_json=settings.is_production)
    environment = create_environment(reload=settings.app_env == "development")
    pages = Pages(environment, _page_context)
    limit = Limit("all", settings.rate_limit_max, max(1, settings.rate_limit_window_ms // 1000))
    dependencies = _dependencies(settings, pages)
    document = ApiDocument(API, dependencies)
    app = Litestar(
        route_handlers=[*CONTROLLERS, _static_files(settings)],
        dependencies=dependencies | {"api_document": Provide(lambda: document, sync_to_thread=False)},
        middleware=[
            OverallRateLimit(limit, settings.trust_proxy_hops, lambda scope: _desk_of(scope).limiter),
            BodyGuard(),
            CsrfGuard(
                key=settings.cookie_secret.get_secret_value(),
                public_url=settings.public_url,
                secure=settings.is_production,
            ),
            Authentication(settings, lambda scope: _desk_of(scope).accounts),
        ],
        exception_handlers={
            Exception: ErrorAnswers(environment, debug=settings.debug_errors, sign_in_path="/login"),
        },
        plugins=[PydanticPlugin(prefer_alias=True, validate_strict=True)],
        type_encoders={BaseModel: as_json},
        lifespan=[_lifespan(settings, opener)],
        openapi_config=None,
        response_cache_config=ResponseCacheConfig(default_expiration=None),
        state=State({"pages": pages}),
        logging_config=None,
    )
    return cast("ASGIApp", RequestContext(app, hsts=settings.is_production))


def _lifespan(settings: Settings, opener: OpenDesk) -> Callable[[Litestar], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def running(app: Litestar) -> AsyncIterator[None]:
        async with opener(settings) as desk:
            app.state.desk = desk
            async with desk.copilot.hub.running(), desk.copilot.sweeper.running():
                yield
            await desk.copilot.approvals.close()

    return running


def _dependencies(settings: Settings, pages: Pages) -> dict[str, Provide]:
    """What handlers take by name. Everything of the desk comes from the application's state."""

    def of_desk(get: Callable[[Desk], Any]) -> Provide:
        def provide(request: AnyRequest) -> Any:
            return get(_desk_of(request.scope))

        return Provide(provide, sync_to_thread=False)

    def provide_person(request: AnyRequest) -> Person:
        return person_of(request)

    return {
        "settings": Provide(lambda: settings, sync_to_thread=False),
        "pages": Provide(lambda: pages, sync_to_thread=False),
        "person": Provide(provide_person, sync_to_thread=False),
        "clock": of_desk(lambda desk: desk.clock),
        "limiter": of_desk(lambda desk: desk.limiter),
        "accounts": of_desk(lambda desk: desk.accounts.accounts),
        "sign_in": of_desk(lambda desk: desk.accounts.sign_in),
        "user_admin": of_desk(lambda desk: desk.accounts.user_admin),
        "orders": of_desk(lambda desk: desk.orders),
        "runs": of_desk(lambda desk: desk.runs),
        "copilot": of_desk(lambda desk: desk.copilot.copilot),
        "approvals": of_desk(lambda desk: desk.copilot.approvals),
        "engine": of_desk(lambda desk: desk.copilot.engine),
        "reviews": of_desk(lambda desk: desk.tools.reviews),
        "reviewing": of_desk(lambda desk: desk.copilot.reviewing),
        "tool_listing": of_desk(lambda desk: desk.tools.listing),
        "operating": of_desk(lambda desk: desk.tools.operating),
        "watching": of_desk(lambda desk: desk.copilot.watching),
        "json_wire": of_desk(lambda desk: desk.copilot.json_wire),
        "console_wire": of_desk(lambda desk: desk.copilot.console_wire),
        "html_wire": of_desk(
            lambda desk: HtmlWire(desk.copilot.watching, desk.runs, desk.copilot.approvals, pages, desk.clock)
        ),
        "conversations": of_desk(lambda desk: Conversations(desk.runs, desk.copilot.approvals, desk.clock)),
        "triage": of_desk(lambda desk: desk.triage.triage),
        "suggestions": of_desk(lambda desk: desk.triage.suggestions),
        "oversight": of_desk(lambda desk: desk.triage.oversight),
        "agents_overview": of_desk(lambda desk: desk.triage.overview),
        "attention": of_desk(lambda desk: desk.triage.attention),
        "replay": of_desk(lambda desk: desk.triage.replay),
        "admin_runs": of_desk(lambda desk: desk.triage.admin_runs),
        "audit": of_desk(lambda desk: desk.audit),
        "site": of_desk(lambda desk: desk.site),
        "desk_metrics": of_desk(lambda desk: desk.metrics),
        "prometheus": of_desk(lambda desk: desk.prometheus),
    }


async def _page_context(request: AnyRequest) -> dict[str, Any]:
    """What every page needs; one query beyond the person, and three more for a dispatcher's whole page."""
    desk = _desk_of(request.scope)
    person = request.scope.get("user")
    signed_in = isinstance(person, Person)
    return {
        "person": person,
        "csrf_token": request.scope["state"].get("csrf_token", ""),
        "nav": "",
        "attention": await _attention(desk, request, person),
        "reviews_waiting": await _reviews_waiting(desk, request, person),
        "pending_approvals": await desk.runs.count_pending(person.id) if isinstance(person, Person) else 0,
        "ai": await _ai_state(desk, person if signed_in else None),
        "now": desk.clock.now(),
        "flash": None,
    }


async def _attention(desk: Desk, request: AnyRequest, person: Any) -> int:
    """How much needs a dispatcher's attention; counted to 100 where the rail is shown."""
    if not isinstance(person, Person) or person.role != "admin" or wants_fragment(request):
        return 0
    return len(await desk.triage.attention.items(person.actor, most=100))


async def _reviews_waiting(desk: Desk, request: AnyRequest, person: Any) -> int:
    """How many requests wait for a dispatcher's review; one bounded count where the rail is shown."""
    if not isinstance(person, Person) or person.role != "admin" or wants_fragment(request):
        return 0
    return await desk.tools.reviews.count_waiting()


async def _ai_state(desk: Desk, person: Any) -> dict[str, Any]:
    if not desk.settings.ai_enabled:
        return {"enabled": False, "off_reason": "AI is not switched on for this desk."}
    if person is not None and not person.ai_on:
        return {"enabled": False, "off_reason": "AI is switched off for your account."}
    if person is not None and not await desk.recent_switch.copilot_enabled():
        return {"enabled": False, "off_reason": "Switched off by a dispatcher. Everything else works."}
    return {"enabled": True, "off_reason": None}


def _static_files(settings: Settings) -> Any:
    """Files carry a version in their address: they may be kept for a year, but not in development."""
    kept = CacheControlHeader(public=True, max_age=_STATIC_SECONDS, immutable=True)
    caching = CacheControlHeader(no_cache=True) if settings.app_env == "development" else kept
    return create_static_files_router(
        path="/static", directories=[STATIC], include_in_schema=False, cache_control=caching
    )


def _desk_of(scope: Scope) -> Desk:
    return cast("Desk", scope["litestar_app"].state.desk)
