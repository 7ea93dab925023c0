"""The page that a tab shows, written down: its address and its tree, at one moment."""

from __future__ import annotations

from typing import NamedTuple


class ShownPage(NamedTuple):
    """What a page is when it is read."""

    url: str = ""  # of the document, which its scripts may have changed; empty: there is no document
    text: str = ""


def write_script(most: int) -> str:
    """The expression whose value is the document's URL and its tree; ``null`` for a tree beyond ``most``."""
    return _WRITE % most


_WRITE = """(most => {
    const kind = document.doctype ? new XMLSerializer().serializeToString(document.doctype) : "";
    const tree = kind + (document.documentElement ? document.documentElement.outerHTML : "");
    return [location.href, tree.length > most ? null : tree];
})(%d)"""
