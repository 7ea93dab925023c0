"""News of alerts as plain text."""

from __future__ import annotations

from gossamer.core.alerts import AlertNotice


def notice_text(notice: AlertNotice) -> str:
    """What is wrong, where, and what may be done about it."""
    lines = [notice.headline, f"Where: {notice.place}{f', job {notice.job}' if notice.job else ''}"]
    lines += ["What may help:"] if notice.ways else []
    return "\n".join([*lines, *(f"  {way}" for way in notice.ways)])
