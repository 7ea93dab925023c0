"""Mistakes of beginners: each has a message that names the right cause, the place and the remedy."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from gossamer.testing.shop import Shop
from gossamer.testing.site import Site, serve_in_thread, serve_until_interrupted
from kit.command_line import FAST, asked, gossamer

HEAD = """
from gossamer import Item, Request, Rule, Spider, key


class Product(Item):
    sku: str = key()
    name: str
    price: float


class ShopSpider(Spider):
    name = "shop"
    start_urls = ["{url}/catalog"]
    allowed_domains = ["127.0.0.1"]
"""
PARSE = """
    def parse(self, response):
        yield from response.follow_all(css="a.product", callback=self.parse_product)
        yield from response.follow_all(css="a.next")
"""
PRODUCT = """
    def parse_product(self, response):
        name = response.css("h1::text").get()
        yield Product(sku=response.css(".sku::text").get(), name=name, price=1.0)
"""
PRODUCTS = 27


class Mistake(NamedTuple):
    """A spider with a mistake in it, or a command, and what is said of it."""

    said: tuple[str, ...]
    code: int = 1
    spider: str = HEAD + PARSE + PRODUCT
    line: str = "crawl shop.py"
    unsaid: tuple[str, ...] = ()
    is_begun: bool = False  # it is found when there is a job already


def product(body: str) -> str:
    """The spider with another ``parse_product``."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return f"{HEAD}{PARSE}\n    def parse_product(self, response):\n{lines}"


