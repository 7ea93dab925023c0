"""Names of settings: one spelling for each, and the nearest right one for a wrong one."""

from __future__ import annotations

import difflib

from gossamer.compat.scrapy import hints
from gossamer.config.settings import setting_fields


def canonical_name(key: str) -> str:
    """``http__headers`` and ``http.headers`` are one name."""
    return key.replace("__", ".")


def suggest_name(key: str) -> str:
    """``; did you mean 'max_pages'?``, or nothing when no name is near."""
    wrong = canonical_name(key).lower()
    if wrong in hints.SETTINGS:
        return f"; did you mean {hints.SETTINGS[wrong]!r}?"
    if advice := hints.setting_advice(wrong):
        return f": {advice}"
    names = list(setting_fields())
    # Somebody who leaves out or misplaces the section means the same last part.
    short = {name.rpartition(".")[2]: name for name in names}
    close = difflib.get_close_matches(wrong, names, n=1, cutoff=0.6)
    if not close:
        found = difflib.get_close_matches(wrong.rpartition(".")[2], short, n=1, cutoff=0.75)
        close = [short[name] for name in found]
    return f"; did you mean {close[0]!r}?" if close else ""
