"""Numbers as people read them."""

from __future__ import annotations

from collections.abc import Mapping


def format_duration(seconds: float) -> str:
    """``0.25 s``, ``12 s``, ``3m 20s``, ``2h 05m``, ``4d 03h``."""
    if seconds < 10:
        return f"{max(seconds, 0.0):.2g} s"
    if round(seconds) < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest:02d}s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}h {minutes:02d}m"
    days, hours = divmod(hours, 24)
    return f"{days}d {hours:02d}h" if days < 10_000 else "years"


def format_size(count: float) -> str:
    """Bytes in decimal units: ``512 B``, ``1.2 MB``."""
    if count < 1000:
        return f"{count:.0f} B"
    for unit in ("kB", "MB", "GB", "TB"):
        count /= 1000
        if count < 999.5 or unit == "TB":
            return f"{count:.3g} {unit}" if count < 99.95 else f"{count:,.0f} {unit}"
    raise AssertionError("unreachable")


def format_rate(per_second: float) -> str:
    """``12.3/s``; slow crawls by the minute: ``4.5/min``."""
    if 0 < per_second < 0.5:
        return f"{per_second * 60:.1f}/min"
    return f"{per_second:,.0f}/s" if per_second >= 100 else f"{per_second:.1f}/s"


def format_statuses(classes: dict[int, int]) -> str:
    """``2xx 120, 4xx 3, no answer 1`` from counts by the status's first digit."""
    named = (
        (f"{digit}xx" if digit else "no answer", count) for digit, count in sorted(classes.items()) if digit
    )
    parts = [f"{name} {count:,}" for name, count in named]
    if classes.get(0):
        parts.append(f"no answer {classes[0]:,}")
    return ", ".join(parts) or "none yet"


def format_costs(cost: float, by_rung: Mapping[str, float]) -> str:
    """``0.024 (gateway:zyte 0.024)``; empty when nothing was paid."""
    parts = ", ".join(f"{rung} {amount:,.6g}" for rung, amount in by_rung.items())
    return f"{cost:,.6g} ({parts})" if cost else ""


def format_rungs(by_rung: Mapping[str, int]) -> str:
    """``browser 12, impersonate 3``; empty when all was plain HTTP."""
    return ", ".join(f"{rung} {count:,}" for rung, count in by_rung.items())
