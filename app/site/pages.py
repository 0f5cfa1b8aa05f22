"""The landing page, health and readiness, and what is not there (HTTP-1, HTTP-5)."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, get, route
from litestar.di import NamedDependency
from litestar.enums import MediaType
from litestar.params import FromPath

from app.accounts.guards import admin_only
from app.accounts.people import Person
from app.core.errors import NotFound
from app.site.service import MetricsService, SiteService
from app.web.pages import Pages, see_other


@get("/health", include_in_schema=False, sync_to_thread=False)
def health() -> dict[str, str]:
    """Whether the process answers."""
    return {"status": "ok"}


@get("/ready", include_in_schema=False)
async def ready(site: NamedDependency[SiteService]) -> Response[dict[str, Any]]:
    """Whether MongoDB and Redis answer."""
    down = await site.missing()
    if not down:
        return Response({"status": "ok"})
    return Response({"status": "degraded", "missing": down}, status_code=503)


@get("/", include_in_schema=False)
async def landing(request: Request[Any, Any, Any], pages: NamedDependency[Pages]) -> Response[Any]:
    """Signed-in people go to their orders."""
    if isinstance(request.scope.get("user"), Person):
        return see_other("/app/work-orders")
    return await pages.page(request, "site/landing.html")


@get("/app/admin/metrics", include_in_schema=False, guards=[admin_only])
async def metrics(
    request: Request[Any, Any, Any], pages: NamedDependency[Pages], desk_metrics: NamedDependency[MetricsService]
) -> Response[Any]:
    """The desk in numbers; the page of people asks for them."""
    return await pages.page_or_fragment(
        request, "site/metrics.html", "site/_metrics.html", nav="people", metrics=await desk_metrics.now()
    )


@get("/app", include_in_schema=False, sync_to_thread=False)
def app_home() -> Response[Any]:
    return see_other("/app/work-orders")


@route(
    "/{path:path}",
    http_method=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
    include_in_schema=False,
    media_type=MediaType.TEXT,
    sync_to_thread=False,
    status_code=404,
)
def nothing_here(path: FromPath[str]) -> str:  # noqa: ARG001 - any path
    """What matches no route passes the same limits and checks as everything else."""
    raise NotFound


PAGES = [health, ready, landing, metrics, app_home, nothing_here]
