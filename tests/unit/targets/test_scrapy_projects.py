"""Files of Scrapy projects, as targets of a crawl."""

import sys

import pytest

from gossamer.core.errors import UsageError
from gossamer.targets.scrapy_files import find_project_spiders
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


@pytest.fixture
def two_projects(tmp_path, monkeypatch):
    """One ``scrapy.cfg`` for two projects, each of which has a spider ``shop``."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    lines = ["[settings]"]
    for name in ("default", "other"):
        package = f"{name}_of_{tmp_path.name}"
        folder = tmp_path / package
        folder.mkdir()
        (folder / "__init__.py").touch()
        (folder / "settings.py").write_text(f"SPIDER_MODULES = ['{package}.spiders']\nDOWNLOAD_DELAY = 7\n")
        (folder / "spiders.py").write_text(
            f"import scrapy\n\nclass Shop(scrapy.Spider):\n    name = 'shop'\n    of = '{name}'\n"
        )
        lines.append(f"{name} = {package}.settings")
    (tmp_path / "scrapy.cfg").write_text("\n".join(lines))
    return tmp_path


def owner_of(found):
    spiders, broken = found
    assert broken == []
    return {name: spider.scrapy_class.of for name, spider in spiders.items()}


def test_the_environment_chooses_among_the_projects_of_one_file(two_projects, monkeypatch):
    assert owner_of(find_project_spiders(two_projects)) == {"shop": "default"}
    monkeypatch.setenv("SCRAPY_PROJECT", "other")
    assert owner_of(find_project_spiders(two_projects)) == {"shop": "other"}
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", f"default_of_{two_projects.name}.settings")
    assert owner_of(find_project_spiders(two_projects)) == {"shop": "default"}, "it goes before the project"


def test_a_project_that_is_not_there_is_an_error(two_projects, monkeypatch):
    """Scrapy would crawl without the settings of any project."""
    monkeypatch.setenv("SCRAPY_PROJECT", "shops")
    with pytest.raises(UsageError, match=r"'shops'.*scrapy\.cfg.*default, other"):
        find_project_spiders(two_projects)
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "nowhere.settings")
    with pytest.raises(UsageError, match=r"'nowhere\.settings' of SCRAPY_SETTINGS_MODULE"):
        find_project_spiders(two_projects)


def test_the_settings_that_the_environment_names_need_no_project_file(two_projects, monkeypatch):
    (two_projects / "scrapy.cfg").unlink()
    lone = two_projects / "lone.py"
    lone.write_text("import scrapy\n\nclass Lone(scrapy.Spider):\n    name = 'lone'\n")
    assert find_project_spiders(two_projects) == ({}, [])
    assert "delay" not in class_in_file(lone, None)().settings
    sys.path.insert(0, str(two_projects))
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", f"other_of_{two_projects.name}.settings")
    assert owner_of(find_project_spiders(two_projects)) == {"shop": "other"}
    assert class_in_file(lone, None)().settings["delay"] == 7


def test_a_file_that_asks_for_its_project_chooses_none_for_others(two_projects, monkeypatch):
    monkeypatch.chdir(two_projects)
    asking = two_projects / "asking.py"
    asking.write_text(
        "import scrapy\nfrom scrapy.utils.project import get_project_settings\n"
        "class Asking(scrapy.Spider):\n    name = get_project_settings()['SPIDER_MODULES'][0]\n"
    )
    monkeypatch.setenv("SCRAPY_PROJECT", "other")
    assert class_in_file(asking, None).name == f"other_of_{two_projects.name}.spiders"
    monkeypatch.delenv("SCRAPY_PROJECT")
    assert owner_of(find_project_spiders(two_projects)) == {"shop": "default"}
