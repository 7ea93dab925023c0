"""Alerts as plain text."""

from __future__ import annotations

from gossamer.core.alerts import AlertNotice


def notice_text(notice: AlertNotice) -> str:
    """Return the problem, its place and its remedies."""
    lines = [notice.headline, f"Where: {notice.place}{f', job {notice.job}' if notice.job else ''}"]
    lines += ["Suggested fixes:"] if notice.ways else []
    return "\n".join([*lines, *(f"  {way}" for way in notice.ways)])
