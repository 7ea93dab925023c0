"""Names that Scrapy has dropped, and how they are found."""

from __future__ import annotations

import importlib
import sys

import pytest
import scrapy
import scrapy.linkextractors.lxmlhtml
import scrapy.spiders
from scrapy.settings import Settings

from gossamer.adapters.scrapy import removed
from gossamer.adapters.scrapy.aliases import MODULES, install_aliases


@pytest.fixture(autouse=True)
def installed() -> None:
    install_aliases()
    install_aliases()


@pytest.mark.parametrize("name", MODULES)
def test_every_alias_leads_somewhere(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__name__ != name
    assert module.__spec__ is not None
    assert module.__spec__.name == module.__name__, "the real module is as it was"
    assert sys.modules[module.__name__] is module


@pytest.mark.parametrize(
    "path",
    [
        "scrapy.contrib.spiders:Rule",
        "scrapy.contrib.linkextractors.sgml:SgmlLinkExtractor",
        "scrapy.contrib.linkextractors:LinkExtractor",
        "scrapy.contrib.loader.processor:MapCompose",
        "scrapy.contrib.loader:ItemLoader",
        "scrapy.contrib.pipeline.images:ImagesPipeline",
        "scrapy.contrib.exporter:JsonItemExporter",
        "scrapy.contrib.downloadermiddleware.useragent:UserAgentMiddleware",
        "scrapy.contrib.closespider:CloseSpider",
        "scrapy.spider:BaseSpider",
        "scrapy.item:BaseItem",
        "scrapy.log:msg",
        "scrapy.selector:HtmlXPathSelector",
        "scrapy.spiders.init:InitSpider",
        "scrapy.utils.python:to_native_str",
        "scrapy.utils.request:request_fingerprint",
        "scrapy.utils.url:canonicalize_url",
        "scrapy.utils.markup:remove_tags",
        "scrapy.utils.misc:create_instance",
        "scrapy.utils.reqser:request_to_dict",
        "scrapy:BaseSpider",
    ],
)
def test_names_of_old_files(path: str) -> None:
    module, _, name = path.partition(":")
    assert hasattr(importlib.import_module(module), name)


def test_what_was_never_there_is_not_there_now() -> None:
    for name in ("scrapy.contrib.nonsense", "scrapy.nonsense", "scrapy.contrib.spiders.nonsense"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)


def test_the_settings_of_the_project_are_found_by_the_old_name() -> None:
    removed.open_settings(Settings({"OWN": 5}))
    sys.modules.pop("scrapy.conf", None)
    assert importlib.import_module("scrapy.conf").settings["OWN"] == 5


def test_start_requests_of_the_base_are_the_start_urls() -> None:
    class Own(scrapy.Spider):
        name = "own"
        start_urls = ["http://a.example/"]

        def make_requests_from_url(self, url: str) -> scrapy.Request:
            return scrapy.Request(url + "made")

    (request,) = Own().start_requests()
    assert request.url == "http://a.example/made"
    plain = scrapy.Spider(name="plain", start_urls=["http://a.example/"])
    (request,) = plain.start_requests()
    assert (request.url, request.dont_filter) == ("http://a.example/", True)
