"""One parameter in the query of a URL: read, or changed without touching anything else."""

from __future__ import annotations

from urllib.parse import quote_plus, unquote_plus


def read_parameter(url: str, name: str) -> str | None:
    """The value of the first parameter of a name; ``None``: there is none."""
    query = url.partition("#")[0].partition("?")[2]
    for part in query.split("&"):
        key, _, value = part.partition("=")
        if part and unquote_plus(key) == name:
            return unquote_plus(value)
    return None


def set_parameter(url: str, name: str, value: str) -> str:
    """The URL, without fragment, with this value of a parameter: where the first one was, or at the end."""
    place, _, query = url.partition("#")[0].partition("?")
    pair = f"{quote_plus(name)}={quote_plus(value)}"
    parts = [part for part in query.split("&") if part]
    names = [unquote_plus(part.partition("=")[0]) for part in parts]
    if name not in names:
        return f"{place}?{'&'.join([*parts, pair])}"
    first = names.index(name)
    kept = [part for at, part in enumerate(parts) if at < first or names[at] != name]
    return f"{place}?{'&'.join([*kept[:first], pair, *kept[first:]])}"


def drop_parameter(url: str, name: str) -> str:
    """The URL, without fragment, and without any parameter of a name."""
    place, _, query = url.partition("#")[0].partition("?")
    kept = [part for part in query.split("&") if part and unquote_plus(part.partition("=")[0]) != name]
    return f"{place}?{'&'.join(kept)}" if kept else place
