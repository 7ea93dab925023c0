"""Scrapy's pipelines for files and images store the same files there as here, by the rules of the crawl."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import pytest
from PIL import Image

from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit.scrapy_runs import run_gossamer, run_scrapy

SPIDER = """
import scrapy
from itemadapter import ItemAdapter
from scrapy.exceptions import DropItem
from scrapy.pipelines.files import FilesPipeline
from scrapy.pipelines.images import ImagesPipeline


class Named(FilesPipeline):
    def get_media_requests(self, item, info):
        for number, url in enumerate(ItemAdapter(item).get("named_urls", [])):
            yield scrapy.Request(url, meta={"number": number}, headers={"X-Wanted": "yes"})

    def file_path(self, request, response=None, info=None, *, item=None):
        return f"{item['name']}/{request.meta['number']}-{request.url.rpartition('/')[2]}"

    def item_completed(self, results, item, info):
        if "named_urls" not in item:
            return item
        paths = [value["path"] for ok, value in results if ok]
        if not paths:
            raise DropItem("no file at all")
        item["named"] = paths
        item["missed"] = [type(value.value).__name__ for ok, value in results if not ok]
        return item


class Stored(scrapy.Item):
    name = scrapy.Field()
    image_urls = scrapy.Field()
    images = scrapy.Field()


class Media(scrapy.Spider):
    name = "media"
    custom_settings = {
        "ITEM_PIPELINES": {FilesPipeline: 1, ImagesPipeline: 2, Named: 3},
        "FILES_STORE": "files", "IMAGES_STORE": "images", "IMAGES_THUMBS": {"small": (8, 8)},
        "IMAGES_MIN_WIDTH": 4, "NAMED_FILES_STORE": "files", "MEDIA_ALLOW_REDIRECTS": False,
    }

    def start_requests(self):
        yield scrapy.Request(self.url + "/")

    def parse(self, response):
        at = response.urljoin
        files = [at("/a.txt"), at("/b.bin"), at("/gone"), at("/moved"), at("/a.txt")]
        yield {"name": "files", "file_urls": files}
        yield {"name": "again", "file_urls": [at("/a.txt")]}
        images = [at("/large.png"), at("/tiny.png"), at("/a.txt"), at("/large.jpg")]
        yield Stored(name="images", image_urls=images)
        yield {"name": "own", "named_urls": [at("/a.txt"), at("/gone"), at("/secret")]}
        yield {"name": "nothing", "named_urls": [at("/gone")]}
        yield {"name": "plain"}
"""


def picture(width: int, kind: str) -> bytes:
    made = Image.new("RGB", (width, 12), (200, 30, 30))
    out = io.BytesIO()
    made.save(out, kind)
    return out.getvalue()


class MediaSite:
    """A page, and files of several kinds."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        """The answer to one request."""
        self.asked.append(path)
        if path == "/robots.txt":
            return SiteResponse(200, b"User-agent: *\nDisallow: /b.bin\n")
        if path == "/":
            return SiteResponse(200, b"<!doctype html><title>Files</title>")
        if path == "/a.txt" or (path == "/secret" and headers.get("x-wanted") == "yes"):
            return SiteResponse(200, b"text of " + path.encode(), (("Content-Type", "text/plain"),))
        if path == "/b.bin":
            return SiteResponse(200, bytes(range(256)) * 40, (("Content-Type", "application/octet-stream"),))
        if path == "/moved":
            return SiteResponse(302, headers=(("Location", "/a.txt"),))
        if path == "/large.png":
            return SiteResponse(200, picture(40, "PNG"), (("Content-Type", "image/png"),))
        if path == "/large.jpg":
            return SiteResponse(200, picture(30, "JPEG"), (("Content-Type", "image/jpeg"),))
        if path == "/tiny.png":
            return SiteResponse(200, picture(2, "PNG"), (("Content-Type", "image/png"),))
        return SiteResponse(404, b"no")


def files_of(folder: Path) -> dict[str, bytes]:
    places = (folder / "files", folder / "images")
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for place in places
        for path in sorted(place.rglob("*"))
        if path.is_file()
    }


@pytest.mark.long
def test_files_and_images_are_stored_as_in_scrapy(tmp_path: Path) -> None:
    site = MediaSite()
    made = []
    with serve_in_thread(site) as served:
        for name, crawl, again in (("scrapy", run_scrapy, ()), ("gossamer", run_gossamer, ("--fresh",))):
            folder = tmp_path / name
            folder.mkdir()
            file = folder / "spider.py"
            file.write_text(SPIDER)
            first = crawl(file, url=served.url)
            second = crawl(file, *again, url=served.url)
            made.append((first, second, files_of(folder)))
    (wanted, wanted_again, files), (given, given_again, given_files) = made
    assert len(wanted) == 5
    assert {file["status"] for item in wanted for file in item.get("files", ())} == {"downloaded"}
    assert {file["status"] for item in wanted_again for file in item.get("files", ())} == {"uptodate"}
    assert given == wanted
    assert given_again == wanted_again
    assert len(files) == 8
    assert given_files == files


def test_files_that_robots_txt_forbids_are_not_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "spider.py"
    file.write_text(SPIDER)
    site = MediaSite()
    with serve_in_thread(site) as served:
        given = run_gossamer(file, "-s", "robots=true", url=served.url)
    assert "/b.bin" not in site.asked
    assert "/a.txt" in site.asked
    (files,) = (item["files"] for item in given if item["name"] == "files")
    assert all(not one["url"].endswith("/b.bin") for one in files)


def test_half_a_file_is_none(tmp_path: Path) -> None:
    file = tmp_path / "spider.py"
    file.write_text(SPIDER)
    with serve_in_thread(MediaSite()) as served:
        given = run_gossamer(file, "-s", "http.max_size_bytes=5000", url=served.url)
    (files,) = (item["files"] for item in given if item["name"] == "files")
    assert {one["url"].rpartition("/")[2] for one in files} == {"a.txt"}
