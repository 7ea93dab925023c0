"""The arguments of spiders: their types, wrong ones, and those that nobody may see."""

from __future__ import annotations

import shlex
import warnings
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pytest

from gossamer import Spider
from gossamer.core.errors import UsageError
from gossamer.policy.secret_names import is_secret
from gossamer.targets.arguments import accepted_arguments, read_arguments, target_text
from gossamer.targets.discovery import find_target

if TYPE_CHECKING:
    from nowhere import Nothing


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Shop(Spider):
    name = "shop"
    start_urls: list[str] = []
    delay: float = 2.0  # a setting
    LIMIT: int = 9
    registry: ClassVar[dict[str, int]] = {}
    pages: int = 3
    ratio: float = 0.5
    since: date | None = None
    deep: bool = False
    tags: list[str] = []
    sizes: set[int] = set()
    price: Decimal = Decimal("1.5")
    kind: Literal["new", "used"] = "new"
    stars: Literal[1, 2] | None = None
    colour: Colour = Colour.RED
    by: dict[str, int] = {}
    anything: Any = None
    later: Nothing = None
    token: str = "t0p"
    plain = "text"
    number = 3

    def parse(self, response):
        yield {}


class Base(Spider):
    city: str = ""


class Bare(Spider):
    name = "bare"
    plain = "x"


class Own(Base):
    name = "own"

    def __init__(self, category, pages: int = 1, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.category, self.pages = category, pages


class Closed(Spider):
    name = "closed"
    ignored: int = 1

    def __init__(self, pages: int = 1):
        self.pages = pages


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("pages=5", 5), ("ratio=1e3", 1000.0), ("since=2024-02-29", date(2024, 2, 29)), ("since=none", None),
        ("since=", None), ("deep=yes", True), ("deep=0", False), ("tags=a, b", ["a", "b"]), ("tags=", []),
        ('tags=["a,b"]', ["a,b"]), ("sizes=1,2,2", {1, 2}), ("price=2.50", Decimal("2.50")),
        ("kind=used", "used"), ("stars=2", 2), ("stars=none", None), ("colour=blue", Colour.BLUE),
        ('by={"a": 1}', {"a": 1}), ("anything=5", "5"), ("later=5", "5"), ("token=x", "x"), ("plain=5", "5"),
        ("number=5", "5"), ("start_urls=http://a/,http://b/", ["http://a/", "http://b/"]),
    ],
)  # fmt: skip
def test_annotations_give_the_types(text, value):
    name, _, given_ = text.partition("=")
    assert read_arguments(Shop, {name: given_}) == {name: value}
    spider = find_target(Shop, {name: given_}, None).spider
    assert (getattr(spider, name), type(getattr(spider, name))) == (value, type(value))


def test_values_of_their_type_are_taken_as_they_are():
    values = {"pages": 5, "since": date(2024, 1, 1), "tags": ["a"], "colour": Colour.BLUE}
    assert read_arguments(Shop, values) == values


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("pages=many", ("-a pages=many", "of type int", "valid integer", "'shop'")),
        ("pages=1.5", ("of type int",)),
        ("since=soon", ("-a since=soon", "of type date | none", "valid date")),
        ("deep=perhaps", ("of type bool",)),
        ("sizes=1,x", ("of type set[int]", "valid integer")),
        ("tags=[1", ("of type list[str]",)),
        ("by=x", ("of type dict[str, int]",)),
        ("kind=old", ("of type 'new' | 'used'", "'new' or 'used'")),
        ("stars=3", ("of type 1 | 2 | none",)),
        ("colour=green", ("of type 'red' | 'blue'",)),
        ("pagse=5", ("no argument 'pagse' (= '5')", "did you mean 'pages'?", "pages (int)")),
        ("delay=5", ("it is a setting: -s delay=5",)),
        ("LIMIT=5", ("no argument 'LIMIT'",)),
        ("registry=5", ("no argument 'registry'",)),
        ("parse=5", ("no argument 'parse'",)),
        ("tokens=geheim", ("no argument 'tokens' (= '***')", "did you mean 'token'?")),
    ],
)
def test_what_is_wrong_is_named(text, parts):
    name, _, given_ = text.partition("=")
    with pytest.raises(UsageError) as raised:
        find_target(Shop, {name: given_}, None)
    for part in parts:
        assert part in str(raised.value)
    assert "geheim" not in str(raised.value)


def test_a_type_that_no_text_can_be():
    class Odd(Spider):
        name = "odd"
        thing: Bare = None

    with pytest.raises(UsageError, match="thing of the spider 'odd' is a Bare, which cannot be given"):
        read_arguments(Odd, {"thing": "x"})


def test_without_annotations_anything_is_taken_as_text():
    spider = find_target(Bare, {"plain": "5", "category": "books"}, None).spider
    assert (spider.plain, spider.category) == ("5", "books")
    for name in ("parse", "start", "logger", "settings", "name", "pipelines", "_x", "a b"):
        with pytest.raises(UsageError, match="cannot take the argument"):
            find_target(Bare, {name: "x"}, None)


LOOSE = """
from gossamer import Spider

class Loose(Spider):
    name = "loose"
    city = "Rom"

    def parse(self, response):
        return {"a": self.category, "b": getattr(self, "colour", None), "c": self.logger}

class Free(Spider):
    name = "free"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
"""


