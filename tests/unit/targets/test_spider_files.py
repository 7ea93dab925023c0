"""Spiders in files, whatever they are called."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from gossamer.targets.spider_files import spiders_in_file

SPIDER = """
from gossamer import Spider


class Shop(Spider):
    name = "shop"
"""


@pytest.mark.parametrize("name", ["shop.py", "my.shop.py", ".shop.py", "__main__.py", "xlsxwriter.py"])
def test_a_file_hides_no_library_and_may_have_any_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bug it would catch: what is imported when a crawl ends is the spider, and not the library."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "xlsxwriter", raising=False)
    (tmp_path / name).write_text(SPIDER)
    (kind,) = spiders_in_file(tmp_path / name)
    assert kind.name == "shop"
    assert str(tmp_path) in sys.path
    assert str(tmp_path) not in str(importlib.import_module("xlsxwriter").__file__)
