"""Every view of the dashboard at every width, in light and dark: nothing spills, and axe finds nothing."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from kit.dashboard.canned_answers import VIEWS
from kit.dashboard.canned_server import CannedServer
from kit.dashboard.visitor import Visitor

pytestmark = pytest.mark.thorough

WIDTHS = (320, 390, 768, 1024, 1280, 1440, 1920)
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


def faults_of(someone: Visitor) -> list[tuple[str, str, list[str]]]:
    """What axe says: the rule, how bad it is, and where."""
    found: dict[str, Any] = Axe().run(someone.page, options=RULES).response
    return [
        (fault["id"], fault["impact"], [" ".join(map(str, node["target"])) for node in fault["nodes"][:3]])
        for fault in found["violations"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_view_at_every_width(chromium: Browser, canned: CannedServer, width: int, scheme: str) -> None:
    with Visitor(chromium, canned.url, width=width, scheme=scheme) as someone:
        someone.go("/")
        found = {}
        for path in VIEWS:
            someone.walk(path)
            found[path] = (someone.spilled(), faults_of(someone))
        assert {path: both for path, both in found.items() if any(both)} == {}
