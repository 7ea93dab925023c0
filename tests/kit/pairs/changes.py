"""How single features change the outcome of a crawl of the site with every kind of page."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from kit.pairs.outcome import Outcome, page_item
from kit.pairs.site import GUARDED, MANUALS, MEMBERS, PICTURES, manual, picture

REFUSED = ("/members/", "/members/1")
"""Pages of members that visitors come to."""


def nothing(plain: Outcome) -> Outcome:
    """As it was."""
    return plain


def read_members_pages(plain: Outcome) -> Outcome:
    """Pages behind the log-in are read, instead of the log-in's own page."""
    titles = {"/members/": "Members"} | {f"/members/{n}": f"Member {n}" for n in range(1, MEMBERS + 1)}
    pages = {path for path in plain.pages if not path.startswith("/login")} | {*titles}
    letters = {path: why for path, why in plain.letters.items() if path not in titles}
    return replace(plain, pages=pages, items=plain.items | _items(titles), letters=letters)


def refuse_log_in_pages(plain: Outcome) -> Outcome:
    """A redirect to a log-in is not followed."""
    pages = {path for path in plain.pages if not path.startswith("/login?")}
    return replace(plain, pages=pages, letters={**plain.letters, **dict.fromkeys(REFUSED, "blocked")})


def close_page_of_visitors(plain: Outcome) -> Outcome:
    """A page that always answers 401 is taken for one that its visitor may not see."""
    return replace(plain, letters={**plain.letters, "/dead/401": "logged_out"})


def read_log_in_page(plain: Outcome) -> Outcome:
    """The spider itself fetches the page of the log-in."""
    return replace(plain, pages=plain.pages | {"/login"})


def read_guarded_pages(plain: Outcome) -> Outcome:
    """Pages that refuse plain clients are read."""
    titles = {f"/guarded/{number}": f"Guarded {number}" for number in range(1, GUARDED + 1)}
    failed = {_letter(path) for path in titles}
    letters = {path: reason for path, reason in plain.letters.items() if path not in titles}
    items = (plain.items - failed) | _items(titles)
    return replace(plain, pages=plain.pages | {*titles}, letters=letters, items=items)


def follow_everything(plain: Outcome) -> Outcome:
    """Links marked nofollow are followed."""
    titles = {f"/nofollow/{number}": f"Nofollow {number}" for number in (1, 2)}
    return replace(plain, pages=plain.pages | {*titles}, items=plain.items | _items(titles))


def miss_the_circle(plain: Outcome) -> Outcome:
    """A redirect to a known page is not followed, so that nothing is known of its circle."""
    return replace(plain, letters={path: why for path, why in plain.letters.items() if path != "/moved/loop"})


def end_the_circle(plain: Outcome) -> Outcome:
    """A redirect that leads back to itself ends without a word."""
    return replace(miss_the_circle(plain), items=plain.items - {_letter("/moved/loop")})


def add_files(plain: Outcome) -> Outcome:
    """Pictures and manuals are items."""
    pictures = (_file(f"/img/{n}.png", picture(f"{n}.png"), "image/png") for n in range(PICTURES))
    manuals = (_file(f"/manual/{n}.pdf", manual(f"{n}.pdf"), "application/pdf") for n in range(MANUALS))
    return replace(plain, items=plain.items | {*pictures, *manuals})


def name_files_in_items(plain: Outcome) -> Outcome:
    """Each product says which two files it has."""
    items = {
        json.dumps({**json.loads(item), "file_urls": 2, "files": 2}, sort_keys=True)
        if "sku" in item
        else item
        for item in plain.items
    }
    return replace(plain, items=items)


def _items(titles: dict[str, str]) -> set[str]:
    return {page_item(path, title) for path, title in titles.items()}


def _letter(path: str) -> str:
    return json.dumps({"failed": path})


def _file(path: str, body: bytes, kind: str) -> str:
    sha256 = hashlib.sha256(body).hexdigest()
    fields = {"url": path, "sha256": sha256, "size": len(body), "type": kind, "name": ""}
    return json.dumps(fields, sort_keys=True)
