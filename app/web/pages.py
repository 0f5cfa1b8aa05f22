"""HTML out: a full page, or the same fragment alone when htmx asks for a part (htmx 4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

from jinja2 import Environment
from litestar import MediaType, Request, Response
from litestar.response import Redirect

from app.web.hx import wants_fragment

AnyRequest = Request[Any, Any, Any]
PageContext = Callable[[AnyRequest], Awaitable[dict[str, Any]]]


class Pages:
    """Renders templates with what every page needs; `context` is given by the assembled program."""

    def __init__(self, environment: Environment, context: PageContext) -> None:
        self._environment = environment
        self._context = context

    async def page(
        self,
        request: AnyRequest,
        template: str,
        *,
        status: int = 200,
        headers: dict[str, str] | None = None,
        **values: Any,
    ) -> Response[str]:
        """The whole page `template`."""
        html = self._environment.get_template(template).render(await self._context(request) | values)
        return _html(html, status, {"Cache-Control": "no-store", "Vary": "HX-Request-Type"} | (headers or {}))

    async def page_or_fragment(
        self,
        request: AnyRequest,
        template: str,
        fragment: str,
        *,
        status: int = 200,
        headers: dict[str, str] | None = None,
        **values: Any,
    ) -> Response[str]:
        """The fragment alone when htmx asks for a part, else the page that includes it."""
        chosen = fragment if wants_fragment(request) else template
        return await self.page(request, chosen, status=status, headers=headers, **values)

    async def fragment(
        self,
        request: AnyRequest,
        template: str,
        *,
        status: int = 200,
        headers: dict[str, str] | None = None,
        **values: Any,
    ) -> Response[str]:
        """The fragment `template`, whoever asks."""
        return await self.page(request, template, status=status, headers=headers, **values)

    def render(self, template: str, **values: Any) -> str:
        """The text of `template` outside a request (stream fragments)."""
        return self._environment.get_template(template).render(values)


def pages_of(request: AnyRequest) -> Pages:
    """The `Pages` of the program. As a second dependency it would cost a task for each, a tenth of a list page."""
    return cast("Pages", request.app.state.pages)


def _html(html: str, status: int, headers: dict[str, str]) -> Response[str]:
    return Response(html, status_code=status, media_type=MediaType.HTML, headers=headers)


def see_other(path: str, headers: dict[str, str] | None = None) -> Redirect:
    """After a form: go to `path` with GET, with or without htmx (fetch follows it)."""
    return Redirect(path, status_code=303, headers=headers or {})
