"""Names of settings: one spelling for each, and the nearest right one for a wrong one."""

from __future__ import annotations

from gossamer.config.settings import fields

SCRAPY = {
    "closespider_pagecount": "max_pages",
    "closespider_timeout": "max_time",
    "concurrent_requests": "concurrency",
    "concurrent_requests_per_domain": "per_host",
    "default_request_headers": "http.headers",
    "depth_limit": "max_depth",
    "download_delay": "delay",
    "download_maxsize": "http.max_size_bytes",
    "download_timeout": "http.total_timeout",
    "log_file": "log.file",
    "log_level": "log.level",
    "redirect_max_times": "http.max_redirects",
    "retry_times": "max_retries",
    "robotstxt_obey": "robots",
}
"""What settings of other crawlers are called here; used for hints only."""


def canonical(key: str) -> str:
    """``http__headers`` and ``http.headers`` are one name."""
    return key.replace("__", ".")


def nearest(key: str) -> str:
    """``; did you mean 'max_pages'?``, or nothing when no name is near."""
    import difflib

    wrong = canonical(key).lower()
    if wrong in SCRAPY:
        return f"; did you mean {SCRAPY[wrong]!r}?"
    names = list(fields())
    # Somebody who leaves out or misplaces the section means the same last part.
    short = {name.rpartition(".")[2]: name for name in names}
    close = difflib.get_close_matches(wrong, names, n=1, cutoff=0.6)
    if not close:
        found = difflib.get_close_matches(wrong.rpartition(".")[2], short, n=1, cutoff=0.75)
        close = [short[name] for name in found]
    return f"; did you mean {close[0]!r}?" if close else ""
