"""Pages whose Content-Type is wrong are read as browsers read them, and what was not read is counted."""

import json

from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit.command_line import FAST, asked, gossamer

TYPES = [
    ("text/html charset=utf-8",),
    ("text/html, text/html",),
    ("text/plain", "text/html"),
    ("html",),
    ("text/html;charset=utf-8", "*/*"),
    ("",),
]
OTHERS = {"/picture": ("application/octet-stream", b"\x00\x01"), "/data": ("application/json", b"[1]")}


def app(path, headers):
    if path in OTHERS:
        return SiteResponse(200, OTHERS[path][1], OTHERS[path][0])
    if path.startswith("/type"):
        first, *more = TYPES[int(path[5:])]
        body = f'<html><a href="/found{path[5:]}">x</a>'.encode()
        return SiteResponse(200, body, first, tuple(("Content-Type", one) for one in more))
    links = [*OTHERS, *(f"/type{number}" for number in range(len(TYPES)))] if path == "/" else []
    return SiteResponse(200, "".join(f"<a href={link}>x</a>" for link in links).encode())


def test_links_are_followed_and_what_was_not_read_is_counted(tmp_path):
    with serve_in_thread(app) as site:
        done = gossamer(f"crawl {site.url} --json", *FAST, cwd=tmp_path)
        found = json.loads(done.stdout)
        job = found["job"]
        paths = site.log.count_paths()
    assert sorted(path for path in paths if path.startswith("/found")) == [f"/found{n}" for n in range(6)]
    assert (found["pages"], found["cut_pages"]) == (1 + 2 * len(TYPES), {"not_read": len(OTHERS)})
    rows = asked(f"attempts {job} --flag not_read", cwd=tmp_path)
    assert {row["url"].removeprefix(site.url) for row in rows} == {*OTHERS}


def test_the_summary_says_where_they_are_listed(tmp_path):
    with serve_in_thread(app) as site:
        said = gossamer(f"crawl {site.url}", *FAST, cwd=tmp_path).stderr
    (line,) = (line for line in said.splitlines() if line.startswith("not read"))
    job = site.url.removeprefix("http://").replace(":", "-") + "-1"
    assert line.split(maxsplit=2)[2] == f"2 pages: `gossamer attempts {job} --flag not_read`"
