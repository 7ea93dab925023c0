"""The page about alerts names every alert, every setting and every default as the code has them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gossamer
from gossamer.config.alerts import AlertSettings
from gossamer.policy.alerts import AlertRules
from gossamer.policy.notices import GIVEN_UP_S, LONGEST_PAUSE_S, MOST_WAITING
from gossamer.policy.troubles import TroubleKind

PAGE = (Path(__file__).parents[2] / "docs/how-to/alerts.md").read_text()
READINGS = Path(gossamer.__file__).parent / "policy/alert_readings.py"
ROWS = {
    name: row
    for row in re.findall(r"^\| `\w+`.*\|$", PAGE, re.MULTILINE)
    for name in re.findall(r"`(\w+)`", row.split("|")[1])
}
RULES = AlertRules()


def test_the_table_has_every_alert_and_no_other() -> None:
    found = {TroubleKind[name].value for name in re.findall(r"TroubleKind\.([A-Z_]+)", READINGS.read_text())}
    assert found == set(ROWS) - {"webhook", "email", "apprise"}


def test_every_limit_of_the_settings_is_on_the_page() -> None:
    limits = set(AlertSettings.model_fields) - {"targets"}
    assert limits == set(re.findall(r"`alerts\.(\w+)`", PAGE))


@pytest.mark.parametrize(
    ("alert", "parts"),
    [
        ("dead_letters", (f"| {RULES.dead_letters} new ones", f"more than {RULES.dead_share * 100:.0f} %")),
        ("host_fails", (f"at least {RULES.host_attempts} attempts",)),
        ("no_items", (f"| {RULES.no_items_pages} pages in a row",)),
        ("stalled", (f"for {RULES.stalled_s / 60:.0f} minutes",)),
        ("no_success", (f"for {RULES.no_success_s / 60:.0f} minutes",)),
        ("idle_worker", (f"for {RULES.no_worker_s / 60:.0f} minutes",)),
        ("growing", (f"| of {RULES.growing:,} requests",)),
        ("budget", (f"| {RULES.budget_share * 100:.0f} % of a budget",)),
        ("store_lag", (f"takes {RULES.store_lag_s:.0f} s",)),
        ("redis_memory", (f"has {RULES.redis_memory_share * 100:.0f} %",)),
        ("no_worker", (f"for {RULES.no_worker_s / 60:.0f} minutes",)),
        ("away", (f"for {RULES.away_s:.0f} s",)),
    ],
)
def test_the_table_has_the_defaults_of_the_code(alert: str, parts: tuple[str, ...]) -> None:
    for part in parts:
        assert part in ROWS[alert]


def test_the_text_has_the_times_and_bounds_of_the_code() -> None:
    assert f"lasted for {RULES.holds_s / 60:.0f} minutes (`alerts.holds`)" in PAGE
    assert (RULES.clears_s, RULES.window_s, RULES.no_supervisor_s) == (60, 900, 60), "in words on the page"
    assert (LONGEST_PAUSE_S, GIVEN_UP_S) == (600, 3 * 86_400), "ten minutes, three days"
    assert f"At most {MOST_WAITING} notifications wait" in PAGE
