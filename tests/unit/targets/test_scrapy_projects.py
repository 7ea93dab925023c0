"""Files of Scrapy projects, as targets of a crawl."""

import sys

from gossamer.targets.spider_files import class_in_file


def test_what_lies_beside_a_spider_of_a_package_hides_no_other_module(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    package = tmp_path / "lone_shop_of_this_test" / "spiders"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (tmp_path / "scrapy.cfg").write_text("[settings]\n")
    (package / "colorsys.py").write_text("raise RuntimeError('the wrong one')\n")
    spider = package / "shop.py"
    spider.write_text("import scrapy\n\nclass Shop(scrapy.Spider):\n    name = 'shop'\n")
    assert class_in_file(spider, None).name == "shop"
    assert str(package) not in sys.path
    assert str(tmp_path) in sys.path
