"""Names of settings: the one spelling of each, and suggestions for wrong names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import get_origin

from gossamer.compat.scrapy import hints
from gossamer.config.settings import DOMAIN, find_field, section_groups, section_names, setting_fields


def canonical_name(key: str) -> str:
    """Return the one spelling of a name: ``http__headers`` is ``http.headers``."""
    return key.replace("__", ".")


def suggest_name(key: str) -> str:
    """Return ``; did you mean 'max_pages'?``, or how to give the table of an entry; empty for neither."""
    wrong = canonical_name(key).lower()
    if table := _table_around(wrong):
        return f"; {table!r} is a table, and given as a whole: '{table}={{\"NAME\": VALUE}}'"
    if wrong in hints.SETTINGS:
        return f"; did you mean {hints.SETTINGS[wrong]!r}?"
    if advice := hints.setting_advice(wrong):
        return f": {advice}"
    names = [*setting_fields(), *_names_in_groups(wrong)]
    # With a missing or wrong section, the last part of the name still counts.
    short = {name.rpartition(".")[2]: name for name in names}
    close = difflib.get_close_matches(wrong, names, n=1, cutoff=0.6)
    if not close:
        found = difflib.get_close_matches(wrong.rpartition(".")[2], short, n=1, cutoff=0.75)
        close = [short[name] for name in found]
    return f"; did you mean {close[0]!r}?" if close else ""


def _table_around(name: str) -> str:
    """Return the setting, with a table as its value, of which a name would be an entry."""
    fields, parts = setting_fields(), name.split(".")
    starts = (".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1))
    return next(
        (start for start in starts if start in fields and get_origin(fields[start].annotation) is dict), ""
    )


def suggest_section(key: str, inside: Iterable[str] = ()) -> str:
    """``; did you mean the section 'archive'?``, or that a setting ``inside`` belongs into no section.

    When neither is known, what :func:`suggest_name` says.
    """
    wrong, names = key.lower(), sorted(section_names())
    close = difflib.get_close_matches(wrong, names, n=1, cutoff=0.7)
    bare = next((name for name in inside if "." not in name and find_field(name) is not None), "")
    if bare and not close:
        return f"; {bare!r} belongs to no section"
    close += [name for name in difflib.get_close_matches(wrong, names) if name[0] == wrong[0]]
    return f"; did you mean the section {close[0]!r}?" if close else suggest_name(key)


def is_section(name: str) -> bool:
    """Return whether a name is a section, or a table of sections that users name."""
    if name.startswith(f"{DOMAIN}."):
        return find_field(name) is None  # it is a domain, or a part of one that is written without quotes
    group, _, own = name.rpartition(".")
    return name in section_names() or (group in section_groups() and bool(own))


def _names_in_groups(wrong: str) -> list[str]:
    """Return the settings of the section that a wrong name contains, as in ``gateways.zyte.price``."""
    found = []
    for group, section in section_groups().items():
        is_inside = wrong.startswith(f"{group}.")
        inner = wrong.removeprefix(f"{group}.")
        own = (inner.rpartition(".") if group == DOMAIN else inner.partition("."))[0] if is_inside else ""
        own = own or "NAME"
        found += [f"{group}.{own}.{key}" for key in section.model_fields]
    return found
