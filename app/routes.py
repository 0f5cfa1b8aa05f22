"""Every controller of the desk, pages then API: start reading here."""

from __future__ import annotations

from litestar.types import ControllerRouterHandler

from app.accounts import api as accounts_api
from app.accounts import pages as accounts_pages
from app.copilot import api as copilot_api
from app.copilot import approval_pages, console_api, own_run_pages, review_pages, tool_pages
from app.copilot import pages as copilot_pages
from app.site import api as site_api
from app.site import pages as site_pages
from app.site import scrape
from app.triage import admin_api as agents_api
from app.triage import admin_pages as agents_pages
from app.triage import api as triage_api
from app.triage import pages as triage_pages
from app.triage import run_pages
from app.work_orders import api as orders_api
from app.work_orders import pages as orders_pages

API: list[ControllerRouterHandler] = [
    *accounts_api.API,
    *orders_api.API,
    *triage_api.API,
    *agents_api.API,
    *copilot_api.API,
    *console_api.API,
    *site_api.API,
]
"""What `/api/openapi.json` describes."""

CONTROLLERS: list[ControllerRouterHandler] = [
    *site_pages.PAGES,
    *scrape.PAGES,
    *accounts_pages.PAGES,
    *orders_pages.PAGES,
    *copilot_pages.PAGES,
    *approval_pages.PAGES,
    *own_run_pages.PAGES,
    *review_pages.PAGES,
    *tool_pages.PAGES,
    *triage_pages.PAGES,
    *agents_pages.PAGES,
    *run_pages.PAGES,
    *API,
    *site_api.DESCRIPTION,
]
