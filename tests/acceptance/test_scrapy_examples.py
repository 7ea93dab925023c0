"""What Scrapy's tutorial and documentation show, run unchanged by Scrapy and by Gossamer: the same items."""

from pathlib import Path

import pytest

from gossamer.core.exits import ExitCode
from kit import scrapy_examples
from kit.scrapy_examples.site import ExampleSite
from kit.side_by_side.items import tell_difference
from kit.side_by_side.runs import Runner, SpiderEntry, read_items
from kit.side_by_side.server import serve_site

pytestmark = pytest.mark.slow

PROJECT = Path(scrapy_examples.__file__).parent
SPIDERS = {
    "quotes.py": ["saved", "by-address", "by-follow", "authors", "tagged", "tagged:tag=2", "members"],
    "requests.py": ["scroll", "posted", "handed", "failing", "statuses", "old", "signed", "counted"],
    "shop.py": ["by-rules", "loaded", "priced", "with-files", "endless", "nodes", "rows", "mapped"],
    "corners.py": [
        *("told", "callbacks", "kinds", "steered", "retried", "limited"),
        *("ruled", "extracted", "named", "indexed", "dropped", "kept"),
    ],
    "visits.py": ["redirected", "forms", "twice", "given", "given:first=2", "passed", "ended", "selected"],
    "habits.py": ["habits", "filtered", "seen", "moved", "lettered"],
    "idioms.py": ["handing", "one-item", "paged", "argued:category=3", "old-rules", "borrowing"],
}
FILES = {
    "saved": ["quotes-?.html"],
    "counted": ["closed.txt"],
    "priced": ["priced.jsonl", "names.csv"],
    "with-files": ["kept/**/*"],
    "dropped": ["events.txt"],
    "ended": ["ended.txt"],
    "habits": ["rows.txt", "*_rows.csv", "rows.jsonl", "seen.txt"],
    "moved": ["moved.txt"],
    "handing": ["names.txt"],
    "borrowing": ["out/*.csv"],
    "kept": ["own-files/**/*", "kept-kept.json", "kept.xml"],
}
CHOSEN = {"kept": ("name", "paths")}
"""The fields that ``FEED_EXPORT_FIELDS`` chooses; what a spider makes is recorded with all fields."""
MOSTLY_DEAD = {"failing"}
"""More of its requests fail than succeed, as they are meant to, and the exit code says so."""
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
    if name in CHOSEN:
        expected = [{field: item[field] for field in CHOSEN[name]} for item in expected]
    spider, _, argument = name.partition(":")
    entry = SpiderEntry(PROJECT, Path("examples/spiders") / file, spider)
    with serve_site(ExampleSite(), tmp_path) as (place, _):
        ours = Runner(tmp_path, [], 60).run_gossamer(entry, place, [], argument=argument)
    assert ours.code == (ExitCode.DEAD_LETTERS if name in MOSTLY_DEAD else ExitCode.OK), ours.log[-3000:]
    assert tell_difference(expected, ours.items) == "", ours.log[-3000:]
    if name in FILES:
        for pattern in FILES[name]:
            written = _files(by_scrapy, pattern)
            assert written
            assert _files(ours.folder, pattern) == written, ours.log[-3000:]


def _files(folder, pattern):
    """The files of a folder, by their names; the lines of each in order of the alphabet."""
    files = [path for path in folder.glob(pattern) if path.is_file()]
    return {str(path.relative_to(folder)): sorted(path.read_bytes().splitlines()) for path in files}
