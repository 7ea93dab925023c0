"""Files and pictures, as a user has them fetched: kept once, whole, under safe names, whatever is killed."""

import asyncio
import hashlib
import io
import json
import os
import signal
import subprocess
import sys

import pytest
from PIL import Image

from gossamer.config.settings import Settings
from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from gossamer.wiring.files import open_files, prune_files
from gossamer.wiring.open import open_store
from kit.command_line import FAST, asked, gossamer
from kit.environment import environment

SPIDER = """
from gossamer import FileRef, Item, Spider, key

class Product(Item):
    sku: str = key()
    image: FileRef | None = None

class Shop(Spider):
    name = "shop"
    start_urls = ["{url}/"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        sku = response.css("h1::text").get()
        yield Product(sku=sku, image=response.css("img::attr(src)").get())
        for link in response.css("a.file"):
            yield response.file(link, name=link.css("::text").get())
        yield from response.follow_all(css="a.next")
"""
PAGES = {
    "/": '<base href="/shop/"><h1>one</h1><img src="red.png#x"><a class=next href="/two">next</a>'
    '<a class=file href="/manual.pdf">Manual</a><a class=file href="/..%2f..%2fetc/passwd">../../evil</a>',
    "/two": '<h1>two</h1><img src="/shop/red.png"><a class=file href="/manual.pdf">Manual</a>'
    '<a class=file href="/breaks.bin">once</a><a class=file href="/moved">moved</a>'
    '<a class=file href="/also-moved">too</a>'
    '<a class=file href="/gone">gone</a>',
}
TOML = "max_depth = 1\nretry_backoff = 0.01\n"
MANUAL = b"%PDF-1.4 " + bytes(range(256)) * 2000
BREAKS = os.urandom(100_000)


def make_site():
    out = io.BytesIO()
    Image.new("RGB", (300, 200), "red").save(out, "PNG")
    files = {
        "/shop/red.png": ("image/png", out.getvalue()),
        "/manual.pdf": ("application/pdf", MANUAL),
        "/copy.pdf": ("application/pdf", MANUAL),
        "/breaks.bin": ("application/octet-stream", BREAKS),
        "/..%2f..%2fetc/passwd": ("../../x", b"root:x:0"),
    }
    asked_for = []

    def site(path, headers):
        asked_for.append(path)
        if path in PAGES:
            return SiteResponse(body=PAGES[path].encode())
        if path in ("/moved", "/also-moved"):
            return SiteResponse(302, b"", headers=(("Location", "/copy.pdf"),))
        if path not in files:
            return SiteResponse(404, b"no")
        if headers.get("if-none-match") == '"1"':
            return SiteResponse(304)
        kind, body = files[path]
        is_half = path == "/breaks.bin" and asked_for.count(path) == 1
        return SiteResponse(200, body, kind, (("ETag", '"1"'),), fail="half" if is_half else "")

    return site, asked_for


def check_bodies(folder):
    """The names of all that is kept; each file is what its name says."""
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    assert len([name for name in found if name.startswith("stores/")]) <= 1, "whose files they are"
    found = {name: path for name, path in found.items() if not name.startswith("stores/")}
    for name, path in found.items():
        if not name.startswith("thumbs/") and not name.endswith("~"):
            assert path.stem == hashlib.sha256(path.read_bytes()).hexdigest()
    return sorted(found)


def test_files_are_kept_once_and_whole_and_are_items(tmp_path):
    site, asked_for = make_site()
    (tmp_path / "gossamer.toml").write_text(TOML + "[files]\nthumbnails = {small = [50, 50]}\n")
    with serve_in_thread(site) as served:
        (tmp_path / "shop.py").write_text(SPIDER.replace("{url}", served.url))
        gossamer("crawl shop.py -O all.jsonl", *FAST, cwd=tmp_path)
        items = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
        products = {item["sku"]: item["image"] for item in items if "sku" in item}
        files = {item["url"].removeprefix(served.url): item for item in items if "sha256" in item}
        red = f"{served.url}/shop/red.png"
        assert products == {"one": red, "two": red}, "the form in which its file's item has it"
        assert {*files} == {
            "/shop/red.png",
            "/manual.pdf",
            "/..%2f..%2fetc/passwd",
            "/breaks.bin",
            "/moved",
            "/also-moved",
        }
        copies = {files[url]["path"] for url in ("/moved", "/also-moved", "/manual.pdf")}
        assert len(copies) == 1, "equal bytes are kept once"
        assert files["/..%2f..%2fetc/passwd"]["name"] == "../../evil"
        paths = {item["path"] for item in files.values()} | {*files["/shop/red.png"]["thumbnails"].values()}
        assert check_bodies(tmp_path / ".gossamer" / "files") == sorted(paths)
        assert {path: asked_for.count(path) for path in ("/shop/red.png", "/manual.pdf", "/breaks.bin")} == {
            "/shop/red.png": 1,
            "/manual.pdf": 1,
            "/breaks.bin": 2,
        }
        preview = asked("parse", f"{served.url}/two", "--spider", "shop.py", "-s", "delay=0", cwd=tmp_path)
        assert [request["callback"] for request in preview["requests"]] == ["(file)"] * 6
        listed = asked("files list shop", cwd=tmp_path)
        assert {file["blob"] for file in listed} < paths
        gossamer("crawl shop.py --fresh", *FAST, cwd=tmp_path)
        assert asked("files sweep --older-than 0", cwd=tmp_path)["blobs"] == 0
    assert check_bodies(tmp_path / ".gossamer" / "files") == sorted(paths), "nothing was there to be sent"


