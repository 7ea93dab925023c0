"""The page of misbehaviours matches the code, and every row has a test.

``python tests/docs/test_misbehaviours_page.py`` rewrites the page.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from gossamer.testing.badroutes import all_routes

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/misbehaviours.md"
HOSTILE = ROOT / "tests/acceptance/hostile"
NETWORK = {*range(1, 23), *range(28, 35)}
CONTENT = {*range(23, 28), *range(35, 46), *range(50, 53), 54, 66, 69, *range(71, 74), 75}

ROWS = {
    1: "headers that never end",
    2: "a body that stalls or drips",
    3: "a body without end",
    4: "a Content-Length that is wrong",
    5: "broken chunks, a million of them",
    6: "header bombs and odd headers",
    7: "a body of 100 MB",
    8: "bombs in every encoding, nested, on errors, redirects and robots.txt",
    9: "an encoding that is cut short, wrong or a flood",
    10: "redirects without end",
    11: "redirects to other hosts and ports",
    12: "from https to http",
    13: "a Location that is odd or missing",
    14: "methods and bodies after a redirect",
    15: "certificates and handshakes",
    16: "names that do not resolve",
    17: "IPv6, dual stack, addresses within addresses",
    18: "connections that are reset or closed",
    19: "answers that are not HTTP",
    20: "hosts that ask for time",
    21: "walls: sign in, prove to be human, soft 404",
    22: "cookies: surplus ones, large ones, those of another site",
    28: "base elements",
    29: "refreshes",
    30: "schemes that are not pages",
    31: "references that only a browser can read",
    32: "hosts in disguise, hosts that are not hosts",
    33: "paths that look alike",
    34: "giant URLs",
}

TESTED = {
    8: "robots_unreachable",
    11: "guard robots bad_redirect",
    12: "redirect",
    14: "redirect",
    15: "tls connect success",
    16: "dns dns_temporary timeout_connect host_down",
    17: "success guard",
    18: "connect",
    21: "missing",
    29: "redirect_limit",
    32: "guard",
}
"""Additional endings that a row's test checks beyond those of its routes."""

INTRO = """\
# Misbehaviours

This page lists hostile and broken inputs from the web, and the results of a crawl that meets them. A
*route* is a path of the bad site, which Gossamer ships for your own tests:

```python
from gossamer import Spider, crawl
from gossamer.testing.badsite import BadSite

async with BadSite() as site:

    class Probe(Spider):
        name = "probe"
        start_urls = [site.url("redirect_no_location")]

    result = await crawl(Probe, max_retries=0)
    assert (result.pages, result.dead) == (0, 1)
    assert site.hits("redirect_no_location") == 1
```

The column *ends in* shows the final entry in the ledger: `success`, `redirect`, or the class of the fault
(`gossamer attempts`, `gossamer dead list`). In every case, other pages continue, every page has a limit
of attempts, the event loop is blocked for at most 0.2 s, and memory grows by less than 300 MB.

`python tests/docs/test_misbehaviours_page.py` writes this page; a test fails if the page is out of date.
"""


def found_by_row() -> dict[int, list[str]]:
    """Return the names of all tests of each row."""
    found: dict[int, list[str]] = defaultdict(list)
    for file in sorted(HOSTILE.glob("test_*.py")):
        for name, number in re.findall(
            r"^(?:async )?def (test_row_(\d+)\w*)\(", file.read_text(), re.MULTILINE
        ):
            found[int(number)].append(name)
    return found


def words(values: object) -> str:
    return ", ".join(f"`{value}`" for value in values)


def rows() -> list[str]:
    lines = ["| row | input | ends in | routes | tests |", "|---|---|---|---|---|"]
    for number, tests in sorted(found_by_row().items()):
        own = [route for route in all_routes().values() if route.row == number]
        endings = {str(ending) for route in own for ending in route.ends_in} | set(
            TESTED.get(number, "").split()
        )
        what = ROWS.get(number) or tests[0].removeprefix(f"test_row_{number:02}_").replace("_", " ")
        cells = (what, words(sorted(endings)), words(route.name for route in own), words(tests))
        lines.append(f"| {number} | {' | '.join(cells)} |")
    return lines


def listed() -> list[str]:
    lines = ["| route | behaviour | a fetcher's answer | names below it |", "|---|---|---|---|"]
    for route in all_routes().values():
        answer = " or ".join(f"`{one}`" for one in sorted(map(str, route.expected)))
        about = route.about.replace("``", "`").replace("|", "\\|")
        lines.append(f"| `{route.name}` | {about} | {answer} | {words(route.variants)} |")
    return lines


def written() -> str:
    """The page."""
    parts = [INTRO, "## By row\n", *rows(), "\n## All routes\n", *listed()]
    return "\n".join(parts) + "\n"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == written(), f"run python {Path(__file__).relative_to(ROOT)}"


def test_every_row_has_a_test() -> None:
    found = set(found_by_row())
    assert found >= NETWORK, sorted(NETWORK - found)
    if (HOSTILE / "test_content_rows.py").exists():
        assert found >= CONTENT, sorted(CONTENT - found)


def test_every_row_of_the_network_has_a_route_or_an_ending() -> None:
    named = {route.row for route in all_routes().values()} | set(TESTED)
    assert named >= NETWORK, sorted(NETWORK - named)
    assert set(ROWS) == NETWORK


if __name__ == "__main__":
    PAGE.write_text(written())
