"""What Scrapy's tutorial and documentation show, run unchanged by Scrapy and by Gossamer: the same items."""

from pathlib import Path

import pytest

from kit import scrapy_examples
from kit.scrapy_examples.site import ExampleSite
from kit.side_by_side.items import tell_difference
from kit.side_by_side.runs import Runner, SpiderEntry, read_items
from kit.side_by_side.server import serve_site

pytestmark = pytest.mark.slow

PROJECT = Path(scrapy_examples.__file__).parent
SPIDERS = {
    "quotes.py": ["saved", "by-address", "by-follow", "authors", "tagged", "tagged:tag=2", "members"],
    "requests.py": ["scroll", "posted", "handed", "failing", "statuses", "old", "signed"],
    "shop.py": ["by-rules", "loaded", "endless", "nodes", "rows", "mapped"],
    "corners.py": [
        *(
            "told",
            "callbacks",
            "kinds",
            "steered",
            "retried",
            "limited",
            "ruled",
            "extracted",
            "named",
            "indexed",
        ),
        "dropped",
    ],
}
FILES = {
    "saved": "quotes-?.html",
    "priced": "priced.jsonl",
    "counted": "closed.txt",
    "with-files": "kept/**/*",
}
NAMES = [(file, name) for file, names in SPIDERS.items() for name in names]


@pytest.fixture(scope="module")
def by_scrapy(tmp_path_factory):
    """A folder with the items of each spider, and all files that the spiders wrote."""
    folder = tmp_path_factory.mktemp("scrapy")
    with serve_site(ExampleSite(), folder) as (place, _):
        names = [name for _, name in NAMES]
        copy, run = Runner(folder, [], 60).run_all_by_scrapy(PROJECT, names, place)
    assert run.code == 0, run.log[-2000:]
    return copy


@pytest.mark.parametrize(("file", "name"), NAMES, ids=[name for _, name in NAMES])
def test_an_example_gives_the_same_items_as_with_scrapy(file, name, by_scrapy, tmp_path):
    expected = read_items(by_scrapy / f"{name}.made.jsonl")
    assert expected or name == "saved", "the example shows nothing"
    spider, _, argument = name.partition(":")
    entry = SpiderEntry(PROJECT, Path("examples/spiders") / file, spider)
    with serve_site(ExampleSite(), tmp_path) as (place, _):
        ours = Runner(tmp_path, [], 60).run_gossamer(entry, place, [], argument=argument)
    assert ours.code == 0, ours.log[-3000:]
    assert tell_difference(expected, ours.items) == "", ours.log[-3000:]
    if name in FILES:
        written = _files(by_scrapy, FILES[name])
        assert written
        assert _files(ours.folder, FILES[name]) == written


def _files(folder, pattern):
    """The files of a folder, by their names; the lines of each in order of the alphabet."""
    found = {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.glob(pattern) if path.is_file()
    }
    return {name: sorted(content.splitlines()) for name, content in found.items()}