@pytest.mark.long
def test_a_kill_leaves_no_broken_file_and_after_a_sweep_no_orphan(tmp_path):
    site, asked_for = make_site()
    running = []
    (tmp_path / "gossamer.toml").write_text(TOML)

    def deadly(path, headers):
        if path == "/breaks.bin" and running:
            running.pop().send_signal(signal.SIGKILL)
        return site(path, headers)

    with serve_in_thread(deadly) as served:
        (tmp_path / "shop.py").write_text(SPIDER.replace("{url}", served.url))
        command = [sys.executable, "-m", "gossamer", "crawl", "shop.py", "-q", *FAST]
        running.append(subprocess.Popen(command, cwd=tmp_path, env=environment()))
        killed = running[0]
        assert killed.wait(30) == -signal.SIGKILL
        check_bodies(tmp_path / ".gossamer" / "files")
        gossamer("crawl shop.py", *FAST, cwd=tmp_path)
        gossamer("files sweep --older-than 0", cwd=tmp_path)
        named = {file["blob"] for file in asked("files list", cwd=tmp_path)}
    assert check_bodies(tmp_path / ".gossamer" / "files") == sorted(named)
    assert asked_for.count("/breaks.bin") >= 2
    assert not [*(tmp_path / ".gossamer" / "files-spool").iterdir()]


def test_a_data_directory_that_has_moved_is_swept(tmp_path):
    """A bug it would catch: where it was before is taken for another store whose files are there, too."""
    site, _ = make_site()
    with serve_in_thread(site) as served:
        (tmp_path / "shop.py").write_text(SPIDER.replace("{url}", served.url))
        gossamer("crawl shop.py --max-depth 0 --data before", *FAST, cwd=tmp_path)
        (tmp_path / "before").rename(tmp_path / "after")
        gossamer("crawl shop.py --fresh --data after", *FAST, cwd=tmp_path)
    assert asked("files sweep --older-than 0 --data after", cwd=tmp_path)["kept"] > 3
    assert check_bodies(tmp_path / "after" / "files")


def test_files_in_a_bucket_expire_when_no_crawl_sees_them(tmp_path, s3_url):
    site, _ = make_site()
    with serve_in_thread(site) as served:
        (tmp_path / "shop.py").write_text(SPIDER.replace("{url}", served.url))
        gossamer("crawl shop.py --max-depth 0", *FAST, "-s", f"files.url={s3_url}", cwd=tmp_path)
    said = {"files": {"url": s3_url, "days": 7}, "data": str(tmp_path / ".gossamer")}
    asyncio.run(expire_files(Settings.model_validate(said)))


async def list_names(place):
    names = [info.name async for info in place.list_blobs("")]
    return [name for name in names if not name.startswith("stores/")]


async def expire_files(settings):
    place, keeping = open_files(settings), await open_store(settings)
    try:
        names = await list_names(place)
        rows = await keeping.files.read_files()
        assert sorted(names) == sorted(row.blob for row in rows)
        assert len(names) == 3
        for row in rows:
            assert hashlib.sha256(await place.read_range(row.blob)).hexdigest() == row.sha256
        for days, left in ((6.9, 3), (7.1, 0)):
            await prune_files(settings, keeping.files, rows[0].last_seen + days * 86_400)
            assert len(await list_names(place)) == left
        assert await keeping.files.read_files() == []
    finally:
        await keeping.close()
