"""The shop and the truth about it."""

import gzip
import json
import re
import subprocess
import sys
from collections import deque
from urllib.parse import urljoin, urlsplit
from urllib.request import urlopen

import pytest
from lxml import etree, html

from gossamer.testing.answers import compress_answers
from gossamer.testing.shop import CATEGORIES, Shop

HOST = {"host": "shop.example"}
BASE = "http://shop.example/"


def get(shop, path):
    return shop(path, HOST)


def page(shop, path):
    answer = get(shop, path)
    assert answer.status == 200
    return html.fromstring(answer.body.decode())


def reachable(shop):
    """Every answer that links lead to, by path with query."""
    answers, queue = {}, deque(["/"])
    while queue:
        path = queue.popleft()
        if path in answers:
            continue
        answer = answers[path] = get(shop, path)
        places = [value for name, value in answer.headers if name == "Location"]
        if answer.status == 200:
            places += html.fromstring(answer.body.decode()).xpath("//a/@href")
        for place in places:
            url = urlsplit(urljoin(BASE + path.lstrip("/"), place))
            if url.netloc == "shop.example":
                queue.append(url.path + (f"?{url.query}" if url.query else ""))
    return answers


@pytest.mark.parametrize("products", [0, 1, 20, 21, 90])
def test_pages_show_exactly_the_truth(products):
    shop = Shop(products, page_bytes=2000)
    found = {}
    for path, answer in reachable(shop).items():
        if path.startswith("/product/"):
            tree = html.fromstring(answer.body.decode())
            sku, name, price = (
                tree.xpath(x)[0].text for x in ("//p[@class='sku']", "//h1", "//p[@class='price']")
            )
            data = json.loads(tree.xpath("//script[@type='application/ld+json']/text()")[0])
            assert (data["sku"], data["name"], data["offers"]["price"]) == (sku, name, price)
            found[sku] = {"sku": sku, "name": name, "price": price}
    truth = shop.truth()
    assert sorted(found.values(), key=lambda p: p["sku"]) == truth
    assert len({product["sku"] for product in truth}) == products


def test_the_shop_is_deterministic_and_its_seed_counts():
    assert reachable(Shop(30)) == reachable(Shop(30))
    assert Shop(30).truth() != Shop(30, seed=1).truth()
    assert Shop(10**6).product(999_999)["sku"] == "G0-999999"
    assert Shop(30).truth() == Shop(40).truth()[:30]


def test_names_need_escaping():
    assert {"&", '"', "<", "é", "«"} <= set("".join(product["name"] for product in Shop(200).truth()))


def test_the_catalogue_pages_lead_on():
    shop = Shop(45, per_page=20)
    path, seen = "/catalog", []
    while path:
        tree = page(shop, path)
        seen += tree.xpath("//a[@class='product']/text()")
        after = tree.xpath("//a[@class='next']/@href")
        path = after[0] if after else None
    assert seen == [product["name"] for product in shop.truth()]
    assert shop.catalog_pages == 3
    assert get(shop, "/catalog?page=2").body == get(shop, "/catalog/page/2/").body
    for wrong in ("/catalog/page/4/", "/catalog/page/0/", "/catalog?page=x", "/catalog?page=" + "9" * 5000):
        assert get(shop, wrong).status == 404


def test_what_real_shops_have():
    answers = reachable(Shop(60))
    assert [path for path, answer in answers.items() if answer.status == 404] == ["/gone.html"]
    assert [path for path, answer in answers.items() if answer.status == 301] == ["/old-catalog"]
    assert {"/cart", "/private/prices.html", "/login", "/js/offers.html"} <= answers.keys()
    assert {f"/category/{name}/" for name in CATEGORIES} <= answers.keys()
    assert sum("utm_source" in path for path in answers) == 7
    home = html.fromstring(answers["/"].body.decode())
    assert home.xpath("//a[@rel='nofollow']/@href") == ["/login"]
    assert any(not href.startswith(("/", "http", "mailto", "java")) for href in home.xpath("//a/@href"))


def test_offers_are_there_only_for_those_who_run_scripts():
    tree = page(Shop(10), "/js/offers.html")
    assert tree.xpath("//li[@class='offer']") == []
    assert "G0-000003" in tree.xpath("//script/text()")[0]


@pytest.mark.parametrize("size", [5_000, 20_000, 100_000])
def test_pages_are_about_as_large_as_asked(size):
    shop = Shop(500, page_bytes=size, related=50)
    assert len(get(shop, shop.product_path(3)).body) == pytest.approx(size, rel=0.1)
    assert len(page(shop, shop.product_path(3)).xpath("//ul[@class='related']//a")) == 50


@pytest.mark.parametrize(
    "path",
    [
        "/product/",
        "/product/G0-000200.html",
        "/product/G0-1.html",
        "/product/G0-0000001.html",
        "/product/G1-000001.html",
        "/product/x-" + "9" * 5000,
        "/category/none/",
        "/sitemap-2.xml",
        "/sitemap-x.xml",
        "/nothing",
    ],
)
def test_anything_else_is_not_there(path):
    assert get(Shop(200), path).status == 404


def test_robots_and_sitemap():
    shop = Shop(30, crawl_delay_s=2.5)
    robots = get(shop, "/robots.txt").body.decode()
    assert re.findall("^([A-Z].*?): (.*)$", robots, re.MULTILINE) == [
        ("User-agent", "*"),
        ("Disallow", "/cart"),
        ("Disallow", "/private"),
        ("Crawl-delay", "2.5"),
        ("Sitemap", "http://shop.example/sitemap.xml"),
    ]
    assert "Crawl-delay" not in get(Shop(), "/robots.txt").body.decode()
    places = etree.fromstring(get(shop, "/sitemap.xml").body).xpath("//*[local-name()='loc']/text()")
    assert places == [BASE + shop.product_path(number)[1:] for number in range(30)]


def test_a_large_shop_has_an_index_of_sitemaps():
    shop = Shop(100_001)
    index = etree.fromstring(get(shop, "/sitemap.xml").body)
    assert index.tag.endswith("sitemapindex")
    parts = [get(shop, urlsplit(place).path) for place in index.xpath("//*[local-name()='loc']/text()")]
    assert [part.body.count(b"<loc>") for part in parts] == [50_000, 50_000, 1]


def test_answers_come_compressed_to_whoever_takes_them_so():
    shop, path = Shop(3), "/product/G0-000002.html"
    site = compress_answers(shop)
    packed = site(path, {"accept-encoding": "br, gzip"})
    assert dict(packed.headers)["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.body) == get(shop, path).body
    assert site(path, {}) == get(shop, path)
    assert site("/nothing", {"accept-encoding": "gzip"}).status == 404


def test_served_by_a_process_of_its_own():
    command = [sys.executable, "-m", "gossamer.testing.shop", "--products", "3", "--seed", "5"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        url = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
        with urlopen(url + "/product/G5-000002.html", timeout=10) as response:
            assert Shop(3, seed=5).product(2)["sku"].encode() in response.read()
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()
