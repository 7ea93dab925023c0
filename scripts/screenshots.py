"""Pictures of the dashboard: `python scripts/screenshots.py`, or `make screenshots`.

Every view at 1440 and 390 pixels, light and dark, into `.cache/screenshots`: `crawl-*` is a real crawl of
the shop that is shipped, under way on this machine; `fleet-*` is the page over the made-up answers of the
tests, a busy fleet. With `--docs` those that the documentation shows go into `docs/assets/dashboard`.
"""

from __future__ import annotations

import argparse
import base64
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from gossamer.testing.site import serve_in_thread  # noqa: E402 - where the path is set
from kit.dashboard.canned_answers import VIEWS, answer  # noqa: E402
from kit.dashboard.canned_server import serve_canned  # noqa: E402
from kit.dashboard.hostile_shop import HostileShop  # noqa: E402
from kit.dashboard.served import serve_dashboard  # noqa: E402
from kit.dashboard.visitor import CHROMIUM, Visitor  # noqa: E402

PLACE = ROOT / ".cache" / "screenshots"
DOCS = ROOT / "docs" / "assets" / "dashboard"
SHOWN = (
    "fleet-overview-1440-light",
    "fleet-job-1440-light",
    "fleet-hosts-1440-dark",
    "fleet-errors-1440-light",
    "fleet-dead-1440-dark",
    "fleet-job-390-dark",
)
"""The views that the documentation shows."""
MOST_BYTES = 600_000
SIZES = ((1440, 900), (390, 844))
OF_JOB = ("", "/hosts", "/errors", "/dead", "/items", "/attempts", "/settings")
UNDER_WAY_MS = 45_000
"""A crawl that is looked at has gone on for so long: three steps of its charts."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--docs", action="store_true", help="also write those of the documentation")
    wanted = options.parse_args()
    PLACE.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM)
        with serve_canned(answer) as site:
            take_all(browser, site.url, "fleet", VIEWS)
        with crawl_under_way(browser) as (url, job):
            take_all(browser, url, "crawl", ["/", "/new", *(f"/jobs/{job}{view}" for view in OF_JOB)])
        if wanted.docs:
            write_docs(browser)
        browser.close()


@contextmanager
def crawl_under_way(browser: Browser) -> Iterator[tuple[str, str]]:
    """Serve a dashboard with a job that was started in it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serve_in_thread(HostileShop(3000)) as shop,
        serve_dashboard(Path(folder), "-s", "dashboard.allow_private=true") as url,
        Visitor(browser, url) as someone,
    ):
        page = someone.go("/new")
        page.get_by_label("What to crawl").fill(shop.url + "/")
        page.get_by_label("Seconds between two requests to a host").fill("0.1")
        page.get_by_role("button", name="Start the crawl").click()
        page.wait_for_url("**/jobs/*", timeout=60_000)
        page.wait_for_timeout(UNDER_WAY_MS)
        yield url, page.url.rsplit("/", 1)[1]
        page.get_by_role("button", name="Cancel").click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        page.wait_for_timeout(2000)


def take_all(browser: Browser, url: str, what: str, paths: list[str]) -> None:
    """Every one of these views, in both sizes and both themes."""
    for width, height in SIZES:
        for scheme in ("light", "dark"):
            with Visitor(browser, url, width=width, height=height, scheme=scheme) as someone:
                for path in paths:
                    page = someone.go(path)
                    page.keyboard.press(".")  # numbers that stand still
                    page.screenshot(path=PLACE / f"{what}-{name_of(path)}-{width}-{scheme}.png")
    print(f"{what}: {len(paths)} views in {PLACE}")


def name_of(path: str) -> str:
    """Return the name of a view's picture."""
    address, _, query = path.partition("?")
    parts = address.strip("/").split("/")
    name = {"": "overview", "jobs": parts[2] if len(parts) > 2 else "job"}.get(parts[0], parts[0])
    return f"{name}-asked" if name == "page" and query else name


def write_docs(browser: Browser) -> None:
    """Small pictures for the documentation."""
    DOCS.mkdir(parents=True, exist_ok=True)
    page = browser.new_page()
    sizes = [(DOCS / f"{name}.webp").write_bytes(to_webp(page, PLACE / f"{name}.png")) for name in SHOWN]
    page.close()
    print(f"{len(sizes)} pictures, {sum(sizes):,} bytes in {DOCS}")
    if sum(sizes) > MOST_BYTES:
        raise SystemExit(f"more than {MOST_BYTES:,} bytes: take fewer, or a lower quality")


TO_WEBP = """async text => {
  const picture = new Image();
  picture.src = `data:image/png;base64,${text}`;
  await picture.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [picture.width, picture.height];
  canvas.getContext('2d').drawImage(picture, 0, 0);
  return canvas.toDataURL('image/webp', 0.82).split(',')[1];
}"""


def to_webp(page: Page, picture: Path) -> bytes:
    """A picture as WebP: the browser can do it."""
    return base64.b64decode(page.evaluate(TO_WEBP, base64.b64encode(picture.read_bytes()).decode()))


if __name__ == "__main__":
    main()
