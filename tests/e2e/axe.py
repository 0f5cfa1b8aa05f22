"""axe on a page as it is now, and the four looks that pages are checked in (WCAG 2.2 AA)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from playwright.async_api import Page

from tests.e2e.steps import DESK, PHONE

AXE = Path(__file__).parents[1] / "data" / "axe" / "axe.min.js"

# What moves in a closed fold stands still until that is opened: it is not waited for.
_SETTLED = """() => Promise.all(document.getAnimations()
    .filter((moving) => Number.isFinite(moving.effect.getComputedTiming().endTime))
    .filter((moving) => moving.effect.target.checkVisibility())
    .map((moving) => moving.finished.catch(() => {})))"""

in_each_look = pytest.mark.parametrize(
    "look",
    [
        pytest.param(size | {"color_scheme": scheme}, id=f"{name}-{scheme}")
        for name, size in (("desk", DESK), ("phone", PHONE))
        for scheme in ("light", "dark")
    ],
)


async def check(page: Page, where: str) -> None:
    """What axe calls serious or critical, each with the elements it means."""
    await page.evaluate(_SETTLED)
    await page.evaluate(_axe())
    found = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    grave = [
        f"{issue['id']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for issue in found["violations"]
        if issue["impact"] in ("serious", "critical")
        for node in issue["nodes"]
    ]
    assert grave == [], f"{where}: " + "\n".join(grave)


@cache
def _axe() -> str:
    """Handed to the page by the browser's debugger: the page's own policy lets no foreign script in."""
    return AXE.read_text("utf-8")
