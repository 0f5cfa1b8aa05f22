"""The JSON doors of the desk as a whole: its numbers, and the description of the whole API (ADM, HTTP-2)."""

from __future__ import annotations

from typing import Any

from litestar import Controller, Request, Response, get
from litestar.di import NamedDependency

from app.accounts.guards import admin_only
from app.site.api_document import ApiDocument
from app.site.schemas import Metrics
from app.site.service import MetricsService
from app.web.envelope import Success
from app.web.pages import Pages


class MetricsController(Controller):
    path = "/api/v1/admin/metrics"
    tags = ("Administration",)
    guards = (admin_only,)

    @get(summary="How many people and work orders there are, and for how long this process has run")
    async def metrics(self, desk_metrics: NamedDependency[MetricsService]) -> Success[Metrics]:
        return Success(data=await desk_metrics.now())


@get("/api/openapi.json", include_in_schema=False, sync_to_thread=True)
def openapi(api_document: NamedDependency[ApiDocument]) -> Response[bytes]:
    """The OpenAPI 3.1 document."""
    return Response(api_document.json, media_type="application/json", headers={"Cache-Control": "no-cache"})


@get("/api/docs", include_in_schema=False)
async def viewer(request: Request[Any, Any, Any], pages: NamedDependency[Pages]) -> Response[Any]:
    """The document, to look at and to try."""
    return await pages.page(request, "site/api_docs.html")


API = [MetricsController]
DESCRIPTION = [openapi, viewer]
