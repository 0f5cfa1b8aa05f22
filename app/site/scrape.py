"""`GET /metrics`, for Prometheus: with METRICS_TOKEN as a bearer token, or without one from this machine alone."""

from __future__ import annotations

import hmac
import ipaddress
from typing import Any

from litestar import Request, Response, get
from litestar.di import NamedDependency
from prometheus_client import CONTENT_TYPE_LATEST

from app.core.errors import NotFound
from app.core.settings import Settings
from app.site.prometheus import PrometheusMetrics

AnyRequest = Request[Any, Any, Any]


@get("/metrics", include_in_schema=False)
async def metrics(
    request: AnyRequest, settings: NamedDependency[Settings], prometheus: NamedDependency[PrometheusMetrics]
) -> Response[bytes]:
    """Whoever may not look is told that nothing is there."""
    if not _may_scrape(request, settings.metrics_token.get_secret_value()):
        raise NotFound
    text = await prometheus.text()
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST, "Cache-Control": "no-store"})


def _may_scrape(request: AnyRequest, token: str) -> bool:
    if token:
        given = request.headers.get("authorization", "")
        return hmac.compare_digest(given.encode(), f"Bearer {token}".encode())
    # A proxy on this machine speaks for others: what it forwards does not come from here.
    forwarded = any(name in request.headers for name in ("x-forwarded-for", "forwarded", "x-real-ip"))
    return not forwarded and request.client is not None and _is_loopback(request.client.host)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


PAGES = [metrics]