def test_an_argument_that_nothing_reads_is_refused_and_the_nearest_is_named(tmp_path):
    file = tmp_path / "loose.py"
    file.write_text(LOOSE)
    loose = f"{file}:Loose"
    spider = find_target(loose, {"category": "x", "colour": "red", "city": "Bari"}, None).spider
    assert (spider.category, spider.colour, spider.city) == ("x", "red", "Bari")
    with pytest.raises(UsageError) as caught:
        find_target(loose, {"categroy": "books"}, None)
    said = str(caught.value)
    assert "the spider 'loose' has no argument 'categroy' (= 'books'); did you mean 'category'?" in said
    assert "its arguments: city (str), category (str), colour (str)" in said
    assert 'declare it in the class: categroy: str = ""' in said
    with pytest.raises(UsageError, match="it is a setting: -s delay=1"):
        find_target(loose, {"delay": "1"}, None)
    assert find_target(f"{file}:Free", {"typo": "1"}, None).spider.typo == "1", "its __init__ takes any"
    with pytest.raises(UsageError, match="no argument 'typo'"):
        find_target("https://shop.example/", {"typo": "1"}, None)


def test_an_init_of_its_own():
    spider = find_target(Own, {"category": "books", "pages": "5", "city": "Rom", "more": "x"}, None).spider
    assert (spider.category, spider.pages, spider.city, spider.more) == ("books", 5, "Rom", "x")
    with pytest.raises(UsageError, match=r"requires the argument -a category=\.\.\. \(str\)"):
        find_target(Own, {}, None)
    assert find_target(Closed, {"pages": "5"}, None).spider.pages == 5
    with pytest.raises(UsageError, match="no argument 'ignored'"):
        find_target(Closed, {"ignored": "5"}, None)


def test_an_annotated_attribute_without_a_value_has_to_be_given():
    class Account(Spider):
        name = "account"
        user: str
        pages: int = 3

    with pytest.raises(UsageError, match=r"requires the argument -a user=\.\.\. \(str\)"):
        find_target(Account, {}, None)
    assert find_target(Account, {"user": "me"}, None).spider.user == "me"

    class Stateful(Spider):
        name = "stateful"
        seen: set

        def __init__(self, **arguments):
            super().__init__(**arguments)
            self.seen = set()

    assert find_target(Stateful, {}, None).spider.seen == set()


def test_what_is_accepted_is_listed_in_its_order():
    known = accepted_arguments(Shop)
    assert not known.others
    assert [a.name for a in known.arguments.values()][:4] == ["pages", "ratio", "since", "deep"]
    assert known.arguments["token"].shown_default == "***"
    assert {"delay", "LIMIT", "registry", "name", "start_urls"}.isdisjoint(known.arguments)
    assert (
        accepted_arguments(Bare).others,
        accepted_arguments(Own).others,
        accepted_arguments(Closed).others,
    ) == (True, True, False)
    assert [a.name for a in accepted_arguments(Own).arguments.values() if a.required] == ["category"]


# --------------------------------------------------------------------------- secrets


@pytest.mark.parametrize(
    "name",
    ["token", "api_key", "apikey", "API_KEY", "password", "db_passwd", "auth", "session_cookie", "key"],
)
def test_names_of_secrets(name):
    assert is_secret(name)


@pytest.mark.parametrize("name", ["category", "author", "keyword", "monkey", "passage", "pinned", "compass"])
def test_names_of_no_secrets(name):
    assert not is_secret(name)


@pytest.mark.parametrize("secret", ["hunter2", "a b'c", "***", "\u00e4\ud800", "x" * 1000])
def test_a_secret_is_not_in_the_target_but_tells_crawls_apart(secret):
    spider = find_target(Bare, {"token": secret}, None)
    assert spider.spider.token == secret
    assert secret not in spider.text.replace("***", "", 1)
    assert spider.text == find_target(Bare, {"token": secret}, None).text
    assert spider.text != find_target(Bare, {"token": secret + "x"}, None).text


def test_a_target_that_is_read_again_is_the_same():
    text = target_text("shop", {"token": "geheim", "q": "a b"})
    assert text == "shop 'q=a b' " + text.split()[-1]
    hidden = text.partition("token=")[2]
    assert target_text("shop", {"q": "a b", "token": hidden}) == text
    assert target_text("shop", {"token": ""}) == "shop token="
    odd = {"q": "***0123abcd '", "b": "***0123abcd -a c=d"}
    assert shlex.split(target_text("shop", odd)) == ["shop", f"b={odd['b']}", f"q={odd['q']}"]


@pytest.mark.parametrize("junk", [Bare(), 5, None])
def test_what_is_no_target_is_said(junk):
    with pytest.raises(UsageError, match="cannot be crawled: give a spider's class, name or URL"):
        find_target(junk, {}, None)


async def test_a_program_that_crawls_its_own_spider_is_told_how(tmp_path):
    (tmp_path / "program.py").write_text("import asyncio\nasyncio.run(asyncio.sleep(0))\n")
    with (
        warnings.catch_warnings(action="ignore"),
        pytest.raises(UsageError, match=r'line 2: RuntimeError.*below: if __name__ == "__main__":$'),
    ):
        find_target(str(tmp_path / "program.py"), {}, None)