def parse(body: str) -> str:
    """The spider with another ``parse``."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return f"{HEAD}{PRODUCT}\n    def parse(self, response):\n{lines}"


FOLLOW = "response.follow_all(css='a.product', callback=self.parse_product)"


def start(url: str) -> str:
    """The spider with another start URL."""
    return (HEAD + PARSE + PRODUCT).replace("{url}/catalog", url)


def refused(line: str, *said: str) -> Mistake:
    """A command that is wrong."""
    return Mistake(said, 2, line=line)


WRONG_URL = "start_urls of the spider 'shop' holds {!r}, which is not a URL that can be crawled: {}"


def with_line(line: str) -> str:
    """The spider with one more attribute."""
    return f"{HEAD}    {line}\n{PARSE}{PRODUCT}"


MISTAKES = {
    # ------------------------------------------------------------------ code that makes the wrong thing
    "start_requests() that yields text": Mistake(
        code=2,
        is_begun=True,
        spider=HEAD + PARSE + "\n    def start_requests(self):\n        yield self.start_urls[0]\n",
        said=("start_requests() of the spider 'shop' gave 'http://127", "not a Request: yield Request(url)"),
    ),
    "start() that returns nothing": Mistake(
        code=2,
        is_begun=True,
        spider=HEAD + PARSE + "\n    def start(self):\n        Request(self.start_urls[0])\n",
        said=("which is not a Request: is a `yield` missing?", "write `yield Request(...)`"),
    ),
    "a callback without its response": Mistake(
        spider=HEAD + "\n    def parse(self):\n        yield {}\n",
        said=("a callback is called with (self, response) and the cb_kwargs of its request; fix it, then",),
    ),
    "a callback that is called": Mistake(
        spider=parse("yield response.follow('/catalog/page/2/', self.parse_product(response))"),
        said=("not its result: write self.parse_product without the parentheses behind it (parse() in",),
    ),
    "one colon before text": Mistake(
        spider=product("yield {'a': response.css('h1:text').get()}"),
        said=("invalid CSS selector 'h1:text': unknown pseudo-class at position 7; is ::text meant?",),
    ),
    "XPath in the place of CSS": Mistake(
        spider=product("yield {'a': response.css('//h1/text()').get()}"),
        said=("invalid CSS selector '//h1/text()'", "; is xpath() meant? (parse_product() in"),
    ),
    "a selector without get()": Mistake(
        spider=product("yield {'a': response.css('h1::text')}"),
        said=("item.a[]: a Selector cannot be stored as JSON: get() gives its text, getall() the texts",),
    ),
    "a field that is misspelt": Mistake(
        spider=product("yield Product(sku='a', nam='b', price=1)"),
        said=("TypeError: Product has no field 'nam': is name meant? (parse_product() in shop.py, line 21)",),
    ),
    "fields without their names": Mistake(
        spider=product("yield Product('a', 'b', 1)"),
        said=("fields are given by name: Product(sku=..., name=...)",),
    ),
    "an item as a dict": Mistake(
        spider=product("item = Product(sku='a', name='b', price=1)\nitem['name'] = 'c'\nyield item"),
        said=("(parse_product() in shop.py, line 22): an Item has attributes: item.name; fix it, then",),
    ),
    "a price with its currency": Mistake(
        spider=product("yield Product(sku='a', name='b', price='1.50 EUR')"),
        said=("every item was dropped (27 items): 27 Product.price: not a number; `gossamer report quality",),
    ),
    "the same key everywhere": Mistake(
        code=0,
        spider=product("yield Product(sku='a', name=response.url, price=1)"),
        said=("27 items had the same key and are one; if they are different things, mark with key() what",),
    ),
    "await before a generator": Mistake(
        spider=(HEAD + PARSE + PRODUCT)
        .replace("def parse(", "async def parse(")
        .replace("yield from response", "await response"),
        said=("`for` goes through it without `await`",),
    ),
    "yield from in a coroutine": Mistake(
        code=2,
        spider=(HEAD + PARSE + PRODUCT).replace("def parse(", "async def parse("),
        said=("SyntaxError: 'yield from' inside async function; write `for one in ...: yield one`",),
    ),
    "return in a loop": Mistake(
        code=0,
        spider=parse(
            "for link in response.css('a.product'):\n    return response.follow(link, self.parse_product)"
        ),
        said=(
            "`return` ends the loop with its first response.follow(...); write `yield response.follow(...)`",
        ),
    ),
    "a list page whose selector finds nothing": Mistake(
        code=0,
        spider=parse(FOLLOW.replace("a.product", "a.produkt").join(["yield from ", ""])),
        said=(
            "parse() gave neither items nor new requests on its only page: do its selectors fit ('a.produkt'",
        ),
    ),
    "a link that is not there": Mistake(
        spider=parse("yield response.follow(response.css('a.nothing::attr(href)').get())"),
        said=("): mostly a selector that found nothing; fix it, then",),
    ),
    "a sleep that blocks": Mistake(
        code=0,
        spider=parse("import time\nyield {'url': response.url}\ntime.sleep(2.5)"),
        said=(
            "the callback ShopSpider.parse() of http://127.0.0.1:",
            "blocked every other page for at least ",
            " s (shop.py, line 23: `time.sleep(2.5)`); in an `async def`, `await asyncio.sleep(...)` waits",
        ),
    ),
    "a log of Scrapy": Mistake(
        spider=product("self.log('x')"),
        said=("no attribute 'log' (parse_product() in shop.py, line 21): a spider logs with self.log",),
    ),
    "a start page that is not there": Mistake(
        spider=start("{url}/nothing"),
        said=("no page was parsed (1 gone): the server has no such page; `gossamer explain URL` says more",),
    ),
    "a step that returns nothing": Mistake(
        line="crawl shop.py -s max_retries=0",
        spider=with_line("pipelines = [lambda item: None]"),
        said=("returned None, which is not an item: a step returns the item; fix it, then",),
    ),
    "a step whose database is away": Mistake(
        line="crawl shop.py -s retry_backoff=0.01 -s max_retries=1",
        spider=with_line("def process_item(self, item, spider): raise ConnectionError('no database')")
        + "\nShopSpider.pipelines = [ShopSpider]\n",
        said=(
            "27 pages failed in the spider's code: ConnectionError: no database (process_item() in shop.py, "
            "line 15, the pipeline step ShopSpider), tried 2 times each; when it works again, `gossamer dead",
        ),
    ),
    "a step without its spider": Mistake(
        spider=HEAD
        + PARSE
        + PRODUCT
        + "\n\nclass Save:\n    def process_item(self, item):\n        return item\n"
        "\n\nShopSpider.pipelines = [Save]\n",
        said=(
            "27 pages failed in the spider's code: in the pipeline step Save: TypeError: Save.process_item() "
            "takes 2 positional arguments but 3 were given: a step is called as process_item(item, spider); ",
        ),
    ),
    "a library that raises one error for another": Mistake(
        spider=parse("import urllib.request\nurllib.request.urlopen('http://127.0.0.1:1/')"),
        said=("Connection refused> (parse() in shop.py, line 22); fix it",),
    ),
    "a request without a URL": Mistake(
        spider=parse("yield Request(response.css('a.nothing::attr(href)').get())"),
        said=(
            "UsageError: a request's url must be a string, not None (parse() in shop.py",
            "): mostly a sel",
        ),
        unsaid=("callback 200: gossamer.core.errors",),
    ),
    "a number with its currency": Mistake(
        spider=product("yield {'price': float(response.css('.price::text').get() + ' EUR')}"),
        said=(
            "EUR' (parse_product() in shop.py, line 21): re_first(r'[\\d.]+') in the place of get() takes",
        ),
    ),
    "a callback without self": Mistake(
        spider=parse("yield from response.follow_all(css='a.product', callback=parse_product)"),
        said=("line 21): a method is named with self before it, as in self.parse_product; fix it",),
    ),
    "a required field that no item has": Mistake(
        spider=with_line("require_fields = ['prize']"),
        said=("27 Product.prize: required, but missing; is price meant?",),
    ),
    "a first request with a path": Mistake(
        code=2,
        is_begun=True,
        spider=HEAD + PARSE + "\n    def start(self):\n        yield Request('catalog')\n",
        said=("start() of the spider 'shop': 'catalog' is not an absolute URL", "/shop.py, line 21)"),
    ),
    # ------------------------------------------------------------------ attributes of a spider
    # ------------------------------------------------------------------ attributes of a spider
    "pipelines as Scrapy has them": Mistake(
        code=2,
        spider=with_line("pipelines = {'shop.Save': 300}"),
        said=("pipelines of the spider 'shop' is a dict, and has to be a list, in the order in which items",),
    ),
    "a step by a dotted name": Mistake(
        code=2,
        is_begun=True,
        spider=with_line("pipelines = ['shop.Save']"),
        said=("unknown stage 'shop.Save'; is 'shop:Save' meant?",),
    ),
    "settings that are a list": Mistake(
        code=2,
        spider=with_line("settings = ['delay']"),
        said=("settings of the spider 'shop' is a list, and has to be a dict: settings = {\"delay\": 1.0}",),
    ),
    "a name that is a list": Mistake(
        code=2,
        spider=(HEAD + PARSE).replace('name = "shop"', 'name = ["shop"]'),
        said=("ShopSpider has no name, but the list ['shop']; give it one: name = ",),
    ),
    "a star in a domain": Mistake(
        code=2,
        spider=with_line("allowed_domains = ['*.shop.example']"),
        said=("holds '*.shop.example': sub-domains belong to their domain without a star: 'shop.example'",),
    ),
    # ------------------------------------------------------------------ imports, files, options
    "an import that is missing": Mistake(
        code=2,
        spider=(HEAD + PARSE).replace("Rule, Spider", "Rule"),
        said=("NameError: name 'Spider' is not defined; is `from gossamer import Spider` missing?",),
    ),
    "a package that is missing": Mistake(
        code=2,
        spider="import no_such_package\n" + HEAD + PARSE,
        said=("No module named 'no_such_package'; install it beside gossamer (pip install ...), or put",),
    ),
    "a file that is no spider": refused("crawl items.json", "there is no file items.json; a target is a URL"),
    "an option before the command": refused("-q crawl shop.py", "options stand behind the command"),
    "an option without its value": refused("crawl shop.py -O --delay 0", "or an option before it lacks its"),
    "two targets": refused("crawl shop.py other.py", "(other.py); it is one too many"),
    # ------------------------------------------------------------------ names that are nearly right
    "required for require": Mistake(
        code=2,
        spider=with_line("required = ['h1']"),
        said=("the spider 'shop' has a list named required, the name of a method: is require meant?",),
    ),
    "a method of the name of another": Mistake(
        code=2,
        spider=HEAD + PARSE + PRODUCT + "\n    def required(self):\n        return ['h1']\n",
        said=("has a method required(self), and Gossamer calls required(self, callback): give it another",),
    ),
    "start_url for start_urls": Mistake(
        code=0,
        spider=(HEAD + PARSE + PRODUCT).replace("start_urls", "start_url"),
        said=("the spider 'shop' has an attribute start_url: is start_urls meant?", "has no start URLs"),
    ),
    "allowed_domain for allowed_domains": Mistake(
        code=0,
        spider=(HEAD + PARSE + PRODUCT).replace("allowed_domains", "allowed_domain"),
        said=("has an attribute allowed_domain: is allowed_domains meant?",),
    ),
    "custom_setting for settings": Mistake(
        code=0,
        spider=with_line("custom_setting = {'DOWNLOAD_DELAY': 2}"),
        said=("has an attribute custom_setting: is settings meant?",),
    ),
    "custom_settings for settings": Mistake(
        code=2,
        spider=with_line("custom_settings = {'DOWNLOAD_DELAY': 2}"),
        said=("has custom_settings, which Gossamer does not read; write settings", "did you mean 'delay'?"),
    ),
    "rule for rules": Mistake(
        spider=f"{HEAD}    rule = [Rule(allow='product', callback='parse_product')]\n{PRODUCT}",
        said=("has an attribute rule: is rules meant?", "ShopSpider has no method 'parse'"),
    ),
    "a start URL without a scheme": Mistake(
        code=2,
        spider=start("127.0.0.1/catalog"),
        said=(WRONG_URL.format("127.0.0.1/catalog", "is 'http://127.0.0.1/catalog' meant?"),),
    ),
    "a start URL with a slip in its scheme": Mistake(
        code=2,
        spider=start("htp://127.0.0.1/catalog"),
        said=(WRONG_URL.format("htp://127.0.0.1/catalog", "is 'http://127.0.0.1/catalog' meant?"),),
    ),
    "a start URL with a space": Mistake(
        code=2,
        spider=start("http://127.0 .0.1/"),
        said=(WRONG_URL.format("http://127.0 .0.1/", "its host has a space in it"),),
    ),
    "a start URL without a host": Mistake(
        code=2,
        spider=start("http:///catalog"),
        said=(WRONG_URL.format("http:///catalog", "it names no host behind http://"),),
    ),
    "a start URL that is a path": Mistake(
        code=2,
        spider=start("/catalog"),
        said=(WRONG_URL.format("/catalog", "it has no http:// or https:// and no host"),),
    ),
    "a start URL that is the path of a file": Mistake(
        code=2,
        spider=start("pages.v2/none.html"),
        said=(WRONG_URL.format("pages.v2/none.html", "it has no http:// or https:// and no host"),),
    ),
    "a target with a slip in its scheme": refused("crawl htp://127.0.0.1/", "is 'http://127.0.0.1/' meant?"),
    "a target without a host": refused("crawl http:///catalog", "it names no host behind http://"),
    "a spider's name for its file": refused("crawl shop", "unknown spider 'shop'; did you mean 'shop.py'?"),
    "a class for its file": refused("crawl Shop", "unknown spider 'Shop'; did you mean 'shop.py'?"),
    "a word that is nothing": refused("crawl example", "; a site is named by its URL, https://..."),
    "a file that is misspelt": refused("crawl shpo.py", "there is no file shpo.py; did you mean shop.py?"),
    "a path that looks like a host": refused("crawl pages.v2/none.html", "there is no file pages.v2/none"),
    "a folder": refused("crawl .", ". is a folder; a target is a URL, the name of a spider, or its file"),
    "a folder for a file": refused("crawl shop.py -O .", ". is a folder; name a file in it"),
    "a cron expression without quotes": refused(
        "schedule add shop 30 6 1 1 1 shop.py", 'put the cron expression in quotes, as in "30 6 * * *"'
    ),
    "a file without a command": refused(
        "shop.py -q", "unknown command 'shop.py': `gossamer crawl shop.py -q` crawls it"
    ),
    "scrapy runspider": refused("runspider shop.py -o a.json", "`gossamer crawl shop.py -o a.json` runs the"),
    "scrapy startproject": refused("startproject tutorial", "`gossamer new tutorial` makes a project"),
    "scrapy view": refused("view http://a.example/", "`gossamer fetch http://a.example/ --body > page.html`"),
    "scrapy bench": refused("bench", "`gossamer demo` crawls a small shop on this machine"),
    "scrapy check": refused("check shop", "`gossamer parse URL --spider NAME` shows the result"),
    "scrapy edit": refused("edit shop", "open the file of the spider"),
    "scrapy crawl": refused("scrapy crawl shop", "leave that word out: `gossamer crawl shop`"),
    "scrapy --nolog": refused("crawl shop.py --nolog", "No such option: --nolog; use -q for neither"),
    "scrapy -L": refused("fetch http://a.example/ -L DEBUG", "use -s log.level=LEVEL"),
    "scrapy -t": refused("crawl shop.py -t json", "use --format NAME, or the suffix of the file of -o"),
    "scrapy genspider -t": refused("genspider -t crawl a a.example", "rules = [Rule(...)] makes it a Crawl"),
    "scrapy settings --get": refused("settings --get BOT_NAME", "`gossamer settings --explain KEY` shows"),
    "scrapy genspider without a domain": refused("genspider quotes", "Missing argument 'DOMAIN'"),
    "scrapy shell without a page": refused("shell", "Missing argument 'URL'"),
    "a forgotten yield": Mistake(
        code=0,
        spider=product("Product(sku=response.css('.sku::text').get(), name='a', price=1)"),
        said=(
            "shop.py, line 21, in parse_product(): what `Product(...)` makes is not used; write `yield "
            "Product(...)`",
            "parse_product() gave neither items nor new requests on any of its 27 pages: it has no `yield`",
        ),
        unsaid=("selectors",),
    ),
    "a forgotten yield from": Mistake(
        code=0,
        spider=parse(FOLLOW),
        said=("in parse(): what `response.follow_all(...)` makes is not used; write `yield from response.",),
    ),
    "a forgotten yield from before a method": Mistake(
        code=0,
        spider=parse("for link in response.css('a.product'):\n    self.parse_product(response)"),
        said=("write `yield from self.parse_product(...)`",),
    ),
    "yield for yield from": Mistake(
        spider=parse(f"yield {FOLLOW}"),
        said=(
            "`yield response.follow_all(...)` gives a generator; write `yield from response.follow_all(...)`",
            "1 page failed in the spider's code: an item cannot be stored: a generator is not an item: "
            "`yield from` yields its items, `yield` does not",
        ),
    ),
    "yield from for yield": Mistake(
        spider=parse("yield from response.follow('/catalog/page/2/')"),
        said=("`yield from response.follow(...)` takes one thing apart; write `yield response.follow(...)`",),
    ),
    "a link as an item": Mistake(
        spider=parse("yield from response.css('a.product::attr(href)').getall()"),
        said=("a str is not an item: to follow a link, yield response.follow(url); fix it, then",),
    ),
    "a start URL on another site": Mistake(
        spider=(HEAD + PARSE + PRODUCT).replace('["127.0.0.1"]', '["shop.example"]'),
        said=(
            "no start URL was accepted (1 offsite), for example http://127.0.0.1:",
            "its host is not one of the spider's allowed_domains, nor below one of them; if it is wanted, ",
        ),
    ),
    "all links to another site": Mistake(
        code=0,
        spider=parse("yield from response.follow_all(['http://shop.example/a', 'http://shop.example/b'])"),
        said=("only page: 2 links left out (2 offsite): its host is not one of the spider's allowed",),
        unsaid=("selectors",),
    ),
    "all links deeper than they may be": Mistake(
        code=0,
        line="crawl shop.py --max-depth 0",
        said=(
            "only page: 10 links left out (10 too_deep): it is deeper than the setting max_depth allows; ",
            "--fresh with more depth takes it",
        ),
        unsaid=("selectors",),
    ),
    "a selector that finds nothing": Mistake(
        spider=product("sku = response.css('.skuu::text').get()\nyield Product(sku=sku, name='a', price=1)"),
        said=(
            "item dropped: Product.sku: nothing found by response.css('.skuu::text').get() (first on "
            "http://127.0.0.1:",
        ),
    ),
    "a selector of a dict that finds nothing": Mistake(
        spider=product("yield {'sku': response.css('.skuu::text').get()}") + "    require_fields = ['sku']\n",
        said=("item dropped: item.sku: nothing found by response.css('.skuu::text').get() (first on",),
    ),
    "a list for one value": Mistake(
        spider=product("yield Product(sku=response.css('.sku::text').getall(), name='a', price=1)"),
        said=("Product.sku: a list, not a string: getall() gives a list, get() the first value (first",),
    ),
    "a bug in a callback": Mistake(
        spider=product("yield {'name': response.css('h1::text').get().stripp()}"),
        said=(
            "27 pages failed in the spider's code: AttributeError: 'str' object has no attribute 'stripp' "
            "(parse_product() in shop.py, line 21); fix it, then `gossamer dead retry shop-1 --reason "
            "callback` and the same command",
        ),
        unsaid=("no callback gave an item",),
    ),
    "an error with line breaks": Mistake(
        spider=product("raise ValueError('bad' + chr(13) + chr(10) + 'more')"),
        said=("27 pages failed in the spider's code: ValueError: bad (parse_product() in shop.py, line 21)",),
        unsaid=("\\r",),
    ),
    "a bug that -q shows, too": Mistake(
        line="crawl shop.py -q",
        spider=product("yield {'name': response.css('h2::text').get().strip()}"),
        said=("27 pages failed", "mostly a selector that found nothing, for which get() gives None"),
    ),
}


@pytest.fixture(scope="module")
def shop() -> Iterator[Site]:
    with serve_in_thread(Shop(PRODUCTS, per_page=9)) as site:
        yield site


@pytest.mark.parametrize(
    "line", ["dashboard --port {port}", "crawl http://127.0.0.1:9/ --metrics-port {port}"]
)
def test_a_port_that_is_in_use_is_one_sentence(line: str, shop: Site, tmp_path: Path) -> None:
    port = shop.url.rpartition(":")[2]
    code = 4 if line.startswith("dashboard") else 2
    said: str = gossamer(line.replace("{port}", port), cwd=tmp_path, code=code).stderr
    text = f"at 127.0.0.1:{port} (Address already in use); choose"
    assert text in said
    assert len(said.splitlines()) == 1
    if line.startswith("crawl"):
        headline, reason = asked("status", cwd=tmp_path)["say"][:2]
        assert headline.endswith(" has no requests: its start failed.")
        assert text in reason


def test_the_shop_on_a_port_that_is_in_use_is_one_sentence(shop: Site) -> None:
    port = int(shop.url.rpartition(":")[2])
    with pytest.raises(SystemExit, match=rf"127\.0\.0\.1:{port} \(Address already in use\); choose"):
        serve_until_interrupted(Shop(1), port)


def test_a_server_without_tls_is_named_at_the_first_failure(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:  # it takes connections, and says nothing
        url = f"https://127.0.0.1:{server.getsockname()[1]}/"
        limit = ("-s", "http.connect_timeout=0.3")
        said: str = gossamer(f"fetch {url}", *limit, cwd=tmp_path, code=4).stderr
    assert (
        "the TLS handshake took too long: if the server speaks plain http on this port, write http://" in said
    )


def test_a_server_that_answers_tls_in_plain_http_is_named_at_the_first_failure(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        url = f"https://127.0.0.1:{server.server_port}/"
        said: str = gossamer(f"crawl {url}", *FAST, cwd=tmp_path, code=1).stderr
        server.shutdown()
    (dead,) = [row for row in said.splitlines() if " WARNING dead " in row]
    assert "the server speaks plain http on this port, not TLS" in dead
    assert dead.endswith("write http:// in its URL")


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(name: str, shop: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    mistake = MISTAKES[name]
    (tmp_path / "shop.py").write_text(mistake.spider.replace("{url}", shop.url))
    line = mistake.line.replace("{url}", shop.url).replace("{host}", shop.host)
    more = FAST if line.startswith("crawl") else ()
    said: str = gossamer(line, *more, cwd=tmp_path, code=mistake.code).stderr
    early = [record.getMessage() for record in caplog.records]  # what is logged before the crawl has a log
    said = "\n".join([*early, said])
    for text in mistake.said:
        assert text in said, (text, said)
    for text in ("bug in Gossamer", "error of Gossamer", " internal ", *mistake.unsaid):
        assert text not in said, (text, said)
    assert len([row for row in said.splitlines() if " ERROR " in row]) <= 1, said
    assert mistake.code != 2 or mistake.is_begun or not (tmp_path / ".gossamer").exists()
    if mistake.is_begun:
        status = asked("status", cwd=tmp_path)
        assert (status["say"][0], status["alerts"]) == ("shop-1 has no requests: its start failed.", [])
        assert any(text in status["say"][1] for text in mistake.said)


def test_an_export_without_any_item_says_so(shop: Site, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(
        f"{HEAD}\n    def parse(self, response):\n        pass\n".replace("{url}", shop.url)
    )
    gossamer("crawl shop.py", *FAST, cwd=tmp_path)
    done = gossamer("export shop", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("", "gossamer: 0 items of shop-1\n")
